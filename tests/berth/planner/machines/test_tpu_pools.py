"""Every TPU machine with every topology of the table, through the planner: hosts, node pools, placement, disks.

What is expected is worked out here from GKE's rules for TPU slices, without the table's own arithmetic.
"""

from __future__ import annotations

from math import prod

import pytest

from berth import catalog
from berth.plan.fleet import FleetPlan
from berth.plan.gke import NodePoolPlan
from berth.plan.node_settings import Bounds
from tests.small_fleets import ZONE, fleet_of_pools, fleet_with
from tests.small_fleets import plan as small_plan

CHIPS = {"1t": 1, "4t": 4, "8t": 8}
"""Chips of a host, by the end of its name."""
DISKS = {"ct6e": "hyperdisk-balanced", "tpu7x": "hyperdisk-balanced"}
"""The only boot disk that some families take; the others get pd-balanced."""
MOST_HOSTS = 64
"""Larger slices differ in nothing but numbers; those of every generation up to this size are run, and its largest."""

ROOM = {"nodeCidrBlock": "192.168.0.0/16", "podCidrBlock": "10.128.0.0/9"}
"""Addresses for two of the largest slices."""

TPUS = [m for m in catalog.machines().values() if m.kind == "tpu" and m.status != "unsupported"]


def slices() -> list[tuple[str, str]]:
    """Every machine × topology, without the middle of the long lists of large slices."""
    values: list[tuple[str, str]] = []
    for machine in TPUS:
        every = catalog.slice_topologies(machine)
        small = [t for t in every if hosts(machine.name, t) <= MOST_HOSTS]
        values += [(machine.name, t) for t in dict.fromkeys([*small, every[-1]])]
    return values


def hosts(machine: str, topology: str) -> int:
    """Chips over chips of a host, exactly."""
    whole, rest = divmod(prod(map(int, topology.split("x"))), CHIPS[machine[-2:]])
    assert rest == 0
    return whole


def planned(machine: str, topology: str, count: object) -> tuple[FleetPlan, tuple[NodePoolPlan, ...]]:
    """A pool of so many slices, and its node pools."""
    pool = {"machineType": machine, "topology": topology, "slices": count, "zone": ZONE}
    plan = small_plan(fleet_with({"cluster.network": ROOM}, fleet_of_pools({"p": pool})))
    return plan, plan.pools[0].node_pools


@pytest.mark.parametrize(("machine", "topology"), slices())
def test_hosts_pools_placement_and_disk_follow_from_machine_and_topology(machine: str, topology: str) -> None:
    """One pool a slice of several hosts, atomic and placed as one; hosts of their own share a pool that is not."""
    each, family = hosts(machine, topology), machine.partition("-")[0]
    plan, pools = planned(machine, topology, 2)
    assert plan.pools[0].nodes == Bounds(min=2 * each, max=2 * each)
    assert [p.settings.disk_type for p in pools] == [DISKS.get(family, "pd-balanced")] * len(pools)
    if each == 1:
        assert [(p.name, p.nodes_per_zone, p.placement, p.slice_topology) for p in pools] == [("p", 2, None, None)]
        return
    assert [(p.name, p.nodes_per_zone) for p in pools] == [(f"p-{topology}-{n}", each) for n in (1, 2)]
    assert all(p.slice_topology == topology and p.zones == (ZONE,) for p in pools)
    policies = {p.name: p for p in plan.workload_policies}
    for pool in pools:
        if family != "tpu7x":
            assert pool.placement is None  # COMPACT and the topology, which `slice_topology` says
            continue
        placement = pool.placement
        assert placement and placement.tpu_topology == topology
        policy = policies[placement.policy or ""]
        assert policy.accelerator_topology == topology
    assert len(policies) == (1 if family == "tpu7x" else 0), "slices of one topology share a policy"


@pytest.mark.parametrize("machine", [m.name for m in TPUS if m.multi_host])
def test_an_autoscaled_slice_is_resized_as_a_whole(machine: str) -> None:
    """None or all of its hosts: the node pool of each slice has its own bounds."""
    topology = next(t for t in catalog.slice_topologies(catalog.machines()[machine]) if hosts(machine, t) > 1)
    each = hosts(machine, topology)
    plan, pools = planned(machine, topology, {"min": 1, "max": 3})
    totals = [p.total_nodes.min if p.total_nodes else p.nodes_per_zone for p in pools]
    assert totals == [each, 0, 0]
    assert [p.total_nodes.max if p.total_nodes else p.nodes_per_zone for p in pools] == [each] * 3
    assert plan.flavors[0].unit == each * CHIPS[machine[-2:]]


def test_every_generation_has_slices_of_one_host_and_of_several() -> None:
    """Else the tests above would be of nothing."""
    assert {m.generation for m in TPUS} == set(catalog.generations())
    for generation in catalog.generations():
        sizes = {hosts(m, t) for m, t in slices() if catalog.machines()[m].generation == generation}
        assert 1 in sizes and max(sizes) > MOST_HOSTS - 1


def test_slices_of_several_pools_are_one_flavor_for_one_multislice_job() -> None:
    """Pools of one kind in two zones: a job of four slices is admitted over both."""
    half = {"machineType": "ct6e-standard-4t", "topology": "4x4", "slices": 2}
    plan = small_plan(fleet_of_pools({"a": {**half, "zone": ZONE}, "a-b": {**half, "zone": "us-central1-b"}}))
    (flavor,) = plan.flavors
    assert (flavor.pools, flavor.capacity.max, flavor.unit) == (("a", "a-b"), 64, 16)
    assert len({n.name for p in plan.pools for n in p.node_pools}) == 4
