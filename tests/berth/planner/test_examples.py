"""The example files plan what the documents they come from print, figure by figure (../shared/systems.md, A and E)."""

from __future__ import annotations

from typing import Any

import pytest

from berth.plan.kueue import ClusterQueuePlan
from berth.plan.node_settings import Bounds, Taint
from berth.plan.teams import TeamPlan
from tests.small_fleets import GI, flavor, own_cluster, pool, queue, quota, team
from tests.stack_files import fleet_values, plan

GPU, TPU = "nvidia.com/gpu", "google.com/tpu"
BATCH, MULTISLICE, AUTOPILOT = "batch-platform", "multislice", "multislice-autopilot"

RESERVED, ON_DEMAND, SPOT, COMPACT = "gpu-l4-reserved", "gpu-l4-ondemand", "gpu-l4-spot", "gpu-a100-compact-spot"

# E.4 covers no pods: those that come with the GPUs printed, 90 for each node, whose L4 are two and whose A100 is one.
PODS: dict[str, list[tuple[int, int]]] = {
    "hp": [(180, 0), (180, 180)],
    "lp": [(0, 180), (540, 180)],
    "compact": [(180, 0)],
}

# E.4 as printed, for one team: queue; flavors in order, each with nominal / borrowing limit of cpu, memory (Gi), GPUs.
PRINTED: dict[str, list[tuple[str, tuple[int, int], tuple[int, int], tuple[int, int]]]] = {
    "hp": [(RESERVED, (4, 0), (20, 0), (4, 0)), (ON_DEMAND, (4, 4), (20, 20), (4, 4))],
    "lp": [(RESERVED, (0, 4), (0, 20), (0, 4)), (SPOT, (12, 4), (60, 20), (12, 4))],
    "compact": [(COMPACT, (20, 0), (120, 0), (2, 0))],
}
COHORTS = {"team-a": "team-a-b", "team-b": "team-a-b", "team-c": "team-c-d", "team-d": "team-c-d"}
QUEUES = [(name, kind) for name in COHORTS for kind in PRINTED]

twelve = pytest.mark.parametrize(("name", "kind"), QUEUES, ids=["-".join(q) for q in QUEUES])


def amounts(cluster_queue: ClusterQueuePlan) -> list[tuple[Any, ...]]:
    """The quotas of a queue in the units in which E.4 prints them: cores, Gi, GPUs; nominal and borrowing limit."""
    units = {"cpu": 1000, "memory": GI, GPU: 1, TPU: 1}
    return [
        (entry.flavor, *((in_units(q.nominal, units[q.resource]), in_units(q.borrowing_limit, units[q.resource]))
                         for q in entry.quotas if q.resource != "pods"))
        for entry in cluster_queue.flavors
    ]  # fmt: skip


def pods(cluster_queue: ClusterQueuePlan) -> list[tuple[int, int | None]]:
    """The pods of a queue, by flavor: nominal and borrowing limit."""
    quotas = [q for entry in cluster_queue.flavors for q in entry.quotas if q.resource == "pods"]
    return [(q.nominal, q.borrowing_limit) for q in quotas]


def in_units(number: int | None, unit: int) -> int:
    """A number that is a whole count of units."""
    assert number is not None
    assert number % unit == 0
    return number // unit


# --- E: the GKE batch reference architecture --------------------------------------------------------------------------


@twelve
def test_the_twelve_queues_have_the_printed_quotas(name: str, kind: str) -> None:
    result = queue(plan(BATCH), f"cq-{name}-{kind}")
    assert result.covered_resources == ("cpu", "memory", GPU, "pods")
    assert amounts(result) == PRINTED[kind]
    assert pods(result) == PODS[kind]


@twelve
def test_the_twelve_queues_have_the_printed_rules(name: str, kind: str) -> None:
    """E.4: StrictFIFO, own namespace, a local queue named after the queue, no lending limit; hp reclaims first."""
    result = queue(plan(BATCH), f"cq-{name}-{kind}")
    rule = "Never" if kind == "lp" else "LowerPriority"
    assert (result.cohort, result.queueing_strategy, result.namespaces) == (COHORTS[name], "StrictFIFO", (name,))
    assert (result.preemption.within_cluster_queue, result.preemption.reclaim_within_cohort) == (rule, rule)
    assert (result.preemption.borrow_within_cohort, result.when_can_borrow) == (None, None)
    assert result.when_can_preempt == ("MayStopSearch" if kind == "hp" else None)
    assert [(door.namespace, door.name) for door in result.local_queues] == [(name, f"lq-{name}-{kind}")]
    assert {q.lending_limit for entry in result.flavors for q in entry.quotas} == {None}


def test_there_are_twelve_queues_in_two_cohorts_and_one_for_dws() -> None:
    batch = plan(BATCH)
    queues = [f"cq-{name}-{kind}" for name, kind in QUEUES]
    assert sorted(q.name for q in batch.cluster_queues) == sorted([*queues, "dws-cluster-queue"])
    assert [c.name for c in batch.cohorts] == ["team-a-b", "team-c-d"]


def test_one_queue_for_queued_machines_is_shared_by_two_teams() -> None:
    """20 A100 and 8 H100, with a local queue in each team's namespace, behind the check that requests machines."""
    batch = plan(BATCH)
    shared = queue(batch, "dws-cluster-queue")
    assert (shared.teams, shared.cohort, shared.namespaces) == (("team-a", "team-b"), None, None)
    assert (shared.queueing_strategy, shared.preemption.within_cluster_queue) == ("BestEffortFIFO", "Never")
    assert [(d.name, d.namespace) for d in shared.local_queues] == [
        ("dws-local-queue", "team-a"), ("dws-local-queue", "team-b"),
    ]  # fmt: skip
    assert quota(batch, "dws-cluster-queue", "dws-flavor", GPU).nominal == 20
    assert quota(batch, "dws-cluster-queue", "dws-h100", GPU).nominal == 8
    assert [(c.name, c.on_flavors) for c in shared.admission_checks] == [("dws-prov", ("dws-flavor", "dws-h100"))]
    assert [(c.name, c.managed_resources) for c in batch.provisioning_configs] == [("dws-config", (GPU,))]


@pytest.mark.parametrize(
    ("name", "promised", "per_cohort", "nodes", "gpus_a_node"),
    [
        (RESERVED, 16, 8, (4, 4), 2),
        (ON_DEMAND, 16, 8, (0, 24), 2),
        (SPOT, 48, 24, (0, 36), 2),
        (COMPACT, 8, 4, (0, 8), 1),
    ],
)
def test_guarantees_by_flavor(
    name: str, promised: int, per_cohort: int, nodes: tuple[int, int], gpus_a_node: int
) -> None:
    """The second table of E.4; the compact pool is as large as its eight jobs' nodes."""
    batch = plan(BATCH)
    result = flavor(batch, name)
    assert result.promised == promised
    assert result.capacity == Bounds(min=nodes[0] * gpus_a_node, max=nodes[1] * gpus_a_node)
    for cohort in ("team-a-b", "team-c-d"):
        members = [q for q in batch.cluster_queues if q.cohort == cohort]
        nominal = [{e[0]: e[3][0] for e in amounts(q)}.get(name, 0) for q in members]
        assert sum(nominal) == per_cohort
        of_pods = [q for m in members for e in m.flavors for q in e.quotas if (e.flavor, q.resource) == (name, "pods")]
        assert sum(q.nominal for q in of_pods) == per_cohort * 90 // gpus_a_node


@pytest.mark.parametrize(
    ("name", "accelerator", "labels", "taints"),
    [
        (RESERVED, "nvidia-l4", {"resource-type": "reservation"}, {"reserved"}),
        (ON_DEMAND, "nvidia-l4", {"resource-type": "ondemand"}, {"ondemand"}),
        (SPOT, "nvidia-l4", {"resource-type": "spot", "cloud.google.com/gke-spot": "true"}, {"spot"}),
        (COMPACT, "nvidia-tesla-a100", {"resource-type": "compact", "cloud.google.com/gke-spot": "true"}, set[str]()),
    ],
)
def test_flavors_select_the_nodes_of_the_table_in_e3(
    name: str, accelerator: str, labels: dict[str, str], taints: set[str]
) -> None:
    """E.3, with tolerations in place of node taints; every value of GKE's own GPU taint is tolerated."""
    result = flavor(plan(BATCH), name)
    assert result.node_labels["cloud.google.com/gke-accelerator"] == accelerator
    assert labels.items() <= result.node_labels.items()
    assert result.tolerations[0].key == GPU
    assert result.tolerations[0].operator == "Exists"
    assert taints <= {t.key for t in result.tolerations}


def test_pools_carry_the_labels_and_taints_of_e1() -> None:
    kinds = {"reserved-np": "reservation", "ondemand-np": "ondemand", "spot-np": "spot"}
    taints = {"reserved-np": "reserved", "ondemand-np": "ondemand", "spot-np": "spot"}
    for name, kind in kinds.items():
        (node_pool,) = pool(plan(BATCH), name).node_pools
        assert node_pool.machine_type == "g2-standard-24"
        assert node_pool.labels == {"resource-type": kind}
        assert node_pool.taints[0] == Taint(key=taints[name], value="true", effect="NoSchedule")


def test_the_reserved_pool_has_the_zone_of_its_reservation() -> None:
    """E.1: four machines of two L4 in us-central1-c, consumed by name; a fixed pool of four nodes."""
    batch = plan(BATCH)
    (reservation,) = batch.reservations
    (node_pool,) = pool(batch, "reserved-np").node_pools
    assert (reservation.name, reservation.zone, reservation.count) == ("machine-reservation", "us-central1-c", 4)
    assert (reservation.machine_type, reservation.gpu_count) == ("g2-standard-24", 2)
    assert (node_pool.zones, node_pool.nodes_per_zone, node_pool.total_nodes) == (("us-central1-c",), 4, None)
    assert node_pool.reservation == "machine-reservation"


@pytest.mark.parametrize(("name", "most", "spot"), [("ondemand-np", 24, False), ("spot-np", 36, True)])
def test_the_other_pools_grow_from_nothing_in_three_zones(name: str, most: int, spot: bool) -> None:
    (node_pool,) = pool(plan(BATCH), name).node_pools
    assert node_pool.zones == ("us-central1-a", "us-central1-b", "us-central1-c")
    assert (node_pool.nodes_per_zone, node_pool.total_nodes) == (None, Bounds(min=0, max=most))
    assert (node_pool.location_policy, node_pool.spot, node_pool.reservation) == ("ANY", spot, None)


def test_the_cluster_has_six_system_nodes_over_three_zones() -> None:
    """E.1: the default pool has 2 nodes per zone."""
    system = plan(BATCH).system_pool
    assert system is not None
    assert (system.nodes_per_zone, len(system.zones)) == (2, 3)


def test_priorities_are_the_three_of_e3() -> None:
    values = [(p.name, p.value, p.preempts, p.default) for p in plan(BATCH).priorities]
    assert values == [
        ("default-priority-nonpreempting", 10, False, True),
        ("compact-priority-preempting", 15, True, False),
        ("high-priority-preempting", 20, True, False),
    ]


@pytest.mark.parametrize("name", list(COHORTS))
def test_each_team_has_the_identity_of_the_source(name: str) -> None:
    """E.2, fault 2: the published annotation lacks the project; storage.admin is narrowed to objects."""
    result: TeamPlan = team(plan(BATCH), name)
    assert result.namespace == name
    assert result.identity is not None
    assert result.identity.impersonates is not None
    assert result.identity.service_account == f"{name}-ksa"
    assert result.identity.impersonates.email == f"wi-{name}@my-project.iam.gserviceaccount.com"
    assert result.identity.members == (f"serviceAccount:my-project.svc.id.goog[{name}/{name}-ksa]",)
    assert "roles/storage.admin" not in result.identity.roles


# --- A: TPU multislice ------------------------------------------------------------------------------------------------


def test_multislice_is_three_slices_of_two_hosts() -> None:
    """A.1: 3 slices, 6 nodes, 24 chips; each slice one atomic pool in one zone, by its topology."""
    request = pool(plan(MULTISLICE), "nodepool")
    assert (request.nodes, request.accelerators) == (Bounds(min=6, max=6), Bounds(min=24, max=24))
    assert [n.name for n in request.node_pools] == ["nodepool1", "nodepool2", "nodepool3"]
    for each in request.node_pools:
        assert (each.machine_type, each.slice_topology, len(each.zones)) == ("ct5lp-hightpu-4t", "2x4", 1)
        assert (each.nodes_per_zone, each.total_nodes) == (2, None)
        assert (each.spot, each.reservation, each.gpu) == (False, None, None)


@pytest.mark.parametrize("stack", [MULTISLICE, AUTOPILOT])
def test_the_flavor_of_multislice_selects_by_exactly_two_labels(stack: str) -> None:
    """A.2: accelerator and topology, and nothing else."""
    assert flavor(plan(stack), "vlp-24").node_labels == {
        "cloud.google.com/gke-tpu-accelerator": "tpu-v5-lite-podslice",
        "cloud.google.com/gke-tpu-topology": "2x4",
    }


@pytest.mark.parametrize("stack", [MULTISLICE, AUTOPILOT])
def test_the_queue_of_multislice_holds_24_chips_and_the_hosts_that_go_with_them(stack: str) -> None:
    """A.2, with cpu and memory covered too: 6 hosts of 112 vCPU and 192 GB, else no JobSet would ever be admitted."""
    result = queue(plan(stack), "cluster-queue")
    assert amounts(result) == [("vlp-24", (672, 0), (1152, 0), (24, 0))]
    assert (6 * 112, 6 * 192) == (672, 1152)
    assert pods(result) == ([(6 * 90, 0)] if stack == MULTISLICE else [])  # Autopilot's pods per node are unknown
    assert (result.cohort, result.queueing_strategy, result.namespaces) == (None, "BestEffortFIFO", None)
    assert result.preemption.within_cluster_queue == "LowerPriority"
    assert [(d.namespace, d.name) for d in result.local_queues] == [("default", "multislice-queue")]


@pytest.mark.parametrize("stack", [MULTISLICE, AUTOPILOT])
def test_the_lowest_class_does_not_preempt_a_jobset_without_a_class(stack: str) -> None:
    """A.4: a class of 100 outranks every JobSet that names none, so there is a default above it."""
    values = {p.name: (p.value, p.default) for p in plan(stack).priorities}
    assert values["low-priority"] == (100, False)
    assert [value > 100 for value, default in values.values() if default] == [True]


def test_on_autopilot_gke_makes_the_nodes() -> None:
    """A.1: no node pools and no system pool; the pool says only what the fleet counts on."""
    fleet_plan = plan(AUTOPILOT)
    assert (own_cluster(fleet_plan).mode, own_cluster(fleet_plan).version) == ("autopilot", "1.35")
    assert (fleet_plan.system_pool, fleet_plan.pools[0].node_pools, fleet_plan.pools[0].made_by) == (None, (), "gke")
    assert fleet_plan.pools[0].accelerators == Bounds(min=24, max=24)


def test_derived_values_are_not_in_stack_files() -> None:
    """The promise of the stack file: no host count, chip count, node label of GKE's, toleration or cpu quota in it."""
    written = {"machineType", "topology", "slices", "nodePoolName", "zone", "flavor"}
    assert set(fleet_values(MULTISLICE)["pools"]["nodepool"]) == written
    assert fleet_values(MULTISLICE)["teams"]["multislice"]["queues"]["train"]["flavors"] == [
        {"flavor": "vlp-24", "guaranteed": "all"}
    ]
