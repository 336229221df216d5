"""Flavors select the nodes of their pools and no others; checked by playing the pod scheduler on the planned nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from berth.plan.fleet import FleetPlan, PoolPlan
from berth.plan.kueue import FlavorPlan
from berth.plan.node_settings import Bounds, Taint, Toleration
from tests.small_fleets import ZONE, faults, flavor, fleet_of_pools, message, plan, run_planner

V5E: dict[str, Any] = {"machineType": "ct5lp-hightpu-4t", "topology": "2x4", "slices": 2, "zone": ZONE}
L4: dict[str, Any] = {"machineType": "g2-standard-24", "nodes": 4, "zone": ZONE}
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
RESERVATIONS = {name: {"machineType": "g2-standard-24", "zone": ZONE, "count": 9} for name in ("r1", "r2")}


def labels(spec: dict[str, Any], **rest: Any) -> Mapping[str, str]:
    """The selector of the flavor of one pool."""
    return flavor(plan(fleet_of_pools({"p": spec}, **rest)), "p").node_labels


# --- what a flavor selects and tolerates ------------------------------------------------------------------------------


def test_slices_are_selected_by_accelerator_and_topology() -> None:
    assert labels(V5E) == {
        "cloud.google.com/gke-tpu-accelerator": "tpu-v5-lite-podslice",
        "cloud.google.com/gke-tpu-topology": "2x4",
    }


@pytest.mark.parametrize(
    ("capacity", "more"),
    [
        ("on-demand", {}),
        ("spot", {"cloud.google.com/gke-spot": "true"}),
        ({"reservation": "r1"}, {"cloud.google.com/reservation-name": "test-r1"}),
    ],
)
def test_gpus_are_selected_by_accelerator_and_capacity(capacity: Any, more: dict[str, str]) -> None:
    result = labels({**L4, "capacity": capacity}, reservations=RESERVATIONS)
    assert result == {"cloud.google.com/gke-accelerator": "nvidia-l4", **more}


def test_a_flavor_selects_the_labels_that_all_its_pools_have() -> None:
    pools = {"a": {**L4, "labels": {"x": "1", "y": "1"}}, "b": {**L4, "labels": {"x": "1", "y": "2"}}}
    result = flavor(plan(fleet_of_pools({n: {**p, "flavor": "f"} for n, p in pools.items()})), "f")
    assert result.node_labels == {"cloud.google.com/gke-accelerator": "nvidia-l4", "x": "1"}


def test_a_flavor_tolerates_every_value_of_the_accelerator_taint() -> None:
    """GKE's own GPU taint has the value `present`, the batch reference writes `true` (systems.md, E.3)."""
    first = flavor(plan(fleet_of_pools({"p": V5E})), "p").tolerations[0]
    assert first == Toleration(key="google.com/tpu", operator="Exists", effect="NoSchedule")


def test_a_flavor_tolerates_the_taints_of_its_pools() -> None:
    taints = [{"key": "team", "value": "a"}, {"key": "odd", "value": "", "effect": "NoExecute"}]
    result = flavor(plan(fleet_of_pools({"p": {**L4, "capacity": "spot", "taints": taints}})), "p").tolerations
    assert [(t.key, t.operator, t.value, t.effect) for t in result[1:]] == [
        ("team", "Equal", "a", "NoSchedule"),
        ("odd", "Equal", "", "NoExecute"),
        ("berth.dev/capacity", "Equal", "spot", "NoSchedule"),
    ]


# --- which pools form one ---------------------------------------------------------------------------------------------


def test_pools_of_one_kind_are_one_flavor_that_keeps_the_shortest_name() -> None:
    """A pool added beside `v5e` must not rename the flavor that queues and jobs know."""
    fleet_plan = plan(fleet_of_pools({"v5e": V5E, "v5e-b": {**V5E, "slices": 3, "zone": "us-central1-b"}})).flavors
    assert [(f.name, f.pools, f.capacity) for f in fleet_plan] == [("v5e", ("v5e", "v5e-b"), Bounds(min=40, max=40))]


@pytest.mark.parametrize(
    "other",
    [
        {**V5E, "topology": "4x4"},
        {**V5E, "capacity": "spot"},
        {**V5E, "labels": {"tier": "gold"}},
        {**V5E, "taints": [{"key": "tier", "value": "gold"}]},
        {**V5E, "machineType": "ct5lp-hightpu-8t"},
        {**V5E, "machineType": "ct6e-standard-4t"},
    ],
)
def test_pools_that_a_job_can_tell_apart_are_two_flavors(other: dict[str, Any]) -> None:
    fleet_plan = run_planner(fleet_of_pools({"v5e": V5E, "other": other})).plan
    assert {f.name for f in fleet_plan.flavors} == {"v5e", "other"}


def test_two_machine_types_with_the_same_gpu_select_the_machine_type_too() -> None:
    fleet_plan = plan(fleet_of_pools({"small": L4, "large": {**L4, "machineType": "g2-standard-48"}}))
    assert {f.name: f.node_labels[INSTANCE_TYPE] for f in fleet_plan.flavors} == {
        "small": "g2-standard-24",
        "large": "g2-standard-48",
    }


def test_the_only_flavor_of_its_accelerator_omits_the_machine_type() -> None:
    """What a person compares with the document is the document's labels, and nothing they need not know."""
    assert INSTANCE_TYPE not in labels(L4)


@pytest.mark.parametrize("other", [{**V5E, "topology": "4x4"}, {**V5E, "capacity": "spot"}, L4])
def test_a_flavor_has_one_accelerator_one_topology_and_one_capacity(other: dict[str, Any]) -> None:
    """Or its quota would count what no job could use alike."""
    fleet = fleet_of_pools({"a": {**V5E, "flavor": "f"}, "b": {**other, "flavor": "f"}})
    assert faults(fleet) == ["mixed-flavor pools.b.flavor"]
    assert message(fleet, "mixed-flavor").startswith("pools 'a' and 'b' cannot share flavor 'f': a flavor has one ")


RESERVED: dict[str, Any] = {"machineType": "g2-standard-24", "zone": "us-central1-a", "count": 4}


@pytest.mark.parametrize(
    ("other", "apart", "selected"),
    [
        ({"name": "b", "existing": True}, [], {}),
        (
            {"name": "a", "existing": True, "block": "a-1"},
            ["ambiguous-flavor pools.first"],
            {"cloud.google.com/reservation-name": "a"},
        ),
    ],
)
def test_reserved_machines_are_one_flavor_if_the_stack_file_says_so(
    other: dict[str, Any], apart: list[str], selected: dict[str, str]
) -> None:
    """Slices of one flavor may come from several reservations or blocks; the remedy of the fault is to say so."""
    reservations = {"first": {**RESERVED, "name": "a", "existing": True}, "second": {**RESERVED, **other}}
    pools = {
        name: {"machineType": "g2-standard-24", "nodes": 2, "capacity": {"reservation": name}} for name in reservations
    }
    assert faults({**fleet_of_pools(pools), "reservations": reservations}) == apart
    together = fleet_of_pools({name: {**entry, "flavor": "l4"} for name, entry in pools.items()})
    (flavor,) = plan({**together, "reservations": reservations}).flavors
    assert (flavor.name, flavor.capacity.max) == ("l4", 8)
    assert {key: value for key, value in flavor.node_labels.items() if "reservation" in key} == selected


def test_flavors_that_select_the_same_nodes_are_a_fault() -> None:
    """Two names for the same nodes: Kueue would count one thing, and the scheduler would do another."""
    fleet = fleet_of_pools({"a": {**L4, "flavor": "x"}, "b": {**L4, "flavor": "y"}})
    assert faults(fleet) == ["ambiguous-flavor pools.a", "ambiguous-flavor pools.b"]


def test_the_unit_of_a_flavor_is_its_slice() -> None:
    fleet_plan = plan(fleet_of_pools({"v5e": V5E, "l4": L4}))
    assert {f.name: (f.unit, f.resource, f.noun) for f in fleet_plan.flavors} == {
        "v5e": (8, "google.com/tpu", "v5e chips"),
        "l4": (1, "nvidia.com/gpu", "L4"),
    }


# --- the scheduler ----------------------------------------------------------------------------------------------------

GKE_TAINTS = {
    "google.com/tpu": Taint(key="google.com/tpu", value="present", effect="NoSchedule"),
    "nvidia.com/gpu": Taint(key="nvidia.com/gpu", value="present", effect="NoSchedule"),
}


def node_labels(pool: PoolPlan) -> dict[str, str]:
    """The labels of a pool's nodes: GKE's own (GKE docs: TPUs, GPU machine types) and those of the node pool."""
    kind = "tpu" if pool.topology else "gpu"
    own = {"tpu": "cloud.google.com/gke-tpu-accelerator", "gpu": "cloud.google.com/gke-accelerator"}[kind]
    values = {own: pool.accelerator, INSTANCE_TYPE: pool.machine_type, **pool.node_pools[0].labels}
    if pool.topology:
        values["cloud.google.com/gke-tpu-topology"] = pool.topology
    if pool.node_pools[0].spot:
        values["cloud.google.com/gke-spot"] = "true"
    if pool.node_pools[0].reservation:
        values["cloud.google.com/reservation-name"] = pool.node_pools[0].reservation
    return values


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Kubernetes' rule for one toleration and one taint."""
    return (
        toleration.key == taint.key
        and toleration.effect in ("", taint.effect)
        and (toleration.operator == "Exists" or toleration.value == taint.value)
    )


def lands(result: FlavorPlan, pool: PoolPlan) -> bool:
    """Whether a pod with the flavor's selector and tolerations is put on a node of the pool."""
    taints = (*pool.node_pools[0].taints, GKE_TAINTS[pool.resource])
    hard = [t for t in taints if t.effect != "PreferNoSchedule"]
    selected = result.node_labels.items() <= node_labels(pool).items()
    return selected and all(any(tolerates(t, taint) for t in result.tolerations) for taint in hard)


def misplaced(fleet: FleetPlan) -> list[tuple[str, str]]:
    """Return flavor and pool for each pod on a wrong node, or without its right one."""
    return [(f.name, p.name) for f in fleet.flavors for p in fleet.pools if lands(f, p) != (p.flavor == f.name)]


kinds = st.one_of(
    st.fixed_dictionaries({
        "machineType": st.sampled_from(["ct5lp-hightpu-4t", "ct5lp-hightpu-8t"]), "topology": st.just("2x4"),
        "slices": st.just(1), "zone": st.just(ZONE),
    }),
    st.fixed_dictionaries({
        "machineType": st.sampled_from(["g2-standard-24", "g2-standard-48", "a2-highgpu-1g"]),
        "nodes": st.just(2), "zone": st.just(ZONE),
    }),
)  # fmt: skip
extras = st.fixed_dictionaries(
    {},
    optional={
        "capacity": st.sampled_from(["on-demand", "spot", {"reservation": "r1"}, {"reservation": "r2"}]),
        "labels": st.dictionaries(st.sampled_from("xy"), st.sampled_from("12"), max_size=2),
        "taints": st.lists(
            st.fixed_dictionaries({"key": st.sampled_from("tu"), "value": st.sampled_from("12")}),
            max_size=2,
            unique_by=lambda taint: taint["key"],
        ),
        "flavor": st.sampled_from(["f", "g"]),
    },
)


pools = st.tuples(kinds, extras).map(lambda parts: {**parts[0], **parts[1]})


@settings(deadline=None, max_examples=120)
@given(st.lists(pools, min_size=1, max_size=4))
def test_pods_of_a_flavor_run_only_on_its_nodes(drawn: list[dict[str, Any]]) -> None:
    """Or it is a fault. A sound fleet's flavors divide the accelerator nodes among them."""
    fleet = fleet_of_pools({f"p{number}": spec for number, spec in enumerate(drawn)}, reservations=RESERVATIONS)
    if not faults(fleet):
        assert misplaced(run_planner(fleet).plan) == []


def test_the_test_scheduler_detects_a_too_broad_flavor() -> None:
    """On-demand L4 select spot nodes too, and only the capacity taint keeps them off."""
    sound = plan(fleet_of_pools({"a": L4, "b": {**L4, "capacity": "spot"}}))
    assert misplaced(sound) == []
    (spot,) = (p for p in sound.pools if p.capacity == "spot")
    assert flavor(sound, "a").node_labels.items() <= node_labels(spot).items()
