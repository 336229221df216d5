"""What people write becomes quota: shares, slices, cpu and memory that go with an accelerator, limits in a cohort."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from berth import catalog
from berth.plan.kueue import QuotaPlan
from tests.small_fleets import GI, REMOVED, TRAIN, ZONE, faults, fleet_with, message, plan, queue, quota, run_planner

GPU, TPU = "nvidia.com/gpu", "google.com/tpu"
FIRST = f"{TRAIN}.flavors.0"
ALONE = {"teams.vision.cohort": REMOVED, "teams.speech.cohort": REMOVED, "cohorts": REMOVED}


def nominal(written: Any, pool: str = "v5e") -> int:
    """The accelerators that a queue is guaranteed by what is written."""
    fleet = fleet_with({f"{TRAIN}.flavors": [{"pool": pool, "guaranteed": written}]})
    resource = TPU if pool == "v5e" else GPU
    return quota(run_planner(fleet).plan, "vision-train", pool, resource).nominal


# --- amounts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "pool", "expected"),
    [
        (8, "v5e", 8), ("1 slice", "v5e", 8), ("2 slices", "v5e", 16), ("0 slices", "v5e", 0), ("all", "v5e", 24),
        ("100%", "v5e", 24), ("0%", "v5e", 0), (0, "v5e", 0), (7, "l4", 7), ("50%", "l4", 4), ("12.5%", "l4", 1),
        ("all", "l4", 8), ("16 chips", "v5e", 16), ("4 hosts", "v5e", 16), ("2 nodes", "v5e", 8), ("3 nodes", "l4", 6),
        ("7 GPUs", "l4", 7), ("1 gpu", "l4", 1),
    ],
)  # fmt: skip
def test_an_amount_is_a_number_of_accelerators(written: Any, pool: str, expected: int) -> None:
    """The pools hold 24 chips in slices of 8, and 8 L4."""
    assert nominal(written, pool) == expected


@pytest.mark.parametrize(
    ("written", "pool", "code", "says"),
    [
        ("30%", "l4", "fraction", "'30%' of 8 L4 is 2.4, not a whole number; write 2 or 3"),
        ("50%", "v5e", "not-a-slice-multiple",
         "'50%' of 24 v5e chips is 12, not a whole number of slices of 8; write 1 or 2 slices"),
        (12, "v5e", "not-a-slice-multiple", "'12' v5e chips is not a whole number of slices of 8; write 1 or "
                                            "2 slices"),
        (4, "v5e", "not-a-slice-multiple", "'4' v5e chips is not a whole number of slices of 8; write 1 slice"),
        ("1 slice", "l4", "bad-amount", "'1 slice': flavor 'l4' has no slices; write a number of L4"),
        ("8 chips", "l4", "bad-amount", "'8 chips': flavor 'l4' has no chips; write a number of L4"),
        ("8 GPUs", "v5e", "bad-amount", "'8 GPUs': flavor 'v5e' has no GPUs; write a number of v5e chips"),
        ("1 host", "v5e", "not-a-slice-multiple",
         "'1 host' is 4 v5e chips, not a whole number of slices of 8; write 1 slice"),
    ],
)  # fmt: skip
def test_an_unusable_amount_is_a_fault_with_a_remedy(written: Any, pool: str, code: str, says: str) -> None:
    """Slices are atomic: what is left over of one looks free and is not (Kueue docs: resource flavors)."""
    fleet = fleet_with({f"{TRAIN}.flavors": [{"pool": pool, "guaranteed": written}]})
    assert (faults(fleet), message(fleet, code)) == ([f"{code} {TRAIN}.flavors[0].guaranteed"], says)


@pytest.mark.parametrize("key", ["guaranteed", "borrow", "lend"])
def test_every_amount_is_checked_at_its_own_place(key: str) -> None:
    fleet = fleet_with({f"{FIRST}.{key}": "1%"})
    assert faults(fleet) == [f"fraction {TRAIN}.flavors[0].{key}"]


def test_a_share_is_a_fraction_of_the_named_pool_or_the_flavor() -> None:
    """`v5e-b` is a second pool of the flavor `v5e`: half of the pool is not half of the flavor."""
    pools = {"pools.v5e.slices": 2, "pools.v5e-b": {"machineType": "ct5lp-hightpu-4t", "topology": "2x4", "slices": 4,
                                                     "zone": "us-central1-b"}}  # fmt: skip
    values = {}
    for key, name in (("pool", "v5e"), ("pool", "v5e-b"), ("flavor", "v5e")):
        fleet = fleet_with({**pools, f"{TRAIN}.flavors": [{key: name, "guaranteed": "50%"}], "teams.speech.queues": {}})
        values[key, name] = quota(run_planner(fleet).plan, "vision-train", "v5e", TPU).nominal
    assert values == {("pool", "v5e"): 8, ("pool", "v5e-b"): 16, ("flavor", "v5e"): 24}


# --- cpu and memory ---------------------------------------------------------------------------------------------------


def test_cpu_and_memory_go_with_the_accelerators() -> None:
    """Half of 4 machines of 24 vCPU, 96 GB and 2 L4: what a job on them can ask for, to the last core."""
    fleet_plan = plan(fleet_with())
    (entry,) = queue(fleet_plan, "vision-urgent").flavors
    assert [(q.resource, q.nominal) for q in entry.quotas][:3] == [("cpu", 48_000), ("memory", 192 * GI), (GPU, 4)]


machine_names = sorted(n for n, m in catalog.machines().items() if m.kind == "gpu" and m.status == "current")


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(machine_names), st.integers(1, 7), st.integers(0, 7))
def test_quota_of_cpu_covers_whole_machines_of_any_type(name: str, nodes: int, wanted: int) -> None:
    """However many machines' accelerators are guaranteed, their cpu and memory are too; a part is rounded up."""
    machine = catalog.machines()[name]
    count = min(wanted, nodes * machine.accelerators)
    pool = {"machineType": name, "nodes": nodes, "zone": ZONE, "flavor": "f"}
    queues = {"q": {"flavors": [{"flavor": "f", "guaranteed": count}]}}
    fleet_plan = run_planner(fleet_with({"pools": {"p": pool}, "teams": {"vision": {"queues": queues}}})).plan
    share = Fraction(count, machine.accelerators)
    assert quota(fleet_plan, "vision-q", "f", "cpu").nominal == -(-1000 * machine.vcpu * share // 1)
    assert quota(fleet_plan, "vision-q", "f", "memory").nominal == -(-Fraction(machine.memory_gb) * GI * share // 1)


def test_cpu_and_memory_can_be_set_per_queue_and_per_flavor() -> None:
    """The batch reference counts 1 cpu and 5Gi a GPU (systems.md, E.4); the nearer word wins, key by key."""
    flavors = [
        {"pool": "l4", "guaranteed": 2, "perAccelerator": {"cpu": "1500m"}},
        {"pool": "v5e", "guaranteed": "1 slice"},
    ]
    fleet_plan = run_planner(
        fleet_with({f"{TRAIN}.flavors": flavors, f"{TRAIN}.perAccelerator": {"cpu": 1, "memory": "5Gi"}})
    ).plan
    amounts = [
        (q.nominal, q.resource)
        for e in queue(fleet_plan, "vision-train").flavors
        for q in e.quotas
        if q.resource not in (GPU, "pods")
    ]
    assert amounts == [
        (3000, "cpu"), (10 * GI, "memory"), (0, TPU), (8000, "cpu"), (40 * GI, "memory"), (8, TPU)
    ]  # fmt: skip


def test_borrowing_and_lending_bring_cpu_and_memory_along() -> None:
    """Or a job could borrow the chips and wait for ever for the cores beside them."""
    fleet = fleet_with({f"{FIRST}.borrow": "1 slice", f"{FIRST}.lend": "1 slice"})
    for resource, each in (("cpu", 28_000), ("memory", 48 * GI), (TPU, 1)):
        result = quota(plan(fleet), "vision-train", "v5e", resource)
        assert result == QuotaPlan(
            resource=resource, nominal=8 * each, borrowing_limit=8 * each, lending_limit=8 * each
        )  # fmt: skip


# --- pods -------------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(machine_names),
    st.integers(1, 7),
    st.sampled_from([None, 8, 15, 32, 64, 110, 256]),
    st.lists(st.integers(0, 9), min_size=1, max_size=5),
)
def test_all_queues_together_count_no_more_pods_than_the_nodes_have(
    name: str, nodes: int, most: int | None, wanted: list[int]
) -> None:
    """A node keeps 20 of its pods for the system, or half of them; a pod too many would stay pending with quota."""
    per_node = catalog.machines()[name].accelerators
    rest = nodes * per_node
    queues: dict[str, Any] = {}
    for number, count in enumerate(wanted):
        queues[f"q{number}"] = {"flavors": [{"flavor": "f", "guaranteed": min(count, rest)}]}
        rest -= min(count, rest)
    pool = {"machineType": name, "nodes": nodes, "zone": ZONE, "flavor": "f"}
    pool |= {"maxPodsPerNode": most} if most else {}
    fleet_plan = run_planner(fleet_with({"pools": {"p": pool}, "teams": {"vision": {"queues": queues}}})).plan
    of_node = {8: 4, 15: 8, 32: 16, 64: 44, 256: 236}.get(most or 0, 90)
    total = sum(quota(fleet_plan, each.name, "f", "pods").nominal for each in fleet_plan.cluster_queues)
    guaranteed = nodes * per_node - rest
    assert of_node * guaranteed / per_node - len(queues) < total <= of_node * nodes
    assert fleet_plan.flavors[0].pods == of_node * nodes


@pytest.mark.parametrize(
    "changes",
    [
        {"cluster": {"existing": {"name": "mine", "location": "us-central1", "serviceCidrBlock": "10.0.0.0/20"}}},
        {"cluster.mode": "autopilot"},
        {"pools.l4.adopted": True, "pools.l4.nodePoolName": "old"},
    ],
)
def test_pods_are_not_counted_where_one_pool_has_an_unknown_number_of_pods_per_node(changes: dict[str, Any]) -> None:
    """A queue that counts pods could not borrow them from one that does not."""
    fleet_plan = run_planner(fleet_with(changes)).plan
    assert {"pods" in each.covered_resources for each in fleet_plan.cluster_queues} == {False}
    assert {each.pods for each in fleet_plan.flavors} == {None}


def test_a_queue_of_two_resources_has_a_quota_of_0_on_the_other_flavor() -> None:
    """Kueue wants every covered resource on every flavor, in the same order."""
    both = [{"pool": "v5e", "guaranteed": "1 slice"}, {"pool": "l4", "guaranteed": 4}]
    fleet_plan = queue(run_planner(fleet_with({f"{TRAIN}.flavors": both})).plan, "vision-train")
    assert fleet_plan.covered_resources == ("cpu", "memory", TPU, GPU, "pods")
    assert [[q.resource for q in entry.quotas] for entry in fleet_plan.flavors] == [[*fleet_plan.covered_resources]] * 2
    none = {(e.flavor, q.resource) for e in fleet_plan.flavors for q in e.quotas if q.nominal == 0}
    assert none == {("v5e", GPU), ("l4", TPU)}


# --- limits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "borrowing", "lending"),
    [
        ({}, 0, None),
        ({"borrow": "2 slices"}, 16, None),
        ({"borrow": "unlimited"}, None, None),
        ({"lend": 0}, 0, 0),
        ({"lend": "1 slice"}, 0, 8),
        ({"lend": "all", "guaranteed": "all"}, 0, 24),
    ],
)
def test_no_borrow_means_none_and_no_lend_means_all(more: dict[str, Any], borrowing: Any, lending: Any) -> None:
    """Kueue itself reads an absent borrowing limit as no limit: here, silence never gives anything away."""
    fleet_plan = run_planner(fleet_with({f"{TRAIN}.flavors": [{"pool": "v5e", "guaranteed": "1 slice", **more}]})).plan
    chips = quota(fleet_plan, "vision-train", "v5e", TPU)
    assert (chips.borrowing_limit, chips.lending_limit) == (borrowing, lending)


@pytest.mark.parametrize("key", ["borrow", "lend"])
def test_a_queue_without_a_cohort_neither_borrows_nor_lends(key: str) -> None:
    fleet = fleet_with({**ALONE, f"{FIRST}.{key}": "1 slice"})
    assert faults(fleet) == [f"limit-without-cohort {TRAIN}.flavors[0].{key}"]
    chips = quota(plan(fleet_with(ALONE)), "vision-train", "v5e", TPU)
    assert (chips.borrowing_limit, chips.lending_limit) == (0, 0)


def test_a_queue_lends_no_more_than_it_is_guaranteed() -> None:
    """Kueue's webhook refuses it (Kueue 0.19 webhooks)."""
    fleet = fleet_with({f"{FIRST}.lend": "2 slices"})
    assert faults(fleet) == [f"lend-above-guaranteed {TRAIN}.flavors[0].lend"]


# --- which flavor -----------------------------------------------------------------------------------------------------


def test_the_order_of_flavors_is_the_order_of_preference() -> None:
    for names in (["v5e", "l4"], ["l4", "v5e"]):
        flavors = [{"pool": name, "guaranteed": 0} for name in names]
        fleet_plan = run_planner(fleet_with({f"{TRAIN}.flavors": flavors})).plan
        assert [e.flavor for e in queue(fleet_plan, "vision-train").flavors] == names


@pytest.mark.parametrize(
    ("flavors", "expected"),
    [
        ([{"pool": "v5", "guaranteed": 8}], "unknown-reference teams.vision.queues.train.flavors[0].pool"),
        ([{"flavor": "l5", "guaranteed": 8}], "unknown-reference teams.vision.queues.train.flavors[0].flavor"),
        ([{"guaranteed": 8}], "bad-flavor teams.vision.queues.train.flavors[0]"),
        ([{"pool": "v5e", "flavor": "v5e"}], "bad-flavor teams.vision.queues.train.flavors[0]"),
        ([{"pool": "v5e", "guaranteed": 8}, {"flavor": "v5e", "borrow": 8}],
         "duplicate-flavor teams.vision.queues.train.flavors[1]"),
    ],
)  # fmt: skip
def test_an_entry_names_one_flavor_and_no_flavor_has_two(flavors: list[dict[str, Any]], expected: str) -> None:
    assert expected in faults(fleet_with({f"{TRAIN}.flavors": flavors}))


def test_a_similar_pool_name_is_suggested() -> None:
    fleet = fleet_with({f"{TRAIN}.flavors": [{"pool": "v5f", "guaranteed": 8}]})
    assert message(fleet, "unknown-reference") == "no pool 'v5f'; did you mean 'v5e'?"


def test_a_reference_to_a_faulty_pool_is_not_a_second_fault() -> None:
    """One cause, one line: the queues of a pool with a wrong topology are not to blame."""
    assert faults(fleet_with({"pools.v5e.topology": "4x5"})) == ["bad-topology pools.v5e.topology"]
