"""TPU machines newer than Berth's table: planned from what the pool states, and called unknown."""

from __future__ import annotations

import pytest

from tests.small_fleets import fleet_of_pools, plan, warnings

V8 = {"machineType": "ct8-standard-4t", "accelerator": {"type": "tpu-v8-slice", "count": 4}, "cpu": 224}
POOL = {**V8, "memory": "960Gi", "slices": 2, "zone": "us-central1-a", "acceptZone": True}


@pytest.mark.parametrize(
    ("topology", "chips", "hosts"), [("2x2", 4, 1), ("4x4", 16, 4), ("2x2x4", 16, 4), ("4x8x8", 256, 64)]
)
def test_a_slice_is_a_whole_number_of_the_stated_machines(topology: str, chips: int, hosts: int) -> None:
    fleet = fleet_of_pools({"v8": {**POOL, "topology": topology}})
    (pool,) = plan(fleet).pools
    assert (pool.hosts_per_slice or 1, pool.accelerators.max) == (hosts, 2 * chips)
    assert chips == hosts * 4
    assert [each for each in warnings(fleet) if "pools.v8" in each] == ["machine-unknown pools.v8.machineType"]


def test_nodes_have_the_labels_of_slices() -> None:
    (pool,) = plan(fleet_of_pools({"v8": {**POOL, "topology": "4x4"}})).pools
    assert [each.slice_topology for each in pool.node_pools] == ["4x4", "4x4"]
    assert all(each.gpu is None for each in pool.node_pools)
    (flavor,) = plan(fleet_of_pools({"v8": {**POOL, "topology": "4x4"}})).flavors
    assert flavor.node_labels["cloud.google.com/gke-tpu-accelerator"] == "tpu-v8-slice"
    assert flavor.node_labels["cloud.google.com/gke-tpu-topology"] == "4x4"
