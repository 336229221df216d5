"""Pools become node pools: how many, how large, where they stand, and what they may consume."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from berth.names import is_gke_name
from berth.plan.gke import NodePoolPlan
from berth.plan.node_settings import Bounds, Taint
from tests.small_fleets import (
    REMOVED,
    ZONE,
    faults,
    fleet_of_pools,
    fleet_with,
    message,
    own_cluster,
    plan,
    pool,
    run_planner,
    warnings,
)

V5E: dict[str, Any] = {"machineType": "ct5lp-hightpu-4t", "topology": "2x4", "slices": 3, "zone": ZONE}
L4: dict[str, Any] = {"machineType": "g2-standard-24", "nodes": 4, "zone": ZONE}
RESERVED: dict[str, Any] = {"machineType": "g2-standard-24", "nodes": 4, "capacity": {"reservation": "l4"}}
RESERVATION = {"l4": {"machineType": "g2-standard-24", "zone": ZONE, "count": 4}}
CAPACITY = "berth.dev/capacity"


def node_pools(spec: dict[str, Any], **rest: Any) -> tuple[NodePoolPlan, ...]:
    """The node pools of a pool named `p`."""
    return pool(plan(fleet_of_pools({"p": spec}, **rest)), "p").node_pools


# --- TPU slices -------------------------------------------------------------------------------------------------------


def test_each_slice_of_several_hosts_is_a_node_pool_of_its_own() -> None:
    """GKE wires the nodes of one pool into one slice: two slices in a pool would be one larger slice."""
    result = node_pools(V5E)
    assert [(n.key, n.name, n.slice_topology, n.nodes_per_zone) for n in result] == [
        ("p-1", "p-2x4-1", "2x4", 2), ("p-2", "p-2x4-2", "2x4", 2), ("p-3", "p-2x4-3", "2x4", 2)
    ]  # fmt: skip


def test_slices_of_one_host_share_a_node_pool() -> None:
    (each,) = node_pools({**V5E, "topology": "2x2", "slices": 5})
    assert (each.key, each.name, each.slice_topology, each.nodes_per_zone) == ("p", "p", None, 5)


def test_an_autoscaled_slice_has_all_hosts_or_none() -> None:
    """`slices: {min: 1, max: 3}`: the first always stands, the others have no nodes or all of theirs."""
    result = node_pools({**V5E, "slices": {"min": 1, "max": 3}})
    assert [(n.nodes_per_zone, n.total_nodes) for n in result] == [
        (2, None), (None, Bounds(min=0, max=2)), (None, Bounds(min=0, max=2))
    ]  # fmt: skip


def test_a_pool_keeps_its_identity_when_its_topology_changes() -> None:
    """The key is the resource's identity; the name carries the topology, and a new name shows a replacement."""
    before, after = node_pools(V5E)[0], node_pools({**V5E, "topology": "4x4"})[0]
    assert before.key == after.key
    assert before.name != after.name


def test_a_topology_that_the_table_lacks_is_accepted_only_on_request() -> None:
    odd = {**V5E, "topology": "2x8"}
    wrong = message(fleet_of_pools({"p": odd}), "bad-topology")
    assert wrong.startswith("'2x8' is not a v5e slice of ct5lp-hightpu-4t; write one of 2x2, 2x4, ")
    assert wrong.endswith("or write acceptTopology: true if GKE offers it")
    accepted = fleet_of_pools({"p": {**odd, "acceptTopology": True}})
    assert faults(accepted) == []
    assert warnings(accepted)[0] == "topology-unknown pools.p.topology"
    assert pool(run_planner(accepted).plan, "p").accelerators.max == 3 * 2 * 8


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({**V5E, "topology": "4x5"}, "bad-topology pools.p.topology"),
        ({**V5E, "topology": "2x2x2", "acceptTopology": True}, "bad-topology pools.p.topology"),
        ({**V5E, "topology": REMOVED}, "missing-key pools.p.topology"),
        ({**V5E, "slices": REMOVED}, "missing-key pools.p.slices"),
        ({**V5E, "nodes": 6}, "bad-size pools.p.nodes"),
        ({**V5E, "slices": 1001}, "bad-size pools.p.slices"),
        ({**V5E, "slices": {"min": 4, "max": 3}}, "bad-size pools.p.slices"),
        ({**V5E, "zone": REMOVED}, "slice-zone pools.p.zones"),
        ({**V5E, "zone": REMOVED, "zones": [ZONE, "us-central1-b"]}, "slice-zone pools.p.zones"),
        ({**V5E, "zone": "europe-west4-a"}, "bad-zone pools.p.zone"),
        ({**V5E, "machineType": "ct5lp-hightpu-8t", "topology": "4x4"}, "bad-topology pools.p.topology"),
        ({**V5E, "machineType": "ct5lp-hightpu-4"}, "unknown-machine pools.p.machineType"),
        ({**V5E, "machineType": "ct3-hightpu-4t"}, "unknown-machine pools.p.machineType"),
        ({**L4, "topology": "2x4"}, "bad-size pools.p.topology"),
        ({**L4, "slices": 1}, "bad-size pools.p.slices"),
        ({**L4, "nodes": REMOVED}, "missing-key pools.p.nodes"),
        ({**L4, "nodes": {"min": 3, "max": 2}}, "bad-size pools.p.nodes"),
        ({**L4, "zone": REMOVED}, "bad-zone pools.p.zones"),
        ({**L4, "zones": ["us-central1-b"]}, "bad-zone pools.p.zone"),
        ({**L4, "zone": REMOVED, "zones": ["us-east4-a"]}, "bad-zone pools.p.zones[0]"),
        ({**L4, "zone": REMOVED, "zones": [ZONE, "us-central1-b", "us-central1-c"]}, "bad-size pools.p.nodes"),
        ({**L4, "accelerator": {"type": "nvidia-tesla-t4", "count": 1}}, "bad-accelerator pools.p.accelerator"),
        ({"machineType": "n1-standard-8", "nodes": 1, "zone": ZONE}, "missing-key pools.p.accelerator"),
    ],
)  # fmt: skip
def test_an_impossible_pool_is_one_fault_at_its_place(spec: dict[str, Any], expected: str) -> None:
    """One, and not a second one at the queue that refers to it: the pool is the only thing to mend."""
    assert faults(fleet_of_pools({"p": {key: value for key, value in spec.items() if value is not REMOVED}})) == [
        expected
    ]


def test_a_similar_name_is_suggested() -> None:
    text = message(fleet_of_pools({"p": {**V5E, "machineType": "ct5lp-hightpu-4"}}), "unknown-machine")
    assert text == "no accelerator machine type 'ct5lp-hightpu-4'; did you mean 'ct5lp-hightpu-4t'?"


# --- GPU nodes --------------------------------------------------------------------------------------------------------


def test_nodes_are_a_total_over_zones() -> None:
    """GKE counts per zone, people count machines: 6 nodes in three zones are 2 in each."""
    (each,) = node_pools(
        {**L4, "nodes": 6}, **{"pools.p.zone": REMOVED, "cluster.zones": [f"us-central1-{z}" for z in "cab"]}
    )
    assert (each.zones, each.nodes_per_zone) == (("us-central1-a", "us-central1-b", "us-central1-c"), 2)


def test_a_pool_that_grows_is_limited_as_a_whole() -> None:
    (each,) = node_pools({"machineType": "g2-standard-24", "nodes": {"max": 24}})
    assert (each.nodes_per_zone, each.total_nodes, each.location_policy) == (None, Bounds(min=0, max=24), "ANY")
    assert each.zones == ("us-central1-a", "us-central1-b", "us-central1-c")


def test_gpus_come_with_the_machine_and_with_a_driver() -> None:
    """The driver is always named: left out, it is GKE's version's choice (systems.md, E.1)."""
    (each,) = node_pools({**L4, "driverVersion": "latest"})
    assert each.gpu is not None
    assert (each.gpu.type, each.gpu.count, each.settings.driver_version) == ("nvidia-l4", 2, "latest")
    assert pool(plan(fleet_of_pools({"p": L4})), "p").accelerators == Bounds(min=8, max=8)


def test_gpus_may_be_attached_to_an_n1_machine() -> None:
    attached = {"machineType": "n1-standard-8", "accelerator": {"type": "nvidia-tesla-t4", "count": 2}}
    request = pool(plan(fleet_of_pools({"p": {**attached, "nodes": 3, "zone": ZONE}})), "p")
    assert (request.accelerator, request.accelerators.max, request.resource) == ("nvidia-tesla-t4", 6, "nvidia.com/gpu")


@pytest.mark.parametrize(
    ("spec", "disk"), [(V5E, "pd-balanced"), ({**V5E, "machineType": "ct6e-standard-4t"}, "hyperdisk-balanced")]
)
def test_the_boot_disk_is_one_that_the_machine_takes(spec: dict[str, Any], disk: str) -> None:
    assert {n.settings.disk_type for n in node_pools(spec)} == {disk}


def test_pools_made_by_gke_have_no_node_pools_of_ours() -> None:
    fleet_plan = pool(run_planner(fleet_of_pools({"p": {**L4, "autoProvisioned": True}})).plan, "p")
    assert (fleet_plan.made_by, fleet_plan.node_pools, fleet_plan.accelerators.max) == ("gke", (), 8)


# --- capacity ---------------------------------------------------------------------------------------------------------


def test_a_pool_without_a_reservation_consumes_none() -> None:
    """Left open, Google would use up any reservation that happens to match."""
    assert [(n.reservation, n.spot) for n in node_pools(L4)] == [(None, False)]


def test_a_reserved_pool_never_falls_back_to_on_demand() -> None:
    """It names its reservation, which is consumed by name only; it stands in the reservation's zone and is no spot."""
    (each,) = node_pools(RESERVED, reservations=RESERVATION)
    assert (each.reservation, each.zones, each.spot) == ("test-l4", (ZONE,), False)


def test_a_reservation_has_its_name_in_google_cloud() -> None:
    named = {"l4": {**RESERVATION["l4"], "name": "machines"}}
    fleet_plan = plan(fleet_of_pools({"p": RESERVED}, reservations=named))
    assert (fleet_plan.reservations[0].key, fleet_plan.reservations[0].name) == ("l4", "machines")
    assert [n.reservation for n in fleet_plan.pools[0].node_pools] == ["machines"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"pools.p.nodes": 5}, "reservation-overused reservations.l4.count"),
        ({"pools.p.machineType": "g2-standard-48"}, "reservation-mismatch pools.p.machineType"),
        ({"pools.p.zone": "us-central1-b"}, "reservation-mismatch pools.p.zone"),
        ({"pools.p.zones": [ZONE, "us-central1-b"]}, "reservation-mismatch pools.p.zones"),
        ({"pools.p.capacity": {"reservation": "l5"}}, "unknown-reference pools.p.capacity.reservation"),
        ({"reservations.l4.zone": "us-east4-a", "pools.p.zone": "us-east4-a"}, "bad-zone pools.p.zone"),
        ({"reservations.l4.machineType": "g2-standard-25"}, "missing-key reservations.l4.accelerator"),
    ],
)
def test_a_pool_and_its_reservation_agree(change: dict[str, Any], expected: str) -> None:
    assert expected in faults(fleet_with(change, fleet_of_pools({"p": RESERVED}, reservations=RESERVATION)))


def test_pools_share_a_reservation_up_to_its_count() -> None:
    halves = {name: {**RESERVED, "nodes": 2} for name in ("p", "q")}
    assert faults(fleet_of_pools(halves, reservations=RESERVATION)) == []
    text = message(
        fleet_of_pools({**halves, "q": {**RESERVED, "nodes": 3}}, reservations=RESERVATION), "reservation-overused"
    )
    assert text == "'4' machines are reserved, but pools always use 5 (p 2, q 3); write count: 5, or reduce the pools"


@pytest.mark.parametrize(
    ("capacity", "taints"),
    [
        ("on-demand", ()),
        ("spot", (Taint(key=CAPACITY, value="spot", effect="NoSchedule"),)),
        ({"reservation": "l4"}, (Taint(key=CAPACITY, value="reservation", effect="NoSchedule"),)),
    ],
)
def test_node_pools_have_the_taints_of_their_capacity(capacity: Any, taints: tuple[Taint, ...]) -> None:
    """A job that names no flavor, or one that Kueue never saw, must not sit on reserved or spot machines."""
    (each,) = node_pools({**L4, "capacity": capacity}, reservations=RESERVATION)
    assert each.taints == taints


# --- protection -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rest", "pools", "reservation", "cluster"),
    [
        ({}, True, True, True),
        ({"protect": False}, False, False, False),
        ({"allowReplacement": {"p": "new topology"}}, False, True, True),
        ({"allowDeletion": {"p": "project over", "reservations.l4": "paid up"}}, False, False, True),
        ({"allowDeletion": {"cluster": "moved"}}, True, True, False),
    ],
)
def test_expensive_resources_are_protected_by_default(
    rest: dict[str, Any], pools: bool, reservation: bool, cluster: bool
) -> None:
    fleet_plan = plan(fleet_of_pools({"p": RESERVED}, reservations=RESERVATION, **rest))
    assert [n.protect for p in fleet_plan.pools for n in p.node_pools] == [pools]
    assert [r.protect for r in fleet_plan.reservations] == [reservation]
    assert own_cluster(fleet_plan).protect == cluster
    assert fleet_plan.system_pool is not None
    assert not fleet_plan.system_pool.protect


# --- names ------------------------------------------------------------------------------------------------------------

pool_names = st.from_regex(r"[a-z]([-a-z0-9]{0,28}[a-z0-9])?", fullmatch=True)


@settings(deadline=None, max_examples=60)
@given(st.sets(pool_names, min_size=1, max_size=3), st.integers(1, 12), st.sampled_from(["2x4", "16x16"]))
def test_node_pools_have_names_that_gke_takes_and_no_two_the_same(names: set[str], slices: int, topology: str) -> None:
    """Unless that is a fault: `a` with slices and another pool called `a-1` cannot both be."""
    fleet = fleet_of_pools({name: {**V5E, "slices": slices, "topology": topology} for name in names})
    if [fault for fault in faults(fleet) if not fault.startswith("range-too-small")]:
        return
    fleet_plan = [n for p in run_planner(fleet).plan.pools for n in p.node_pools]
    assert (
        len({n.name for n in fleet_plan}) == len({n.key for n in fleet_plan}) == len(fleet_plan) == slices * len(names)
    )
    assert [n.name for n in fleet_plan if not is_gke_name(n.name)] == []


def test_the_longest_name_is_shortened_by_a_hash_that_keeps_slices_apart() -> None:
    """30 characters, a topology of 8 and a number of 4 are more than GKE's 40."""
    longest = "a" * 30
    fleet = fleet_of_pools({longest: {**V5E, "machineType": "ct5p-hightpu-4t", "topology": "16x16x16", "slices": 11}})
    names = [n.name for n in run_planner(fleet).plan.pools[0].node_pools]
    assert len(set(names)) == 11
    assert {len(name) for name in names} == {40}


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ({"v5e-1": L4}, "duplicate-name pools.v5e-1"),
        ({"v5e-2x4-1": L4}, "duplicate-name pools.v5e-2x4-1"),
        ({"system": L4}, "duplicate-name pools.system"),
    ],
)
def test_two_node_pools_of_one_name_are_a_fault(other: dict[str, Any], expected: str) -> None:
    """By key they would be one resource of the program, by name one node pool of GKE's."""
    assert faults(fleet_of_pools({"v5e": V5E, **other})) == [expected]
