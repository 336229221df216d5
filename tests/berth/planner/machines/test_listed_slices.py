"""Slices that are listed keep their numbers and names, whatever else the list has."""

from __future__ import annotations

from typing import Any

import pytest

from berth.diff.compare import compare_fleets
from berth.diff.resource_changes import compare_resources
from berth.plan.fleet import FleetPlan
from berth.quota.required import required_quotas
from tests.small_fleets import faults, fleet_of_pools, message, plan

V5E: dict[str, Any] = {"machineType": "ct5lp-hightpu-4t", "topology": "2x4", "zone": "us-central1-a"}


def _plan(slices: object, **pool: Any) -> FleetPlan:
    return plan(fleet_of_pools({"v5e": V5E | {"slices": slices} | pool}))


def _node_pools(fleet: FleetPlan) -> dict[str, tuple[str, object]]:
    """Key → name, and fixed nodes or their limits."""
    (pool,) = fleet.own_pools
    return {
        each.key: (each.name, each.nodes_per_zone or each.total_nodes or each.zone_nodes) for each in pool.node_pools
    }


@pytest.mark.parametrize(
    ("slices", "pattern", "names"),
    [
        ([1, 3], None, {"v5e-1": "v5e-2x4-1", "v5e-3": "v5e-2x4-3"}),
        ([0, 2], "np-{n}", {"v5e-0": "np-0", "v5e-2": "np-2"}),
        ([1, 3], "np-{i}", {"v5e-1": "np-0", "v5e-3": "np-2"}),
        (["west", "east"], None, {"v5e-west": "west", "v5e-east": "east"}),
        ([2, "extra"], "np{n}", {"v5e-2": "np2", "v5e-extra": "extra"}),
        ({"min": 0, "of": [4]}, "np4", {"v5e-4": "np4"}),
    ],
)
def test_each_listed_slice_is_a_node_pool_of_that_number_or_name(
    slices: object, pattern: str | None, names: dict[str, str]
) -> None:
    fleet = _plan(slices, **({"nodePoolName": pattern} if pattern else {}))
    assert {key: name for key, (name, _) in _node_pools(fleet).items()} == names


def test_listed_slices_count_like_a_number_of_slices() -> None:
    """Machines, quotas of the queues and quotas of Google Cloud; the first ones of a range have the minimum."""
    for listed, counted in (([1, 3], 2), ({"min": 1, "of": [1, 3]}, {"min": 1, "max": 2})):
        one, other = _plan(listed), _plan(counted)
        assert [(p.slices, p.nodes, p.accelerators) for p in one.pools] == [
            (p.slices, p.nodes, p.accelerators) for p in other.pools
        ]
        assert one.cluster_queues == other.cluster_queues
        assert required_quotas(one) == required_quotas(other)
        assert [size for _, size in _node_pools(one).values()] == [size for _, size in _node_pools(other).values()]


def test_a_slice_removed_from_the_middle_is_the_only_one_that_is_deleted() -> None:
    changes = compare_resources(_plan(3), _plan([1, 3]))
    assert [(change.key, change.what) for change in changes if change.kind == "node pool"] == [("v5e-2", "deleted")]
    (pool,) = compare_fleets(_plan(3), _plan([1, 3])).pools
    assert (pool.what, pool.hit_nodes, pool.hit_accelerators) == ("resized", 2, 8)
    assert compare_resources(_plan(3), _plan([1, 2, 3])) == ()


def test_the_guard_sees_a_listed_slice_that_gives_way_to_another() -> None:
    changes = compare_fleets(_plan([1, 2]), _plan([1, 3]))
    assert [(loss.kind, loss.key) for loss in changes.losses] == [("pool", "v5e")]
    (pool,) = changes.pools
    assert pool.hit_nodes == 2


@pytest.mark.parametrize(
    ("pool", "text"),
    [
        ({"slices": [1, 1]}, "'1' is listed twice; write it once"),
        ({"slices": [-1]}, "'-1' is neither the number of a slice nor the name of a node pool"),
        ({"slices": [True]}, "'true' is neither the number of a slice nor the name of a node pool"),
        ({"slices": ["Np"]}, "'Np' is neither the number of a slice nor the name of a node pool"),
        ({"slices": [1.5]}, "'1.5' is neither the number of a slice nor the name of a node pool"),
        ({"slices": [[1]]}, "is neither the number of a slice nor the name of a node pool"),
        ({"slices": {"of": 3}}, "'3' is a number; write a list of numbers or names, such as of: [1, 3]"),
        ({"slices": {"min": 3, "of": [1, 2]}}, "min 3 is above the 2 slices of the list; write a min of at most 2"),
        ({"slices": {"of": [1], "max": 3}}, "unknown key 'max'"),
        ({"slices": [0, 1], "nodePoolName": "np-{i}"}, "one less than the number of a slice, and slice 0 is listed"),
        ({"slices": ["a", "b"], "nodePoolName": "np-{n}"}, "the list of slices has all names; remove nodePoolName"),
        (
            {"slices": [1, 3], "nodePoolName": "np"},
            "each of the 2 slices is a node pool; write a pattern such as np{n}",
        ),
        ({"slices": [1, 3], "topology": "2x2"}, "a slice of one host is a node, and has no number; write how many"),
    ],
)
def test_a_list_that_cannot_be_is_one_fault(pool: dict[str, Any], text: str) -> None:
    fleet = fleet_of_pools({"v5e": {**V5E, **pool}})
    codes = {line.split()[0] for line in faults(fleet)}
    assert len(codes) == 1, faults(fleet)
    assert text in message(fleet, codes.pop())


def test_slices_that_gke_creates_have_no_numbers() -> None:
    provisioned = {"nodeAutoProvisioning": {"cpu": {"max": 800}, "memory": {"max": 8000}}}
    pool = V5E | {"slices": {"of": [1, 3]}, "autoProvisioned": True}
    del pool["zone"]
    assert "bad-size pools.v5e.slices" in faults(fleet_of_pools({"v5e": pool}, cluster=provisioned))
