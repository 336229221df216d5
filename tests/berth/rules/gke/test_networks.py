"""Networks of accelerators: GKE docs: TPUs, GPUDirect."""

from __future__ import annotations

from typing import Any

import pytest

from berth import catalog
from berth.diagnostics import Severity
from berth.rules.gke.networks import NetworkNeeds, network_labels, network_needs
from berth.rules.gke.pool_request import ClusterFeatures
from tests.berth.rules.gke.pool_requests import ZONE, codes, message, pool

MACHINES = [m.name for m in catalog.machines().values() if m.status != "unsupported"]


def needs(name: str, network: Any) -> NetworkNeeds:
    """What a machine's pool wants in this mode."""
    return network_needs(pool(name, networking=network))


@pytest.mark.parametrize(
    ("name", "mode", "own_vpcs", "rdma"),
    [
        ("a3-highgpu-8g", "tcpx", 4, 0),
        ("a3-megagpu-8g", "tcpxo", 8, 0),
        ("a3-ultragpu-8g", "rdma", 1, 8),
        ("a4-highgpu-8g", "rdma", 1, 8),
    ],
)
def test_gpudirect_needs_the_networks_of_its_type(name: str, mode: str, own_vpcs: int, rdma: int) -> None:
    """Checklist 6: a3-high-8g 4, a3-mega 8, a3-ultra and a4 1+8."""
    result = needs(name, "gpudirect")
    assert (result.mode, result.own_vpcs, result.rdma_subnetworks) == (mode, own_vpcs, rdma)
    assert result.additional_networks == own_vpcs + rdma
    assert (result.profile, result.nccl) == (None, mode)


@pytest.mark.parametrize("name", MACHINES)
def test_dranet_is_accepted_on_newer_machines_a_warning_on_a3_and_a_fault_elsewhere(name: str) -> None:
    """The autoscaler accepts the profile for all a3 (1.5); the documentation lists it from a3-ultra on (2.4)."""
    new = name.startswith(("a3-ultra", "a4", "ct6e", "tpu7x"))
    old = name.startswith(("a3-highgpu-8g", "a3-edge", "a3-mega"))
    request = codes(pool(name, networking="dranet")) - {"capacity-doubtful"}
    assert request == (set() if new else {"dranet-doubtful"} if old else {"dranet-not-offered"})
    assert needs(name, "dranet").mode == ("dranet" if new or old else "none")


def test_dranet_needs_no_additional_network() -> None:
    assert needs("a4-highgpu-8g", "dranet") == NetworkNeeds(mode="dranet", profile="auto", nccl="rdma")
    assert needs("ct6e-standard-4t", "dranet") == NetworkNeeds(mode="dranet", profile="auto")
    assert network_labels(pool("a4-highgpu-8g", networking="dranet")) == {
        "cloud.google.com/gke-networking-dra-driver": "true"
    }


@pytest.mark.parametrize("name", [n for n in MACHINES if not pool(n).machine.additional_networks])
def test_gpudirect_is_refused_where_the_machine_has_none(name: str) -> None:
    """a4x has RDMA, but its networks come from the profile, and the message names it."""
    request = codes(pool(name, networking="gpudirect"), Severity.FAULT)
    assert request == {"gpudirect-not-offered"}
    assert needs(name, "gpudirect") == NetworkNeeds()


def test_a4x_without_dranet_gets_a_fault_that_names_dranet() -> None:
    request = pool("a4x-highgpu-4g", capacity="reservation", networking="gpudirect")
    assert message(request).endswith("is not available for a4x-highgpu-4g; write dranet")


@pytest.mark.parametrize(
    ("zones", "named"),
    [((), "the pool names none"), ((ZONE, "us-central1-b"), f"the pool names 2 ({ZONE}, us-central1-b)")],
)
def test_rdma_pools_have_the_zone_of_their_vpc_and_tcp_pools_any(zones: tuple[str, ...], named: str) -> None:
    """A network profile is a zone's; VPCs of TCPX and TCPXO have subnets of the region."""
    assert message(pool("a3-ultragpu-8g", capacity="spot", networking="gpudirect", zones=zones)) == (
        f"zones: 'gpudirect' of a3-ultragpu-8g needs one zone, but {named}; write a pool for each zone"
    )
    for name in ("a3-highgpu-8g", "a3-megagpu-8g"):
        assert codes(pool(name, networking="gpudirect", zones=zones)) == set()


def test_a_flavor_distinguishes_rdma_by_zone() -> None:
    """Pods name networks of one zone, so they must not land in another."""
    assert network_labels(pool("a4-highgpu-8g", networking="gpudirect")) == {"topology.kubernetes.io/zone": ZONE}
    assert network_labels(pool("a3-megagpu-8g", networking="gpudirect")) == {}


@pytest.mark.parametrize("name", MACHINES)
def test_a_pool_without_a_mode_needs_nothing(name: str) -> None:
    assert needs(name, "none") == NetworkNeeds()
    assert not codes(pool(name, cluster=ClusterFeatures()), Severity.FAULT)
