"""Compute classes: from ways in the stack file to a ComputeClass, and to the flavor of the pool that names it."""

from __future__ import annotations

from typing import Any

import pytest

from berth.manifests.gke import compute_class
from berth.plan.fleet import FleetPlan
from tests.small_fleets import ZONE, faults, fleet_with, own_cluster, problems
from tests.small_fleets import plan as small_plan

H100: dict[str, Any] = {"machineType": "a3-highgpu-8g"}
HELD: dict[str, Any] = {"existing": True, "name": "held", "machineType": "a3-highgpu-8g", "zone": ZONE, "count": 2}
V6E: dict[str, Any] = {"machineType": "ct6e-standard-4t", "topology": "4x4"}


def fleet(priorities: list[dict[str, Any]], pool: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The small fleet with a class `c`, and a pool `x` of it that a queue is guaranteed whole."""
    return fleet_with(
        {
            "computeClasses": {"c": {"priorities": priorities}},
            "pools.x": {"computeClass": "c", **pool},
            "teams.vision.queues.x": {"flavors": [{"pool": "x", "guaranteed": "all"}]},
            **more,
        }
    )


def planned(priorities: list[dict[str, Any]], pool: dict[str, Any], **more: Any) -> FleetPlan:
    return small_plan(fleet(priorities, pool, **more))


def ways(plan: FleetPlan) -> list[dict[str, Any]]:
    (one,) = plan.compute_classes
    spec: Any = compute_class(one)["spec"]
    return spec["priorities"]


def test_reserved_then_flex_start_then_spot_then_on_demand_keep_their_order() -> None:
    capacities: list[Any] = [{"reservation": "r"}, {"flexStart": {"maxRunDuration": "24h"}}, "spot", "on-demand"]
    plan = planned([{**H100, "capacity": c} for c in capacities], {**H100, "nodes": 8}, reservations={"r": HELD})
    reserved, flex, spot, demand = ways(plan)
    assert reserved["reservations"] == {"affinity": "Specific", "specific": [{"name": "held", "zones": [ZONE]}]}
    assert (flex["flexStart"], flex["maxRunDurationSeconds"]) == ({"enabled": True}, 86400)
    assert spot["spot"] is True and "reservations" not in spot
    assert demand["reservations"] == {"affinity": "None"}
    assert {way["gpu"]["type"] for way in ways(plan)} == {"nvidia-h100-80gb"}


def test_flex_start_of_a_class_always_has_a_maximum_duration() -> None:
    """As a pool has: seven days, the longest that DWS allows; other capacity has none."""
    plan = planned([{**H100, "capacity": c} for c in ("flex-start", "spot")], {**H100, "nodes": 8})
    flex, spot = ways(plan)
    assert flex["maxRunDurationSeconds"] == 7 * 24 * 3600
    assert "maxRunDurationSeconds" not in spot


def test_slices_of_a_class_are_chips_of_a_host_and_a_topology() -> None:
    (way,) = ways(planned([{**V6E, "capacity": "spot", "zones": [ZONE]}], {**V6E, "slices": 2}))
    assert way["tpu"] == {"type": "tpu-v6e-slice", "count": 4, "topology": "4x4"}
    assert way["location"] == {"zones": [ZONE]} and "machineType" not in way


def test_a_flavor_selects_the_class_and_the_accelerator_and_tolerates_what_gke_taints() -> None:
    plan = planned([{**H100, "capacity": "flex-start"}, {**H100, "capacity": "spot"}], {**H100, "nodes": 8})
    (flavor,) = (f for f in plan.flavors if f.name == "x")
    assert flavor.node_labels == {
        "cloud.google.com/gke-accelerator": "nvidia-h100-80gb",
        "cloud.google.com/compute-class": "c",
    }
    assert {t.key for t in flavor.tolerations} == {
        "nvidia.com/gpu", "cloud.google.com/compute-class", "cloud.google.com/gke-spot",
    }  # fmt: skip
    assert flavor.capacity.max == 64


def test_a_pool_of_a_compute_class_needs_no_cluster_auto_provisioning() -> None:
    """A class makes pools by itself; the limits of auto-provisioning hold where there are some."""
    plan = planned([{**H100, "capacity": "spot"}], {**H100, "nodes": 8})
    (pool,) = (p for p in plan.pools if p.name == "x")
    assert (pool.made_by, pool.node_pools, pool.compute_class, pool.capacity) == ("gke", (), "c", "compute-class")
    limits = {"cpu": {"max": 10000}, "memory": {"max": 100000}, "accelerators": {"nvidia-h100-80gb": 63}}
    limited = fleet([H100], {**H100, "nodes": 8}, **{"cluster.nodeAutoProvisioning": limits})
    assert faults(limited) == ["auto-provisioning-limit pools.x.computeClass"]


@pytest.mark.parametrize("own", [0, 1, 2])
def test_a_compute_class_uses_the_rest_of_a_reservation(own: int) -> None:
    """It goes on to its next priority where nothing is left, so it never asks for too much."""
    more: dict[str, Any] = {"reservations": {"r": HELD}}
    if own:
        more["pools.own"] = {**H100, "nodes": own, "capacity": {"reservation": "r"}}
        more["teams.vision.queues.own"] = {"flavors": [{"pool": "own", "guaranteed": "all"}]}
    ladder = [{**H100, "capacity": {"reservation": "r"}}, {**H100, "capacity": "spot"}]
    assert [p.line() for p in problems(fleet(ladder, {**H100, "nodes": 8}, **more))] == []


def test_nodes_of_a_class_run_as_the_nodes_of_the_fleet() -> None:
    (one,) = planned([H100], {**H100, "nodes": 8}).compute_classes
    plan = planned([H100], {**H100, "nodes": 8})
    assert one.service_account == own_cluster(plan).node_service_account.email
    assert (one.secure_boot, one.image_streaming, one.when_unsatisfiable) == (True, True, "DoNotScaleUp")
