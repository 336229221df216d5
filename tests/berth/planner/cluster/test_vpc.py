"""The VPC of a cluster: created by the fleet, or existing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from berth.engine import run_program
from berth.plan.gke import ExistingNetworkPlan, NetworkPlan
from tests import small_fleets as small
from tests.stack_files import ROOT

EXISTING: dict[str, Any] = {
    "existing": "prod",
    "subnetwork": "gke-us",
    "podRangeName": "gke-pods",
    "serviceRangeName": "gke-services",
}


def of_network(**changes: Any) -> dict[str, Any]:
    return small.fleet_with({"cluster.network": {**EXISTING, **changes}})


def test_an_existing_vpc_is_taken_by_its_path() -> None:
    assert small.own_cluster(small.plan(of_network())).network == ExistingNetworkPlan(
        network="projects/acme-ml-dev/global/networks/prod",
        subnetwork="projects/acme-ml-dev/regions/us-central1/subnetworks/gke-us",
        pod_range_name="gke-pods",
        service_range_name="gke-services",
    )


def test_a_shared_vpc_is_in_its_host_project() -> None:
    network = small.own_cluster(small.plan(of_network(project="acme-host"))).network
    assert isinstance(network, ExistingNetworkPlan)
    assert network.network == "projects/acme-host/global/networks/prod"
    assert network.subnetwork == "projects/acme-host/regions/us-central1/subnetworks/gke-us"


def test_without_a_network_the_fleet_creates_one() -> None:
    assert isinstance(small.own_cluster(small.plan(small.fleet_with())).network, NetworkPlan)


def test_addresses_of_an_existing_vpc_are_its_owners_to_count() -> None:
    """As many nodes would not fit into the ranges that a fleet's own VPC has by default."""
    many = {"pools.l4.nodes": {"max": 5000}}
    assert small.faults(small.fleet_with(many)) == [
        "range-too-small cluster.network.nodeCidrBlock",
        "range-too-small cluster.network.podCidrBlock",
    ]
    assert small.faults(small.fleet_with(many, base=of_network())) == []


@pytest.mark.parametrize("preview", [True, False], ids=["preview", "update"])
def test_no_network_is_created_with_an_existing_one(preview: bool) -> None:
    config: dict[str, object] = {"pulumi:disable-default-providers": ["*"]}
    made = run_program(ROOT, "shared", json.loads(json.dumps(of_network())), config, preview=preview).resources
    assert [each.name for each in made if "compute/" in each.type or each.type == "berth:gke:Network"] == []
    (cluster,) = (each.inputs for each in made if each.name == "cluster-cluster")
    assert cluster["network"] == "projects/acme-ml-dev/global/networks/prod"
    assert cluster["subnetwork"] == "projects/acme-ml-dev/regions/us-central1/subnetworks/gke-us"
    assert cluster["ipAllocationPolicy"] == {
        "clusterSecondaryRangeName": "gke-pods",
        "servicesSecondaryRangeName": "gke-services",
    }
