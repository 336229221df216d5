"""Networks of accelerators: facts 1.5 and 2.4, checklist 6."""

from __future__ import annotations

from typing import Any

import pytest

from stacks import accelerators
from stacks.rules.asked import ClusterAsked
from stacks.rules.networks import NetworkNeeds, network_labels, network_needs
from tests.stacks.rules_pools import codes, message, pool

MACHINES = [m.name for m in accelerators.machines().values() if m.status != "unsupported"]


def needs(name: str, network: Any) -> NetworkNeeds:
    """What a machine's pool wants in this mode."""
    return network_needs(pool(name, network=network))


@pytest.mark.parametrize(
    ("name", "mode", "own_vpcs", "rdma"),
    [
        ("a3-highgpu-8g", "tcpx", 4, 0),
        ("a3-megagpu-8g", "tcpxo", 8, 0),
        ("a3-ultragpu-8g", "rdma", 1, 8),
        ("a4-highgpu-8g", "rdma", 1, 8),
    ],
)
def test_gpudirect_wants_the_networks_of_its_kind(name: str, mode: str, own_vpcs: int, rdma: int) -> None:
    """Checklist 6: a3-high-8g 4, a3-mega 8, a3-ultra and a4 1+8; all with multi-networking and Dataplane V2."""
    found = needs(name, "gpudirect")
    assert (found.mode, found.own_vpcs, found.rdma_subnetworks) == (mode, own_vpcs, rdma)
    assert found.additional_networks == own_vpcs + rdma
    assert found.multi_networking and found.dataplane_v2 and found.gvnic and found.network_objects
    assert found.profile is None
    assert found.installer


@pytest.mark.parametrize("name", MACHINES)
def test_dranet_is_of_newer_machines_doubtful_on_older_a3_and_refused_elsewhere(name: str) -> None:
    """The autoscaler accepts the profile for all a3 (1.5); the documentation lists it from a3-ultra on (2.4)."""
    new = name.startswith(("a3-ultra", "a4", "ct6e", "tpu7x"))
    old = name.startswith(("a3-highgpu-8g", "a3-edge", "a3-mega"))
    found = codes(pool(name, network="dranet")) - {"capacity-doubtful"}
    assert found == (set() if new else {"dranet-doubtful"} if old else {"dranet-not-offered"})
    assert needs(name, "dranet").mode == ("dranet" if new or old else "none")


def test_dranet_wants_dataplane_v2_and_no_network_of_one_s_own() -> None:
    assert needs("a4-highgpu-8g", "dranet") == NetworkNeeds(
        mode="dranet", dataplane_v2=True, profile="auto", claim_templates=True
    )
    assert network_labels(pool("a4-highgpu-8g", network="dranet")) == {
        "cloud.google.com/gke-networking-dra-driver": "true"
    }


def test_dranet_excludes_additional_networks() -> None:
    assert message(pool("a3-ultragpu-8g", capacity="spot", network="dranet", additional_networks=9)) == (
        "network: 'dranet' makes its networks itself, and 9 additional ones are named; "
        "leave them out, or write gpudirect"
    )


@pytest.mark.parametrize("name", [n for n in MACHINES if not pool(n).machine.additional_networks])
def test_gpudirect_is_refused_where_the_machine_has_none(name: str) -> None:
    """a4x has RDMA, but takes its networks from the profile: it is told so."""
    found = codes(pool(name, network="gpudirect"), "fault")
    assert found == {"gpudirect-not-offered"}
    assert needs(name, "gpudirect") == NetworkNeeds()


def test_a4x_is_told_to_use_dranet() -> None:
    asked = pool("a4x-highgpu-4g", capacity="reservation", network="gpudirect")
    assert message(asked).endswith("does not exist for a4x-highgpu-4g; write dranet")


@pytest.mark.parametrize(
    ("name", "count", "wanted"),
    [
        ("a3-highgpu-8g", 8, "write 4 networks, each in a VPC of its own"),
        ("a3-ultragpu-8g", 8, "write 1 gVNIC network and 8 subnetworks of one RDMA VPC"),
    ],
)
def test_too_few_or_too_many_networks_are_counted(name: str, count: int, wanted: str) -> None:
    right = pool(name).machine.additional_networks
    assert message(pool(name, capacity="spot", network="gpudirect", additional_networks=count)).endswith(wanted)
    assert codes(pool(name, capacity="spot", network="gpudirect", additional_networks=right)) == set()


def test_every_mode_needs_dataplane_v2_and_gpudirect_multi_networking_too() -> None:
    bare, half = ClusterAsked(), ClusterAsked(dataplane_v2=True)
    gpudirect = pool("a3-megagpu-8g", network="gpudirect", cluster=half)
    assert message(gpudirect) == (
        "network: 'gpudirect' needs multi-networking, and the cluster has none; switch it on, or leave network out"
    )
    assert codes(pool("ct6e-standard-4t", network="dranet", cluster=half)) == set()
    assert message(pool("ct6e-standard-4t", network="dranet", cluster=bare)) == (
        "network: 'dranet' needs Dataplane V2, and the cluster has none; switch it on, or leave network out"
    )


@pytest.mark.parametrize("name", MACHINES)
def test_a_pool_without_a_mode_needs_nothing(name: str) -> None:
    assert needs(name, "none") == NetworkNeeds()
    assert not codes(pool(name, cluster=ClusterAsked()), "fault")
