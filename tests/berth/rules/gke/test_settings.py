"""What follows from a capacity: settings, labels and taints (GKE docs: DWS, Google provider: NodePool)."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from berth.plan.node_settings import DRAIN_FIRST, SURGE_ONE, Bounds
from berth.rules.gke.reservations import ReservationAffinity
from berth.rules.gke.settings import (
    NodePoolSettings,
    capacity_labels,
    gke_capacity_taints,
    node_pool_settings,
    upgrade_surge,
)
from berth.spec.machines.node_system import SurgeSpec
from tests.berth.rules.gke.pool_requests import NAMED, ZONE, pool

DWS = pytest.mark.parametrize("capacity", ["flex-start", "queued"])


def of(name: str, topology: str | None = None, **changes: Any) -> NodePoolSettings:
    """The settings of the pool's one node pool."""
    request = pool(name, topology, **changes)
    return node_pool_settings(request, request.nodes)


def surge(name: str, topology: str | None = None, **changes: Any) -> SurgeSpec | None:
    """How the pool is upgraded."""
    return upgrade_surge(pool(name, topology, **changes))


@DWS
def test_a_dws_pool_scales_from_zero_in_any_zone_without_repair_upgrade_or_reservation(capacity: str) -> None:
    result = of("a2-highgpu-1g", capacity=capacity, nodes=Bounds(min=0, max=8))
    assert (result.total, result.per_zone, result.nodes_per_zone) == (Bounds(min=0, max=8), None, None)
    assert (result.location_policy, result.auto_repair) == ("ANY", False)
    assert surge("a2-highgpu-1g", capacity=capacity) is None
    assert result.affinity == ReservationAffinity(type="NO_RESERVATION")
    assert (result.flex_start, result.queued, result.spot) == (True, capacity == "queued", False)


@DWS
def test_a_dws_pool_of_slices_is_bounded_per_zone(capacity: str) -> None:
    """The provider's total form breaks flex-start of TPUs."""
    result = of("ct6e-standard-4t", "4x4", capacity=capacity)
    assert (result.per_zone, result.total) == (Bounds(min=0, max=4), None)
    spread = of("ct6e-standard-1t", capacity=capacity, zones=("us-east5-a", "us-east5-b"), nodes=Bounds(min=0, max=6))
    assert spread.per_zone == Bounds(min=0, max=3)


def test_a_queued_pool_is_labelled_by_berth_and_tainted_by_gke() -> None:
    result = of("a2-highgpu-1g", capacity="queued")
    assert result.labels == (("cloud.google.com/gke-queued", "true"),)
    assert [(t.key, t.value, t.effect) for t in gke_capacity_taints(pool("a2-highgpu-1g", capacity="queued"))] == [
        ("cloud.google.com/gke-queued", "true", "NoSchedule")
    ]
    assert of("a2-highgpu-1g", capacity="flex-start").labels == ()
    assert gke_capacity_taints(pool("a2-highgpu-1g", capacity="flex-start")) == ()


def test_a_queued_pool_of_an_older_cluster_has_only_queued_provisioning() -> None:
    request = pool("a2-highgpu-1g", capacity="queued")
    assert node_pool_settings(request, request.nodes, flex_start_known=False).flex_start is False
    flex = pool("a2-highgpu-1g", capacity="flex-start")
    assert node_pool_settings(flex, flex.nodes, flex_start_known=False).flex_start is True


def test_a_run_duration_belongs_to_flex_start_and_not_to_queued_requests() -> None:
    """engine.md: the API takes seconds with a suffix, and the preview takes anything."""
    flex = of("a2-highgpu-1g", capacity="flex-start", max_run_seconds=604800)
    assert (flex.max_run_duration, flex.request_parameters) == ("604800s", ())
    queued = of("ct6e-standard-4t", "4x4", capacity="queued", max_run_seconds=3600)
    assert queued.max_run_duration is None
    assert queued.request_parameters == (("tpu-topology", "4x4"),)


def test_a_fixed_pool_counts_per_zone_and_an_autoscaled_one_in_all() -> None:
    fixed = of("g2-standard-4", zones=(ZONE, "us-central1-b"), nodes=Bounds(min=6, max=6))
    assert (fixed.nodes_per_zone, fixed.total, fixed.location_policy) == (3, None, None)
    scaled = of("g2-standard-4", nodes=Bounds(min=1, max=6))
    assert (scaled.nodes_per_zone, scaled.total, scaled.location_policy) == (None, Bounds(min=1, max=6), "ANY")
    assert of("ct6e-standard-4t", "4x4", nodes=Bounds(min=0, max=4)).total == Bounds(min=0, max=4)


def test_an_ordinary_pool_is_repaired() -> None:
    assert of("g2-standard-4").auto_repair is True


def test_the_stack_file_sets_upgrades_except_for_nvlink_domains() -> None:
    mine = SurgeSpec.model_construct(max_surge=2)
    assert surge("g2-standard-4", surge=mine) == mine
    assert surge("g2-standard-4") == SURGE_ONE
    assert surge("g2-standard-4", capacity="flex-start", surge=mine) is None
    domain = surge("a4x-highgpu-4g", nodes=Bounds(min=18, max=18))
    assert domain == SurgeSpec.model_construct(max_surge=0, max_unavailable=18)


def test_an_upgrade_never_needs_an_unavailable_surge_node() -> None:
    """A surge node of a full reservation, or of a slice whose hosts are wired together, would never come."""
    reserved = surge("g2-standard-4", capacity="reservation", reservation=NAMED)
    assert reserved == surge("ct6e-standard-4t", "4x4") == DRAIN_FIRST
    assert surge("ct6e-standard-4t", "2x2") == SURGE_ONE


@pytest.mark.parametrize(
    ("capacity", "labels"),
    [
        ("on-demand", {}),
        ("spot", {"cloud.google.com/gke-spot": "true"}),
        ("flex-start", {"cloud.google.com/gke-flex-start": "true"}),
        ("queued", {"cloud.google.com/gke-queued": "true"}),
        ("reservation", {"cloud.google.com/reservation-name": "held"}),
    ],
)
def test_a_flavor_distinguishes_capacity_by_label(capacity: str, labels: dict[str, str]) -> None:
    assert capacity_labels(pool("a2-highgpu-1g", capacity=capacity)) == labels


def test_spot_is_a_setting_of_the_pool() -> None:
    assert of("a2-highgpu-1g", capacity="spot").spot is True
    reserved = of("a2-highgpu-1g", capacity="reservation", reservation=replace(NAMED, form="own"))
    assert (reserved.spot, reserved.affinity.value) == (False, "held")
