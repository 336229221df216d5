"""What `berth diff` and the guard say of workers: their machines, shares and objects, and what is lost there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, cast

import pytest
from msgspec.structs import replace

from berth.backends.interface import check_preview as check_read_preview
from berth.backends.interface import compare
from berth.cli.drain import protected_keys as still_protected
from berth.diff.guard import text as guard_text
from berth.diff.guard.preview import GuardReport
from berth.diff.guard.preview_file import read_preview
from berth.diff.renames import former_worker_names
from berth.manifests.fleet import all_manifests
from berth.plan.fleet import AllowancesPlan, FleetPlan, WorkerPlan, cluster_identifier
from berth.plan.gke import AuthorizedNetwork, ClusterPlan
from berth.planner.queueing.quota_tree import accelerator_quotas
from tests.berth.diff.edits.edited import MANAGED
from tests.small_fleets import plan as small_plan
from tests.stack_files import fleet_values
from tests.stack_files import plan as plan_of
from tests.stack_files import run_stack as program_of


def check_preview(preview: object, plan: FleetPlan) -> GuardReport:
    """Judge a preview as the engine printed it."""
    return check_read_preview(read_preview(preview), plan)


every_edit = pytest.mark.parametrize("edit", MANAGED.edits)
changes = MANAGED.changes


def plan(edit: str | None = None) -> FleetPlan:
    """Return the plan of the manager, or of the manager with one edit."""
    fleet_plan = MANAGED.plan(edit)
    assert isinstance(fleet_plan, FleetPlan)
    return fleet_plan


# --- figures, a second way --------------------------------------------------------------------------------------------


@every_edit
def test_the_listed_shares_are_the_differences_of_the_workers_queues(edit: str) -> None:
    result = {
        (each.worker, share.queue, share.flavor, share.noun): share.guaranteed.delta
        for each in changes(edit).workers
        for share in each.shares
    }
    names = former_worker_names(plan(), plan(edit))
    before, after = {(names.get(key[0], key[0]), *key[1:]): n for key, n in _shares(None).items()}, _shares(edit)
    differences = {key: after[key] - before.get(key, 0) for key in before | after}
    assert result == {key: difference for key, difference in differences.items() if difference}


def _shares(edit: str | None) -> Counter[tuple[str, str, str, str]]:
    result: Counter[tuple[str, str, str, str]] = Counter()
    for worker in plan(edit).workers:
        nouns = {flavor.name: flavor.noun for flavor in worker.plan.flavors}
        resources = {flavor.name: flavor.resource for flavor in worker.plan.flavors}
        for queue in worker.plan.cluster_queues:
            for flavor, quota in accelerator_quotas(queue, resources):
                result[worker.name, queue.name, flavor, nouns[flavor]] += quota.nominal
    return result


def _is_moved(old: WorkerPlan, new: WorkerPlan) -> bool:
    return old.cluster_identifier != new.cluster_identifier or cluster_identifier(
        old.plan.cluster
    ) != cluster_identifier(new.plan.cluster)


@every_edit
def test_every_object_that_differs_in_any_cluster_is_listed(edit: str) -> None:
    """Counted from what `berth render` prints of each cluster. An object of a worker elsewhere is another object."""
    names = former_worker_names(plan(), plan(edit))
    before = {(key[0] and names.get(key[0], key[0]), *key[1:]): each for key, each in _objects(None).items()}
    after = _objects(edit)
    moved = {w.name for w in plan().workers for o in plan(edit).workers if w.key == o.key and _is_moved(w, o)}
    differ = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key) or key[0] in moved}
    result = {(o.worker, o.kind, o.namespace, o.name) for o in changes(edit).objects if "kubeconfig" not in o.kind}
    reached = {key for key in result if key[1] == "Secret" and key[0] is None}  # render has no credentials
    assert result - reached == differ
    assert {key[3] for key in reached} == {
        f"multikueue-{name}" for name in {w.key for w in plan().workers} ^ {w.key for w in plan(edit).workers}
    }


def _objects(edit: str | None) -> dict[tuple[str | None, str, str, str], Any]:
    fleet_plan = plan(edit)
    clusters = [(None, fleet_plan), *((worker.name, worker.plan) for worker in fleet_plan.workers)]
    return {
        (name, manifest["kind"], manifest["metadata"].get("namespace", ""), manifest["metadata"]["name"]): manifest
        for name, cluster in clusters
        for manifest in cast("Iterator[Any]", all_manifests(cluster))
    }


@every_edit
def test_nothing_of_a_worker_is_lost_unless_its_own_allowance_says_so(edit: str) -> None:
    """With every allowance of the old and the new file taken for granted, nothing stays guarded but what is protected
    before: the allowances that the guard names are enough."""
    result = compare(_free(plan()), _free(plan(edit)))
    assert [guard_text.describe_guarded_change(loss) for loss in result.blocked] == []
    assert {loss.name for loss in result.losses} == {loss.name for loss in changes(edit).losses}


def _reached_by(networks: tuple[AuthorizedNetwork, ...], fleet: FleetPlan) -> FleetPlan:
    """The fleet with a control plane that these networks reach."""
    assert isinstance(fleet.cluster, ClusterPlan)
    control_plane = replace(fleet.cluster.control_plane, public_endpoint=True, authorized_networks=networks)
    return replace(fleet, cluster=replace(fleet.cluster, control_plane=control_plane))


def test_a_new_network_of_a_control_plane_is_told_of_the_manager_and_of_each_worker() -> None:
    old, vpn = plan(), (AuthorizedNetwork(name="vpn", cidr="198.51.100.0/24"),)
    workers = tuple(
        replace(each, plan=_reached_by(vpn, each.plan)) if each.name == "central" else each for each in old.workers
    )
    added = [
        [right.owner for right in compare(old, new).rights if right.after == "vpn 198.51.100.0/24"]
        for new in (_reached_by(vpn, old), replace(old, workers=workers))
    ]
    assert added == [["control plane"], ["central/control plane"]]


def _free(fleet: FleetPlan) -> FleetPlan:
    everything = AllowancesPlan(replacement=_Any(), deletion=_Any())
    workers = tuple(replace(w, plan=replace(w.plan, allowances=everything)) for w in fleet.workers)
    return replace(fleet, allowances=everything, workers=workers)


class _Any(dict[str, str]):
    """Return a reason for every request."""

    def get(self, key: str, default: object = None) -> str:  # type: ignore[override]
        return f"{key} may go"


# --- the guard --------------------------------------------------------------------------------------------------------


def step(op: str, kind: str, name: str, protect: bool = True, **inputs: Any) -> dict[str, Any]:
    """Return a step as `pulumi preview --json` prints it."""
    urn = f"urn:pulumi:dev::berth::berth:any:Component${kind}::{name}"
    return {"op": op, "urn": urn, "oldState": {"protect": protect, "inputs": inputs}}


POOL, CLUSTER = "gcp:container/nodePool:NodePool", "gcp:container/cluster:Cluster"
RESERVATION, QUEUE = "gcp:compute/reservation:Reservation", "kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue"
QUOTAS = {
    "resourceGroups": [{"flavors": [{"name": "h100", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": 8}]}]}]
}


@pytest.mark.parametrize(
    ("edit", "steps", "output"),
    [
        (
            "pool-of-a-worker-replaced",
            [step("replace", POOL, "central/v5e-1-pool"), step("replace", POOL, "central/v5e-2-pool")],
            [
                "pool central/v5e would be replaced (node pools v5e-2x4-1 and v5e-2x4-2)",
                'to allow it, add workers.central.allowReplacement: {v5e: "<why>"}',
            ],
        ),
        (
            "pool-of-a-worker-replaced-and-allowed",
            [step("replace", POOL, "central/v5e-1-pool"), step("replace", POOL, "central/v5e-2-pool")],
            [],
        ),
        (
            "worker-taken-out",
            [
                step("delete", CLUSTER, "east/cluster-cluster"),
                step("delete", POOL, "east/h100-pool"),
                step("delete", POOL, "east/system-pool", protect=False),
                step("delete", QUEUE, "east/vision-train-cluster-queue", spec=QUOTAS),
            ],
            [
                "cluster of worker east would be deleted",
                "to allow it, first deploy a change that adds workers.east.allowDeletion: "
                '{cluster: "<why>"}; then this one',
                "queue vision-train on worker east would be deleted, and its guarantee of h100 would be lost",
                "to allow it, first deploy a change that adds workers.east.allowDeletion: "
                '{cluster: "<why>"}, or drains it (stopPolicy: HoldAndDrain); then this one',
                "pool east/h100 would be deleted",
                "to allow it, first deploy a change that adds workers.east.allowDeletion: "
                '{h100: "<why>"}; then this one',
            ],
        ),
        (
            "workers-renamed",
            [
                step("delete", POOL, "east/h100-pool"),
                step("delete", QUEUE, "far/vision-train-cluster-queue", spec=QUOTAS),
                step("delete", CLUSTER, "boston/cluster-cluster"),
            ],
            [
                "pool boston/h100 would lose its node pool h100",
                "to allow it, first deploy a change that adds workers.boston.allowDeletion: "
                '{h100: "<why>"}; then this one',
                "cluster of worker boston (before) would be deleted",
                "to allow it, first deploy a change that adds workers.boston.allowDeletion: "
                '{cluster: "<why>"}; then this one',
                "queue vision-train on worker near would be deleted, and its guarantee of h100 would be lost",
                "to allow it, first deploy a change that adds allowDeletion: {clusterQueues.vision-train: "
                '"<why>"}, or drains it (stopPolicy: HoldAndDrain); then this one',
            ],
        ),
        (
            "reservation-of-a-worker-moved",
            [step("replace", RESERVATION, "central/l4-reservation")],
            [
                "reservation l4 on worker central would be replaced",
                'to allow it, add workers.central.allowReplacement: {reservations.l4: "<why>"}',
            ],
        ),
        (
            "allowance-of-a-worker-without-a-use",
            [step("replace", POOL, "east/h100-pool"), step("replace", POOL, "central/h100-pool")],
            [
                "pool central/h100 would be replaced",
                'to allow it, add workers.central.allowReplacement: {h100: "<why>"}',
            ],
        ),
    ],
)
def test_a_preview_names_what_workers_would_lose(edit: str, steps: list[dict[str, Any]], output: list[str]) -> None:
    judged = check_preview({"steps": steps}, plan(edit))
    report = [
        line
        for loss in judged.blocked
        for line in (guard_text.describe_guarded_change(loss), guard_text.describe_remedy(loss))
    ]
    assert report == output
    assert not judged.errors


@pytest.mark.parametrize(("edit", "name"), [(None, "east"), ("workers-renamed", "boston")])
def test_a_refusal_of_the_engine_names_the_worker(edit: str | None, name: str) -> None:
    urn = "urn:pulumi:dev::berth::berth:gke:NodePool$gcp:container/nodePool:NodePool::east/h100-pool"
    message = f'unable to replace resource "{urn}" as part of replacing "urn": it is protected'
    judged = check_preview({"steps": [], "diagnostics": [{"severity": "error", "message": message}]}, plan(edit))
    lost = [guard_text.describe_guarded_change(loss) for loss in judged.blocked]
    assert lost == [f"pool {name}/h100 would be replaced"]


def test_renamed_workers_keep_every_resource_by_its_name() -> None:
    result = changes("workers-renamed")
    assert [(each.worker, each.what, each.renamed) for each in result.workers] == [
        ("boston", "renamed", "east"),
        ("near", "renamed", "far"),
    ]
    assert not (result.losses or result.objects or result.pools or result.things or result.rights or result.loud)


def test_every_protected_resource_of_the_example_has_a_name_and_an_allowance() -> None:
    """The names are those that the real program registers; every remedy is what the planner takes for an allowance."""
    resource = program_of("multikueue", False).resources
    steps = [{"op": "delete", "urn": one.urn, "oldState": {"protect": True, "inputs": one.inputs}} for one in resource]
    protected = {one.urn: one for one in resource if one.protect}
    losses = check_preview(
        {"steps": [step for step in steps if step["urn"] in protected]}, plan_of("multikueue")
    ).losses
    assert sum(max(1, len(loss.parts)) for loss in losses) == len(protected)
    value = fleet_values("multikueue")
    for loss in losses:
        section = value if loss.worker is None or loss.kind == "queue" else value["workers"][loss.worker]
        section.setdefault("allowDeletion", {})[loss.key] = "goes"
    free = small_plan(value, "multikueue")
    assert list(still_protected(free)) == []
    assert not any(queue.protect for worker in free.workers for queue in worker.plan.cluster_queues)
