"""Flex-start, queued provisioning, spot, disks, and pools that GKE makes: GKE docs: DWS, node auto-provisioning."""

from __future__ import annotations

from typing import Any

import pytest

from berth.diagnostics import Severity
from berth.plan.node_settings import Bounds
from berth.rules.gke.capacity import can_auto_repair, capacity_notes, pool_violations
from berth.spec.machines.node_system import SurgeSpec
from tests.berth.rules.gke.pool_requests import AUTOPILOT, ZONE, codes, ephemeral_ssds, message, pool

DWS = pytest.mark.parametrize("capacity", ["flex-start", "queued"])
FIXED = Bounds(min=4, max=4)


# --- DWS -------------------------------------------------------------------------------------------------


@DWS
@pytest.mark.parametrize("name", ["a2-highgpu-1g", "n1", "a4-highgpu-8g", "ct6e-standard-4t", "tpu7x-standard-4t"])
def test_a_dws_pool_from_zero_without_settings_is_valid(capacity: str, name: str) -> None:
    assert pool_violations(pool(name, capacity=capacity)) == ()


@DWS
def test_a_dws_pool_has_no_static_count(capacity: str) -> None:
    assert message(pool("a2-highgpu-1g", capacity=capacity, nodes=FIXED, autoscaled=False)) == (
        f"nodes: a fixed number of 4 nodes is impossible with '{capacity}' capacity, which scales from zero; "
        "write {min: 0, max: 4}"
    )


@DWS
def test_a_dws_pool_scales_from_zero(capacity: str) -> None:
    assert message(pool("a2-highgpu-1g", capacity=capacity, nodes=Bounds(min=2, max=4))) == (
        f"nodes: a minimum of '2' nodes is impossible with '{capacity}' capacity, which scales from zero; "
        "write {min: 0, max: 4}"
    )


@DWS
def test_a_dws_pool_has_at_least_one_node_at_the_most(capacity: str) -> None:
    assert codes(pool("a2-highgpu-1g", capacity=capacity, nodes=Bounds(min=0, max=0))) == {"dws-static"}


def test_the_maximum_of_a_dws_slice_pool_is_in_slices() -> None:
    wrong = pool("ct6e-standard-4t", "4x4", capacity="queued", nodes=Bounds(min=8, max=8), autoscaled=False)
    assert message(wrong).startswith("slices: ")
    assert message(wrong).endswith("write {min: 0, max: 2}")


@DWS
def test_a_dws_pool_has_no_upgrade_settings(capacity: str) -> None:
    """GKE lets such nodes run out; SURGE is accepted without effect (Cluster Toolkit sends it)."""
    request = pool("a2-highgpu-1g", capacity=capacity, surge=SurgeSpec.model_construct(max_surge=1))
    assert codes(request, Severity.WARNING) == {"dws-upgrade"}


@DWS
@pytest.mark.parametrize("name", ["ct4p-hightpu-4t", "a3-edgegpu-8g", "a3-edgegpu-8g-nolssd"])
def test_v4_and_a3_edge_have_no_dws(capacity: str, name: str) -> None:
    assert message(pool(name, capacity=capacity)).startswith(
        f"capacity: '{name}' is not available with '{capacity}' capacity; write on-demand, spot"
    )


@DWS
def test_bounds_of_tpu_pools_are_per_zone_so_that_slices_spread_evenly(capacity: str) -> None:
    zones = ("us-east5-a", "us-east5-b")
    assert codes(pool("ct6e-standard-1t", capacity=capacity, zones=zones, nodes=Bounds(min=0, max=4))) == set()
    assert message(pool("ct6e-standard-1t", capacity=capacity, zones=zones, nodes=Bounds(min=0, max=3))) == (
        f"slices: '3' slices do not divide evenly by 2 zones, and {capacity} limits TPU pools per zone; "
        "write a multiple of 2, or one zone"
    )


@DWS
def test_bounds_of_gpu_pools_are_in_all_so_that_any_number_goes(capacity: str) -> None:
    zones = (ZONE, "us-central1-b")
    assert codes(pool("a2-highgpu-1g", capacity=capacity, zones=zones, nodes=Bounds(min=0, max=3))) == set()


def test_a_slice_of_more_hosts_than_one_request_takes_is_not_queued() -> None:
    """1000 VMs per request and zone; a slice is one request."""
    assert message(pool("ct5p-hightpu-4t", "16x16x24", capacity="queued")) == (
        "topology: '16x16x24' has 1536 hosts, but a queued request has at most 1000; write a smaller topology"
    )
    assert codes(pool("ct5p-hightpu-4t", "16x16x24", capacity="flex-start")) == set()
    many = pool("ct6e-standard-4t", "4x4", capacity="queued", nodes=Bounds(min=0, max=2000))
    assert codes(many) == set()


def test_a_queued_pool_above_the_request_limit_is_a_warning() -> None:
    wide = pool("a2-highgpu-1g", capacity="queued", nodes=Bounds(min=0, max=1001))
    assert codes(wide, Severity.WARNING) == {"queued-request"} == codes(wide)
    assert codes(pool("a2-highgpu-1g", capacity="queued", nodes=Bounds(min=0, max=1000))) == set()


@DWS
@pytest.mark.parametrize(("seconds", "fine"), [(599, False), (600, True), (604800, True), (604801, False)])
def test_a_run_duration_is_10_minutes_to_7_days(capacity: str, seconds: int, fine: bool) -> None:
    assert codes(pool("a2-highgpu-1g", capacity=capacity, max_run_seconds=seconds)) == (set() if fine else {"max-run"})


def test_auto_provisioning_repairs_no_nodes_where_one_of_its_pools_is_of_dws() -> None:
    """System C: the repair of auto-provisioned nodes is one setting of the cluster, and off for queued ones."""
    own, made = pool("a2-highgpu-1g", capacity="queued"), pool("a2-highgpu-1g", auto_provisioned=True)
    assert can_auto_repair([own, made])
    assert not can_auto_repair([made, pool("a2-highgpu-1g", capacity="queued", auto_provisioned=True)])


def test_the_plan_names_the_quota_of_a_queued_pool() -> None:
    assert capacity_notes(pool("a2-highgpu-1g", capacity="queued", max_run_seconds=86400)) == (
        "GKE allows 100 queued requests at a time per project and region (quota ACTIVE_RESIZE_REQUESTS); request more "
        "quota if more jobs must wait for nodes at once",
        "uses the preemptible quota of its accelerators",
        "nodes expire after at most 1 days",
    )
    assert capacity_notes(pool("a2-highgpu-1g")) == ()
    assert capacity_notes(pool("ct6e-standard-4t", "4x4", capacity="flex-start")) == (
        "uses the preemptible quota of its accelerators",
        "nodes expire after at most 7 days",
    )
    assert capacity_notes(pool("ct6e-standard-4t", "4x4")) == (
        "a node upgrade recreates whole slices; a maintenance exclusion postpones it",
    )


# --- pools that GKE makes ---------------------------------------------------------------------------------------------


def test_an_auto_provisioned_pool_cannot_have_a_minimum() -> None:
    kept = pool("g2-standard-4", auto_provisioned=True, autoscaled=True, nodes=Bounds(min=2, max=8))
    assert message(kept) == (
        "nodes: a minimum of '2' nodes is impossible with auto-provisioning, which removes idle pools; write min: 0"
    )
    counted_on = pool("g2-standard-4", auto_provisioned=True, nodes=Bounds(min=8, max=8))
    assert codes(counted_on) == set()


def test_an_auto_provisioned_queued_pool_needs_no_bounds() -> None:
    """System C without a pool: the number says what the fleet counts on."""
    assert (
        codes(pool("a2-highgpu-1g", capacity="queued", auto_provisioned=True, nodes=FIXED, autoscaled=False)) == set()
    )


@pytest.mark.parametrize(
    ("key", "changes"),
    [
        ("surge", {"surge": SurgeSpec.model_construct(max_surge=1)}),
        ("localSsd", {"local_ssd": ephemeral_ssds(1)}),
        ("diskSizeGb", {"disk_size_gb": 200}),
        ("driverVersion", {"driver_version": "disabled"}),
    ],
)
def test_settings_of_one_pool_are_faults_on_auto_provisioned_pools(key: str, changes: dict[str, Any]) -> None:
    made: tuple[dict[str, Any], ...] = ({"auto_provisioned": True}, {"cluster": AUTOPILOT})
    for where in made:
        (violation,) = pool_violations(pool("g2-standard-4", **changes, **where))
        assert (violation.code, violation.key) == ("gke-setting", key)
    assert codes(pool("g2-standard-4", **changes)) == set()
    assert codes(pool("g2-standard-4", **changes, auto_provisioned=True, compute_class=True)) == set()


def test_auto_provisioning_of_a_machine_that_needs_its_name_is_a_warning() -> None:
    assert codes(pool("g4-standard-6", auto_provisioned=True), Severity.WARNING) == {"explicit-only"}
    assert codes(pool("g4-standard-6", auto_provisioned=True, compute_class=True)) == set()
    assert codes(pool("g4-standard-6")) == set()


def test_an_auto_provisioned_nvlink_domain_is_a_warning() -> None:
    request = pool("a4x-highgpu-4g", capacity="reservation", auto_provisioned=True)
    assert codes(request, Severity.WARNING) == {"gke-domain"}


def test_queued_capacity_on_autopilot_is_a_warning() -> None:
    request = pool("a2-highgpu-1g", capacity="queued", cluster=AUTOPILOT)
    assert codes(request, Severity.WARNING) == {"autopilot-queued"} == codes(request)
    assert codes(pool("ct6e-standard-4t", capacity="flex-start", cluster=AUTOPILOT)) == set()


def test_a_minimum_above_the_maximum_is_rejected() -> None:
    assert codes(pool("a2-highgpu-1g", nodes=Bounds(min=5, max=3))) == {"bad-size"}
