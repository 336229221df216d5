"""A fleet, as the APIs would give it, is adopted as itself: every example, plain and with what servers add."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import pytest
from msgspec.structs import replace

from berth.adopt.api_objects import InvalidInventory, Kept
from berth.adopt.first_update import first_update_changes
from berth.adopt.inventory import read_inventory
from berth.adopt.stack_file import AdoptedFleet, adopt, render_stack_file
from berth.cli import drain
from berth.cli.adopt.answer import adopt_inventory
from berth.diff.fields import FieldChange, compare_fields
from berth.diff.renames import Renames, with_new_names
from berth.plan.fleet import ExistingClusterPlan, ExistingGkeClusterPlan, FleetPlan
from berth.plan.gke import ClusterPlan
from berth.plan.kueue import ClusterQueuePlan
from tests.gke_answers import files, own_cluster
from tests.small_fleets import fleet_of_pools, fleet_with
from tests.small_fleets import plan as plan_of
from tests.stack_files import GKE_STACKS, plan

NO_ROUND_TRIP = {
    "existing-gke": "its cluster is somebody else's; each other example is adopted with its cluster kept, too",
    "local": "its cluster runs outside Google Cloud, so gcloud has no answer",
    "multikueue": "a manager is refused: each worker is adopted by itself",
}
"""Examples without a round trip, and why."""
EXAMPLES = [stack for stack in GKE_STACKS if stack not in NO_ROUND_TRIP]
"""Every stack on GKE with one cluster that it makes."""
every_example = pytest.mark.parametrize("stack", EXAMPLES)

NAMES = {
    "batch-platform": {"compact": "gpu-a100-compact-spot"},
    "dws-autoprovisioned": {"l4": "default-flavor"},
    "multislice-autopilot": {"v5e": "vlp-24"},
}
"""Pools that GKE makes: no answer has their name, so they are called by their flavor."""

JUSTIFIED = {
    r"cluster\.version": "the version that runs is written down",
    r"cluster\.settings\.deletion_protection": "a field of the provider, and none of GKE's",
    r"(cluster|cluster\.auto_provisioning|system_pool|pools\[\d+\]|pools\[\d+\]\.node_pools\[\d+\])\.zones": (
        "zones that GKE chose are written down"
    ),
    r"cluster_queues\[\d+\]\.priority": "what a queue's workloads are to have stands in no object",
    r"teams\[\d+\]\.namespaces\[\d+\]\.shared_queues\[\d+\]\.priorities": "they follow from the queue's priority",
    r"(reservations|held)\[\d+\]\.key": "a reservation with a name of its own is called by it",
    r"pools\[\d+\]\.grouped": "each job names the placement group of its nodes, and no object of the fleet does",
    r"flavors\[\d+\]\.oversubscription_reason": "reasons stand in no object",
    r"flavors\[\d+\]\.spare": "no object says that machines are kept for those that fail: no queue guarantees them",
    r"teams\[\d+\]\.settings\.bucket_mounts.*": "what `berth workload` writes into jobs stands in no object",
    r"operators(\[.*\])?": "which operators others installed stands in no object of the fleet",
}
"""Where an adopted plan may differ, and why."""

MADE = (
    r"pools\[\d+\]\.(machine_type|nodes|vcpu|memory_gb|slices|accelerators\.min|zones).*|flavors\[\d+\]\.capacity\.min"
    r"|pools\[\d+\]\.node_labels\[node\.kubernetes\.io/instance-type\]"
)
"""Of pools that GKE makes: which machines of one kind, and how many are always there, is nowhere said."""
BY_EXAMPLE = {
    # how many machines somebody else's reservation holds, and so how many nodes and pods there can be
    "dws-autoprovisioned": (
        rf"{MADE}|held\[0\]\.count|teams\[\d+\]\.isolation\.limits\.objects\.pods|flavors\[0\]\.pods"
        r"|cluster_queues\[\d+\]\.flavors\[0\]\.quotas\[3\]\.nominal"
    ),
    # panels follow the names of pools
    "batch-platform": r"monitoring\..*\.dashboards.*",
    "multislice-autopilot": MADE,
    # no answer has a pool before its machines are delivered, nor what follows from it
    "reservations": (
        r"pools|flavors|cluster_queues|held\[\d+\]\.pools|teams\[0\]\..*|monitoring\.managed\.(dashboards|recordings).*"
    ),
}


@cache
def _adopted(stack: str, *, noise: bool) -> AdoptedFleet:
    return adopt(read_inventory(files(plan(stack), noise=noise)), stack)


@cache
def _plan(stack: str) -> FleetPlan:
    _, _, evaluation = adopt_inventory(read_inventory(files(plan(stack), noise=True)), stack)
    assert [fault.line() for fault in evaluation.faults] == []
    assert evaluation.fleet_plan is not None
    return evaluation.fleet_plan


def _sorted(fleet: FleetPlan) -> FleetPlan:
    """The fleet with pools keyed by name, and the settings of its cluster by key."""
    if isinstance(fleet.cluster, ClusterPlan):
        settings: Any = vars(fleet.cluster.settings)
        fleet = replace(fleet, cluster=replace(fleet.cluster, settings=settings))
    return replace(fleet, pools=tuple(sorted((replace(p, formerly=None) for p in fleet.pools), key=lambda p: p.name)))


def _with_account(fleet: FleetPlan, email: str, *, made_by: str) -> FleetPlan:
    """As it is, with the address of the account that nodes run as, unless the stack makes one of that name."""
    if email.startswith(f"{made_by}-nodes@"):
        return fleet
    pools = (
        replace(
            pool,
            node_pools=tuple(
                replace(each, settings=each.settings.model_copy({"service_account": email})) for each in pool.node_pools
            ),
        )
        for pool in fleet.pools
    )
    return replace(fleet, pools=tuple(pools))


def _justified(stack: str, change: FieldChange) -> bool:
    if change.path.endswith("zones") and change.before not in ((), []):
        return False
    patterns = [*JUSTIFIED, *filter(None, [BY_EXAMPLE.get(stack)])]
    return any(re.fullmatch(pattern, change.path) for pattern in patterns)


@every_example
def test_a_fleet_is_adopted_as_itself(stack: str) -> None:
    original = _sorted(with_new_names(plan(stack), Renames({}, NAMES.get(stack, {}))))
    changes = list(compare_fields(original, _sorted(_plan(stack))))
    assert [f"{c.path}: {c.before} → {c.after}" for c in changes if not _justified(stack, c)] == []


@every_example
def test_pools_queues_and_teams_are_adopted_as_themselves_where_the_cluster_is_kept(stack: str) -> None:
    """Only the cluster, its system pool, the enabled APIs and, with another name, the account are not the stack's."""
    inventory = read_inventory(files(plan(stack), noise=True), keeps_cluster=True)
    _, _, evaluation = adopt_inventory(inventory, stack)
    assert [fault.line() for fault in evaluation.faults] == []
    kept = evaluation.fleet_plan
    assert kept is not None
    assert isinstance(kept.cluster, ExistingGkeClusterPlan)
    assert kept.cluster.name == plan(stack).cluster.name
    original = _sorted(with_new_names(plan(stack), Renames({}, NAMES.get(stack, {}))))
    original = _with_account(original, own_cluster(original).node_service_account.email, made_by=stack)
    changes = [each for each in compare_fields(original, _sorted(kept)) if not _justified(stack, each)]
    # GKE's drivers for pods are those of the cluster, which the stack file of an existing one does not list
    owners = {"cluster", "services", "system_pool", "policies.csi_drivers"}
    assert [f"{c.path}: {c.before} → {c.after}" for c in changes if c.path not in owners] == []


@every_example
def test_defaults_of_the_server_are_not_changes(stack: str) -> None:
    plain, noisy = _adopted(stack, noise=False), _adopted(stack, noise=True)
    assert render_stack_file(plain) == render_stack_file(noisy)
    assert plain.not_adopted == noisy.not_adopted


@pytest.mark.parametrize("stack", [stack for stack in EXAMPLES if stack not in BY_EXAMPLE])
def test_the_first_update_after_adoption_changes_only_helm_installed_objects(stack: str) -> None:
    """Neither noise nor the fleet's own fields are taken for something that is lost."""
    changes = first_update_changes(read_inventory(files(plan(stack), noise=True)), _plan(stack))
    lines = [left.line() for left in changes if left.kept != Kept.SYSTEM]
    others = [line for line in lines if not line.startswith("Deployment ")]
    assert others == []


@pytest.mark.parametrize(
    "gpus",
    [
        {"gpuSharing": {"maxSharedClients": 2}},
        {"gpuSharing": {"strategy": "mps", "maxSharedClients": 4}},
        {"machineType": "a2-ultragpu-1g", "gpuPartition": "3g.40gb"},
    ],
)
def test_divided_gpus_stay_as_they_are(gpus: dict[str, Any]) -> None:
    pool = {"machineType": "g2-standard-24", "nodes": 4, "zone": "us-central1-a", **gpus}
    inventory = read_inventory(files(plan_of(fleet_of_pools({"gpus": pool}))))
    _, adopted, evaluation = adopt_inventory(inventory, "test")
    assert [fault.line() for fault in evaluation.faults] == []
    assert isinstance(evaluation.fleet_plan, FleetPlan)
    changes = first_update_changes(inventory, evaluation.fleet_plan)
    assert [each.line() for each in changes if each.kept != Kept.SYSTEM] == []
    assert adopted.fleet["pools"]["gpus"].items() >= gpus.items()


# Of dev see the next test; the interfaces that DRANET gives to nodes of gb200 cannot be said of described pools.
@pytest.mark.parametrize("stack", [stack for stack in EXAMPLES if stack not in ("dev", "gb200")])
def test_only_resources_inside_the_cluster_are_adopted(stack: str) -> None:
    """Queues, cohorts and priorities as they were, flavors with their labels; nothing is made in Google Cloud."""
    original = plan(stack)
    evaluation = drain.evaluate_drained(
        render_stack_file(adopt(read_inventory(files(original, noise=True), "a-context"), stack)), stack
    )
    assert [fault.line() for fault in evaluation.faults] == []
    fleet = evaluation.fleet_plan
    assert fleet is not None
    assert isinstance(fleet.cluster, ExistingClusterPlan)
    assert not fleet.reservations
    assert not [pool.name for pool in fleet.pools if pool.node_pools]
    kept = {queue.name: queue for queue in original.cluster_queues}
    queues = {queue.name: replace(queue, priority=kept[queue.name].priority) for queue in fleet.cluster_queues}
    lost = {"research-later"} if stack == "reservations" else set[str]()  # its pool is not there yet
    # Nothing says the machines of pools that GKE makes, nor how many pods those have for each accelerator.
    asked = _without_pods if stack in NAMES else lambda queue: queue
    assert {name: asked(each) for name, each in queues.items()} == {
        name: asked(each) for name, each in kept.items() if name not in lost
    }
    assert (fleet.cohorts, fleet.priorities) == (original.cohorts, original.priorities)
    labels = {flavor.name: flavor.node_labels for flavor in original.flavors}
    assert {f.name: f.node_labels for f in fleet.flavors} == {f.name: labels[f.name] for f in fleet.flavors}


def _without_pods(queue: ClusterQueuePlan) -> ClusterQueuePlan:
    flavors = (replace(e, quotas=tuple(q for q in e.quotas if q.resource != "pods")) for e in queue.flavors)
    return replace(queue, flavors=tuple(flavors))


def test_flavors_distinguished_only_by_berths_taint_are_a_fault_in_a_described_cluster() -> None:
    """Nobody else may write that taint, so the file says what has to be told apart."""
    evaluation = drain.evaluate_drained(
        render_stack_file(adopt(read_inventory(files(plan("dev")), "a-context"), "dev")), "dev"
    )
    assert {fault.code for fault in evaluation.faults} == {"ambiguous-flavor"}


def test_every_machine_that_gke_makes_is_counted() -> None:
    for stack in NAMES:
        before = {p.flavor: p.accelerators.max for p in plan(stack).pools if p.made_by == "gke"}
        assert before == {p.flavor: p.accelerators.max for p in _plan(stack).pools if p.made_by == "gke"}


def test_the_requests_for_machines_are_adopted_as_they_are() -> None:
    original = plan("reservations").future_reservations
    assert len(original) == 2
    assert _plan("reservations").future_reservations == original
    delivered = {held.key: held.delivered for held in _plan("reservations").held if held.start}
    assert delivered == {"december": False, "spring": True}


def test_a_manager_is_refused() -> None:
    with pytest.raises(InvalidInventory, match="sends its jobs to workers"):
        read_inventory(files(plan("multikueue")))


@pytest.mark.parametrize("cohort", [{"cohort": "lab"}, {}])
def test_a_queue_of_two_teams_keeps_its_cohort(cohort: dict[str, str]) -> None:
    """Its teams have another one, or it is in none."""
    queue = {"teams": ["speech", "vision"], **cohort, "flavors": [{"flavor": "l4", "guaranteed": 2}]}
    given = plan_of(fleet_with({"pools.l4.nodes": 5, "cohorts.lab": {}, "clusterQueues": {"both": queue}}))
    adopted = adopt(read_inventory(files(given)), "test").fleet
    assert {key: each for key, each in adopted["clusterQueues"]["both"].items() if key == "cohort"} == cohort


def test_annotations_of_a_team_are_adopted() -> None:
    """Those of Kubernetes are not the team's."""
    answers = files(plan("dev"))
    objects = json.loads(answers["objects.json"])
    own = {"example.com/owner": "a.person"}
    for each in objects["items"]:
        if each["kind"] == "Namespace":
            each["metadata"].setdefault("annotations", {}).update({**own, "kubectl.kubernetes.io/restarted": "now"})
    fleet = adopt(read_inventory({**answers, "objects.json": json.dumps(objects)}), "dev").fleet
    assert fleet["teams"]
    assert {team: entry.get("annotations") for team, entry in fleet["teams"].items()} == dict.fromkeys(
        fleet["teams"], own
    )
