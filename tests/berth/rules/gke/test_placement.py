"""Placement of slices and of compact pools. The matrix of machines and capacities has a file of its own."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from berth import catalog
from berth.plan.node_settings import DRAIN_FIRST, SURGE_ONE, Bounds
from berth.rules.gke.placement import Placement, WorkloadPolicyRequest, domain_surge, placement
from berth.spec.machines.node_system import SurgeSpec
from tests.berth.rules.gke.pool_requests import AUTOPILOT, ZONE, codes, message, pool

GPUS = [m.name for m in catalog.machines().values() if m.kind == "gpu"]
TPUS = [m.name for m in catalog.machines().values() if m.kind == "tpu" and m.status != "unsupported"]
TWO_ZONES = (ZONE, "us-central1-b")

# --- TPU slices ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TPUS)
def test_a_slice_of_one_host_has_no_placement(name: str) -> None:
    assert placement(pool(name)) == Placement()


@pytest.mark.parametrize("name", [n for n in TPUS if pool(n).machine.multi_host and n.split("-")[0] != "tpu7x"])
def test_a_slice_of_several_hosts_is_compact_with_its_topology(name: str) -> None:
    topology = catalog.slice_topologies(pool(name).machine)[2]
    hosts = pool(name, topology).nodes.max
    assert placement(pool(name, topology)) == Placement(
        type="COMPACT", tpu_topology=topology, one_zone=True, max_nodes=hosts, atomic_nodes=hosts
    )


@pytest.mark.parametrize("name", ["tpu7x-standard-4t", "tpu7x-ultranet-4t"])
def test_a_tpu7x_slice_of_several_hosts_has_a_workload_policy_of_its_topology(name: str) -> None:
    """Sent as Google's Terraform blueprint does: type, policy's name and topology together."""
    request = placement(pool(name, "2x2x2"))
    assert request == Placement(
        type="COMPACT",
        tpu_topology="2x2x2",
        policy=WorkloadPolicyRequest(accelerator_topology="2x2x2"),
        one_zone=True,
        max_nodes=2,
        atomic_nodes=2,
    )
    assert (request.policy and request.policy.type) == "HIGH_THROUGHPUT"


@settings(deadline=None)
@given(st.sampled_from([n for n in TPUS if pool(n).machine.multi_host]), st.data())
def test_every_slice_is_placed_as_one_atomic_pool_of_its_hosts(name: str, data: st.DataObject) -> None:
    topology = data.draw(st.sampled_from(catalog.slice_topologies(pool(name).machine)))
    request = pool(name, topology)
    assert request.shape is not None
    result = placement(request)
    assert (result.atomic_nodes or 1) * request.machine.accelerators == request.shape.chips
    assert (result.type is None) == (request.shape.hosts == 1) == (not result.one_zone)


def test_compact_placement_of_one_tpu_host_is_refused() -> None:
    assert message(pool("ct6e-standard-8t", compact_placement=True)) == (
        "placement: 'compact' has no effect on 2x4, a slice of one host; remove compactPlacement"
    )
    assert codes(pool("ct6e-standard-4t", "2x4", compact_placement=True)) == set()


def test_a_slice_has_exactly_one_zone() -> None:
    assert message(pool("ct6e-standard-4t", "4x4", zones=TWO_ZONES)) == (
        "zones: a slice of 4 hosts is in exactly one zone, but the pool names 2 (us-central1-a, "
        "us-central1-b); write one zone"
    )
    assert codes(pool("ct6e-standard-4t", "4x4", zones=())) == {"slice-zone"}
    assert codes(pool("ct6e-standard-4t", "4x4", zones=(), auto_provisioned=True)) == set()


@pytest.mark.parametrize(
    ("region", "zones", "remedy"),
    [
        ("us-east5", (), "write one zone: us-east5-a or us-east5-b"),
        ("us-east5", ("us-east5-a", "us-east5-b"), "write one zone: us-east5-a or us-east5-b"),
        ("us-east5", ("us-east5-x", "us-east5-b"), "write one zone: us-east5-b"),
        ("mars-north1", (), "write one zone"),
        ("", (), "write one zone"),
    ],
)
def test_a_slice_without_one_zone_gets_the_zones_that_list_its_machine(
    region: str, zones: tuple[str, ...], remedy: str
) -> None:
    assert message(pool("ct6e-standard-4t", "4x4", region=region, zones=zones)).rpartition("; ")[2] == remedy
    assert codes(pool("ct6e-standard-4t", zones=TWO_ZONES)) == set()


@settings(deadline=None)
@given(st.sampled_from(["2x2", "2x4", "4x4", "8x8"]), st.integers(0, 8))
def test_any_number_of_whole_slices_is_accepted(topology: str, slices: int) -> None:
    hosts = pool("ct6e-standard-4t", topology).nodes.max
    request = pool("ct6e-standard-4t", topology, nodes=Bounds(min=slices * hosts, max=slices * hosts))
    assert codes(request) == set()


# --- compact GPU pools -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in GPUS if pool(n).machine.compact_max_nodes])
def test_a_compact_gpu_pool_has_one_zone_and_the_family_s_bound(name: str) -> None:
    request = placement(pool(name, compact_placement=True))
    most = {"a2": 150, "a3": 96, "a4": 1500, "g2": 150, "g4": 1500}[name.split("-")[0]]
    assert request == Placement(type="COMPACT", one_zone=True, max_nodes=most)
    assert placement(pool(name)) == Placement()


@pytest.mark.parametrize("name", ["n1", "ct6e-standard-8t"])
def test_machines_without_compact_placement_get_none(name: str) -> None:
    assert placement(pool(name, compact_placement=True)) == Placement()


@pytest.mark.parametrize("zones", [(), TWO_ZONES])
def test_a_compact_gpu_pool_has_a_single_zone(zones: tuple[str, ...]) -> None:
    assert codes(pool("a2-highgpu-8g", compact_placement=True, zones=zones, auto_provisioned=True)) == set()
    assert codes(pool("a2-highgpu-8g", compact_placement=True, zones=zones)) == {"compact-zones"}
    assert codes(pool("a2-highgpu-8g", zones=zones)) == set()


@pytest.mark.parametrize(("name", "most"), [("a2-highgpu-8g", 150), ("a3-highgpu-8g", 96), ("g4-standard-96", 1500)])
def test_a_compact_gpu_pool_has_no_more_nodes_than_its_family_holds(name: str, most: int) -> None:
    assert codes(pool(name, compact_placement=True, nodes=Bounds(min=0, max=most))) == set()
    assert message(pool(name, compact_placement=True, nodes=Bounds(min=0, max=most + 1))) == (
        f"nodes: '{most + 1}' nodes are more than the maximum of {most} for compact placement of {name}; "
        f"write at most {most}, or several pools"
    )


@pytest.mark.parametrize(
    "name", [n for n in GPUS if pool(n).machine.compact_max_nodes and pool(n).machine.supports_dws]
)
def test_compact_goes_with_flex_start_on_a3_ultra_and_a4_alone_and_with_no_queue(name: str) -> None:
    dense = name.startswith(("a3-ultragpu", "a4-"))
    assert ("compact-capacity" in codes(pool(name, compact_placement=True, capacity="flex-start"))) != dense
    assert "compact-capacity" in codes(pool(name, compact_placement=True, capacity="queued"))
    assert "write a capacity that has it: on-demand, spot, any-reservation" in message(
        pool(name, compact_placement=True, capacity="queued")
    )


def test_attached_gpus_are_not_placed_compact() -> None:
    assert message(pool("n1", compact_placement=True)) == (
        "placement: 'compact' placement is not available for n1-standard-4; remove compactPlacement"
    )


# --- NVLink domains ---------------------------------------------------------------------------------------------------


def test_an_nvlink_domain_has_a_workload_policy_of_its_own() -> None:
    request = placement(pool("a4x-highgpu-4g"))
    assert request == Placement(
        type="COMPACT", policy=WorkloadPolicyRequest(accelerator_topology="1x72"), one_zone=True, max_nodes=18
    )


def test_an_nvlink_domain_is_upgraded_as_a_whole_without_spare_nodes() -> None:
    """Facts 2.2: SURGE, max_surge 0, max_unavailable the nodes of the slice."""
    request = pool("a4x-highgpu-4g", capacity="reservation", nodes=Bounds(min=18, max=18))
    assert domain_surge(request) == SurgeSpec.model_construct(max_surge=0, max_unavailable=18)
    assert message(pool("a4x-highgpu-4g", capacity="reservation", surge=SURGE_ONE)) == (
        "surge: 'SURGE maxSurge 1 maxUnavailable 0' is impossible with a 1x72 domain of a4x-highgpu-4g, which is "
        "upgraded as a whole; remove surge, which is SURGE maxSurge 0 maxUnavailable 1 by default"
    )
    right = pool("a4x-highgpu-4g", capacity="reservation", surge=DRAIN_FIRST)
    assert codes(right) == set()


def test_an_nvlink_domain_has_one_zone_and_18_nodes() -> None:
    request = pool("a4x-highgpu-4g", capacity="reservation", nodes=Bounds(min=19, max=19))
    assert codes(request) == {"domain-nodes"}
    assert codes(replace(request, nodes=Bounds(min=18, max=18))) == set()
    assert "compact-zones" in codes(pool("a4x-highgpu-4g", capacity="on-demand", zones=TWO_ZONES))
    assert "compact-zones" not in codes(pool("a4x-highgpu-4g", zones=(), cluster=AUTOPILOT))
