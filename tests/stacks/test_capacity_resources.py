"""From a capacity in the stack file to what Google is asked for: the real program's node pools, and what is refused."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from berth.planner import plan_fleet
from berth.spec.parse import parse_fleet
from stacks.platform import build_platform
from tests.engine import run
from tests.small_fleets import ZONE, faults, fleet_with
from tests.small_fleets import plan as small_plan

GPU: dict[str, Any] = {"machineType": "g2-standard-24", "nodes": {"max": 8}, "zones": [ZONE, "us-central1-b"]}
TPU: dict[str, Any] = {"machineType": "ct6e-standard-4t", "topology": "4x4", "slices": {"max": 2}, "zone": ZONE}
ONE_HOST: dict[str, Any] = {"machineType": "ct6e-standard-4t", "topology": "2x2", "slices": {"max": 8}, "zone": ZONE}

DWS = pytest.mark.parametrize("capacity", ["flex-start", "queued"])
KINDS = pytest.mark.parametrize("pool", [GPU, TPU, ONE_HOST], ids=["gpu", "tpu-slices", "tpu-hosts"])


def node_pools(pool: dict[str, Any], capacity: Any, **more: Any) -> list[dict[str, Any]]:
    """The arguments of the node pools of one pool, as the provider gets them."""
    fleet = {
        "project": "acme-dev", "region": "us-central1", "pools": {"p": {**pool, "capacity": capacity}},
        "teams": {"t": {"queues": {"q": {"flavors": [{"pool": "p", "guaranteed": "all"}]}}}}, **more,
    }  # fmt: skip
    return [dict(one) for one in _node_pools(json.dumps(fleet))]


@cache
def _node_pools(fleet: str) -> list[dict[str, Any]]:
    """The same for a fleet as JSON, whose program is run once for all tests."""
    document = plan_fleet("dev", parse_fleet(json.loads(fleet)))
    assert document is not None and [p.line() for p in document.problems if p.severity == "fault"] == []
    done = run(lambda: build_platform(document.plan))
    return [
        dict(one.inputs)
        for one in done.resources_of("NodePool")
        if one.type.startswith("gcp:") and one.name != "system-pool"
    ]


# --- pools of the Dynamic Workload Scheduler --------------------------------------------------------------------------


@DWS
@KINDS
def test_dws_takes_no_reservation_no_repair_no_spot_no_static_count_and_no_upgrade_settings(
    pool: dict[str, Any], capacity: str
) -> None:
    result = node_pools(pool, capacity)
    assert result
    for one in result:
        config = one["nodeConfig"]
        assert config["reservationAffinity"] == {"consumeReservationType": "NO_RESERVATION"}
        assert one["management"]["autoRepair"] is False
        assert not config.get("spot") and "nodeCount" not in one and one.get("initialNodeCount", 0) == 0
        assert "upgradeSettings" not in one


@DWS
def test_dws_of_gpus_scales_from_zero_to_a_total_in_any_zone(capacity: str) -> None:
    (one,) = node_pools(GPU, capacity)
    assert one["autoscaling"] == {"totalMinNodeCount": 0, "totalMaxNodeCount": 8, "locationPolicy": "ANY"}


@DWS
def test_dws_of_tpus_scales_from_zero_within_bounds_of_each_zone(capacity: str) -> None:
    """The total form breaks flex-start of TPUs in the provider; a slice of four hosts is none or four."""
    for pool, most in ((TPU, 4), (ONE_HOST, 8)):
        for one in node_pools(pool, capacity):
            assert one["autoscaling"] == {"minNodeCount": 0, "maxNodeCount": most, "locationPolicy": "ANY"}


@KINDS
def test_queued_nodes_carry_the_queued_label_and_flex_start_nodes_do_not(pool: dict[str, Any]) -> None:
    for capacity, queued in (("queued", "true"), ("flex-start", None)):
        for one in node_pools(pool, capacity):
            assert one["nodeConfig"].get("labels", {}).get("cloud.google.com/gke-queued") == queued
            assert bool(one.get("queuedProvisioning", {}).get("enabled")) is (queued == "true")


@DWS
def test_dws_refuses_tpu_v4_and_a3_edge(capacity: str) -> None:
    v4 = {"machineType": "ct4p-hightpu-4t", "topology": "2x2x2", "slices": {"max": 1}, "zone": ZONE, "acceptZone": True}
    edge = {"machineType": "a3-edgegpu-8g", "nodes": {"max": 2}, "zone": ZONE}
    for pool in (v4, edge):
        assert faults(fleet_with({"pools.extra": {**pool, "capacity": capacity}})) == [
            "capacity-not-offered pools.extra.capacity"
        ]


# --- spot and reservations --------------------------------------------------------------------------------------------


@KINDS
def test_spot_takes_no_reservation(pool: dict[str, Any]) -> None:
    for one in node_pools(pool, "spot"):
        assert one["nodeConfig"]["spot"] is True
        assert one["nodeConfig"]["reservationAffinity"] == {"consumeReservationType": "NO_RESERVATION"}


@pytest.mark.parametrize("pool", [{**GPU, "nodes": 4}, {**TPU, "slices": 1}], ids=["gpu", "tpu"])
def test_a_specific_reservation_is_one_key_with_one_value_in_explicit_zones(pool: dict[str, Any]) -> None:
    held = {"machineType": pool["machineType"], "zone": ZONE, "count": 4, "name": "held", "existing": True}
    bare = {key: value for key, value in pool.items() if not key.startswith("zone")}
    (one,) = node_pools(bare, {"reservation": "r"}, reservations={"r": held})
    assert one["nodeConfig"]["reservationAffinity"] == {
        "consumeReservationType": "SPECIFIC_RESERVATION",
        "key": "compute.googleapis.com/reservation-name",
        "values": ["held"],
    }
    assert one["nodeLocations"] == [ZONE]


# --- what GKE makes by itself -----------------------------------------------------------------------------------------

LIMITS = {
    "cpu": {"max": 10000},
    "memory": {"max": 100000},
    "accelerators": {"nvidia-l4": 100, "nvidia-tesla-a100": 100, "tpu-v6e-slice": 100},
}


def made(pool: dict[str, Any], **provisioning: Any) -> Any:
    """The plan of the small fleet with one more pool, which GKE makes."""
    more = {
        "pools.x": {"autoProvisioned": True, **pool},
        "teams.vision.queues.x": {"flavors": [{"pool": "x", "guaranteed": "all"}]},
    }
    return small_plan(fleet_with({**more, "cluster.nodeAutoProvisioning": {**LIMITS, **provisioning}}))


@pytest.mark.parametrize(
    ("pool", "wanted"),
    [
        ({"machineType": "a2-highgpu-1g", "nodes": 8}, {"cloud.google.com/gke-accelerator": "nvidia-tesla-a100"}),
        (
            {"machineType": "ct6e-standard-4t", "topology": "4x4", "slices": 2},
            {"cloud.google.com/gke-tpu-accelerator": "tpu-v6e-slice", "cloud.google.com/gke-tpu-topology": "4x4"},
        ),
    ],
)
def test_auto_provisioned_queued_nodes_are_selected_by_their_taint(
    pool: dict[str, Any], wanted: dict[str, str]
) -> None:
    """The queued label is Berth's on pools of its own; to select it would wait for nodes that never come."""
    plan = made({**pool, "capacity": "queued"})
    (flavor,) = (f for f in plan.flavors if f.name == "x")
    assert flavor.node_labels == wanted
    assert "cloud.google.com/gke-queued" in {t.key for t in flavor.tolerations}
    assert plan.admission_checks[0].name == "dws-x"
    assert plan.cluster.auto_provisioning.auto_repair is False


def test_other_nodes_that_gke_makes_are_repaired() -> None:
    assert made({"machineType": "a2-highgpu-1g", "nodes": 8}).cluster.auto_provisioning.auto_repair is True
    assert (
        made({"machineType": "a2-highgpu-1g", "nodes": 8}, autoRepair=False).cluster.auto_provisioning.auto_repair
        is False
    )


def test_flavors_tolerate_the_taints_of_auto_provisioned_nodes() -> None:
    """GKE refuses to make nodes for a pod that selects a label and does not tolerate it (workload separation)."""
    plan = made({"machineType": "a2-highgpu-1g", "nodes": 8, "labels": {"use": "batch"}})
    (flavor,) = (f for f in plan.flavors if f.name == "x")
    assert flavor.node_labels["use"] == "batch"
    assert ("use", "batch", "NoSchedule") in {(t.key, t.value, t.effect) for t in flavor.tolerations}


def test_compact_nodes_that_gke_makes_are_a_placement_group() -> None:
    plan = made({"machineType": "a2-highgpu-1g", "nodes": 8, "compactPlacement": True, "flavor": "near"})
    (flavor,) = (f for f in plan.flavors if f.name == "near")
    assert "cloud.google.com/gke-placement-group" not in flavor.node_labels  # each job has a group of its own
