"""The networks of GPUDirect, in Google Cloud and as pods of a cluster know them."""

from __future__ import annotations

from functools import cache
from ipaddress import ip_network
from typing import Any, cast

import pulumi_kubernetes as kubernetes
import pytest

from berth.manifests.gke import network_parameters, pod_network
from berth.plan.node_settings import AcceleratorNetworksPlan
from components.gke.accelerator_networks import AcceleratorNetworks
from components.gke.cluster_networks import ClusterNetworks
from components.gke.node_pool import NodePool
from tests.components.gke.capacity_plans import POOLS, RDMA, tcp_networks
from tests.components.gke.plans import google
from tests.engine import Run, both_modes, broken_rules, run, using

TCPX, TCPXO = tcp_networks("tcpx", 4), tcp_networks("tcpxo", 8)
sets = pytest.mark.parametrize("plan", [TCPX, TCPXO, RDMA], ids=["tcpx", "tcpxo", "rdma"])


@cache
def made(plan: AcceleratorNetworksPlan, preview: bool = False) -> Run:
    """Networks, the objects for them and a pool that has interfaces in them; one run for all tests that read it."""

    def build() -> None:
        provider = google()
        networks = AcceleratorNetworks(plan.key, plan, opts=using(provider))
        inside = kubernetes.Provider("kubernetes", kubeconfig="{}")
        ClusterNetworks(f"{plan.key}-objects", plan, opts=using(inside), devices=networks.devices)
        NodePool(
            "pool",
            POOLS["rdma"],
            cluster="dev",
            location="us-central1",
            service_account="n",
            interfaces=networks.interfaces,
            opts=using(provider),
        )

    return run(build, preview)


@both_modes
@sets
def test_networks_keep_the_rules_of_every_component(plan: AcceleratorNetworksPlan, preview: bool) -> None:
    assert broken_rules(made(plan, preview)) == []


@sets
def test_ranges_of_accelerators_never_overlap(plan: AcceleratorNetworksPlan) -> None:
    """Of the plans here; a node has an interface in each, and two routes to one address would be a fault."""
    subnets = made(plan).resources_of("compute/subnetwork:Subnetwork")
    ranges = [ip_network(str(one.inputs["ipCidrRange"])) for one in subnets]
    assert not [1 for at, one in enumerate(ranges) for other in ranges[:at] if one.overlaps(other)]


@pytest.mark.parametrize(("plan", "count"), [(TCPX, 4), (TCPXO, 8)], ids=["tcpx", "tcpxo"])
def test_every_tcp_interface_has_a_vpc_of_its_own_with_large_packets(plan: AcceleratorNetworksPlan, count: int) -> None:
    done = made(plan)
    vpcs = done.resources_of("compute/network:Network")
    assert [one.inputs["mtu"] for one in vpcs] == [8244] * count
    assert {one.inputs["autoCreateSubnetworks"] for one in vpcs} == {False}
    assert len(done.resources_of("compute/subnetwork:Subnetwork")) == count
    assert not [one for one in vpcs if "networkProfile" in one.inputs]


def test_rdma_is_one_vpc_with_the_zones_profile_and_a_subnet_for_each_card() -> None:
    done = made(RDMA)
    gvnic, rdma = done.resources_of("compute/network:Network")
    profile = "projects/acme-ml-dev/global/networkProfiles/us-central1-a-vpc-roce"
    assert (gvnic.inputs.get("networkProfile"), rdma.inputs["networkProfile"]) == (None, profile)
    assert rdma.inputs["mtu"] == 8896
    subnets = [one for one in done.resources_of("compute/subnetwork:Subnetwork") if rdma.urn in one.dependencies]
    assert len(subnets) == 8


def test_every_vpc_with_firewall_rules_allows_traffic_between_nodes() -> None:
    """A new VPC lets nothing in; one with an RDMA profile takes no rules."""
    (rule,) = made(RDMA).resources_of("compute/firewall:Firewall")
    assert rule.inputs["sourceRanges"] == ["10.100.0.0/20"]
    assert [each["protocol"] for each in cast(Any, rule.inputs["allows"])] == ["icmp", "tcp", "udp"]
    assert len(made(TCPX).resources_of("compute/firewall:Firewall")) == 4


@both_modes
@sets
def test_a_pool_has_an_interface_in_every_subnet_in_the_plans_order(
    plan: AcceleratorNetworksPlan, preview: bool
) -> None:
    """By names, as GKE reports them: by any other spelling the provider would replace the pool."""
    pool = made(plan, preview).only_resource("container/nodePool:NodePool")
    assert cast(Any, pool.inputs["networkConfig"])["additionalNodeNetworkConfigs"] == [
        {"network": vpc.name, "subnetwork": subnet.name} for vpc in plan.vpcs for subnet in vpc.subnets
    ]


@sets
def test_a_pool_is_created_after_its_subnets_and_deleted_first(plan: AcceleratorNetworksPlan) -> None:
    done = made(plan)
    needed = done.only_resource("container/nodePool:NodePool").property_dependencies["networkConfig"]
    assert {one.urn for one in done.resources_of("compute/subnetwork:Subnetwork")} <= set(needed)


# --- in the cluster ---------------------------------------------------------------------------------------------------


@both_modes
@sets
def test_pods_find_every_interface_by_its_name(plan: AcceleratorNetworksPlan, preview: bool) -> None:
    done = made(plan, preview)
    parameters = {
        cast(Any, one.inputs["metadata"])["name"]: one.inputs for one in done.resources_of("GKENetworkParamSet")
    }
    assert parameters == {
        subnet.device: network_parameters(subnet, vpc.name) for vpc in plan.vpcs for subnet in vpc.subnets
    }


def test_a_network_refers_to_the_parameters_of_its_name() -> None:
    card = RDMA.vpcs[1].subnets[3]
    named = pod_network(card)
    assert named["spec"] == {
        "type": "Device",
        "parametersRef": {"group": "networking.gke.io", "kind": "GKENetworkParamSet", "name": "rdma-3"},
    }
    assert network_parameters(card, "dev-rdma")["spec"] == {
        "vpc": "dev-rdma",
        "vpcSubnet": "dev-rdma-3",
        "deviceMode": "RDMA",
    }


def test_networks_are_deleted_before_their_parameters_and_these_before_the_vpc() -> None:
    """GKE keeps parameters that are in use, and Google a VPC."""
    done = made(RDMA)
    for card in done.resources_of("networking.gke.io/v1:Network"):
        name = cast(Any, card.inputs["metadata"])["name"]
        parameters = done.only_resource("GKENetworkParamSet", f"rdma-objects-{name}-parameters")
        assert parameters.urn in card.dependencies
        assert {one.type for one in done.resources if one.urn in parameters.property_dependencies["spec"]} == {
            "gcp:compute/network:Network",
            "gcp:compute/subnetwork:Subnetwork",
        }
