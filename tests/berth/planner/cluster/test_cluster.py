"""The cluster: its network and control plane, who its nodes are, what GKE may make by itself."""

from __future__ import annotations

import re
from ipaddress import IPv4Network
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from berth.names import is_gke_name, is_service_account_id
from berth.plan.gke import AuthorizedNetwork, ClusterPlan, NodePoolPlan, ResourceLimit
from berth.plan.node_settings import Bounds
from tests.small_fleets import REMOVED, faults, fleet_with, own_cluster, own_network, plan, run_planner

ZONES = ["us-central1-c", "us-central1-a", "us-central1-b"]
LIMITS = {"cpu": {"max": 1000}, "memory": {"min": 16, "max": 4000}, "accelerators": {"nvidia-l4": 8}}
AUTOPILOT: dict[str, Any] = {"cluster.mode": "autopilot"}


def cluster(change: dict[str, Any] | None = None) -> ClusterPlan:
    """The cluster of the small fleet, changed."""
    return own_cluster(plan(fleet_with(change)))


def system_pool(change: dict[str, Any]) -> NodePoolPlan:
    """Its system pool."""
    fleet_plan = plan(fleet_with(change)).system_pool
    assert fleet_plan is not None
    return fleet_plan


# --- names and labels -------------------------------------------------------------------------------------------------


def test_a_cluster_is_named_after_its_stack_unless_it_is_given_a_name() -> None:
    assert (cluster().name, own_network(cluster()).name) == ("test", "test")
    assert cluster({"cluster.name": "gke-research"}).name == "gke-research"


@settings(deadline=None, max_examples=60)
@given(st.from_regex(r"[A-Za-z0-9_.-]{1,60}", fullmatch=True))
def test_every_name_made_of_a_stacks_name_is_one_that_google_takes(stack: str) -> None:
    """Pulumi lets a stack be called almost anything, such as `Prod_EU.1`; what no name can be made of is a fault."""
    if faults(fleet_with(), stack):
        return
    fleet_plan = run_planner(fleet_with(), stack).plan
    assert is_gke_name(fleet_plan.cluster.name)
    assert is_service_account_id(own_cluster(fleet_plan).node_service_account.account_id)
    assert all(re.fullmatch(r"[-a-z0-9_]{0,63}", value) for value in fleet_plan.labels.values())


def test_everything_is_labelled_with_its_fleet() -> None:
    fleet_plan = plan(fleet_with({"labels": {"cost-centre": "a1"}}))
    assert (
        fleet_plan.labels
        == {"cost-centre": "a1", "fleet": "test", "managed-by": "berth"}
        == own_cluster(fleet_plan).labels
    )


def test_nodes_have_an_account_of_their_own_with_what_they_need_and_no_more() -> None:
    """Pulling images, logging, reporting: never the project's default account, never editor."""
    result = cluster().node_service_account
    assert result.email == "test-nodes@acme-ml-dev.iam.gserviceaccount.com"
    assert {role.split("/")[1].split(".")[0] for role in result.roles} == {
        "artifactregistry", "autoscaling", "logging", "monitoring", "stackdriver"
    }  # fmt: skip
    assert not [role for role in result.roles if role in ("roles/editor", "roles/owner") or "dmin" in role]


# --- network ----------------------------------------------------------------------------------------------------------


def test_the_ranges_of_a_new_fleet_share_no_address() -> None:
    """The control plane's too: Google peers it into the same network."""
    result = cluster()
    ranges = [
        own_network(result).node_range,
        own_network(result).pod_range,
        own_network(result).service_range,
        result.control_plane.ip_range,
    ]
    assert not [pair for pair in combinations(map(IPv4Network, filter(None, ranges)), 2) if pair[0].overlaps(pair[1])]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"network.nodeCidrBlock": "10.64.0.0/22"}, "overlapping-ranges cluster.network.podCidrBlock"),
        ({"network.serviceCidrBlock": "10.64.0.0/20"}, "overlapping-ranges cluster.network.serviceCidrBlock"),
        ({"controlPlane.cidrBlock": "10.40.0.0/28"}, "overlapping-ranges cluster.controlPlane.cidrBlock"),
        ({"controlPlane.cidrBlock": "172.16.0.0/27"}, "bad-range cluster.controlPlane.cidrBlock"),
        ({"privateNodes": False}, "bad-value cluster.controlPlane.publicEndpoint"),
        ({"zones": ["us-east4-a"]}, "bad-zone cluster.zones[0]"),
        ({"systemPool": {"zones": ["us-east4-a"]}}, "bad-zone cluster.systemPool.zones[0]"),
        ({"systemPool": {"nodes": 4}}, "bad-size cluster.systemPool.nodes"),
        ({"systemPool": {"nodes": 4}, "zones": ZONES}, "bad-size cluster.systemPool.nodes"),
        ({"systemPool": {"nodes": {"max": 0}}}, "bad-size cluster.systemPool.nodes"),
        ({"nodeAutoProvisioning": {**LIMITS, "cpu": {"max": 0}}}, "bad-size cluster.nodeAutoProvisioning.cpu"),
        ({"maintenance.exclusions.0.end": "2026-01-01T00:00:00Z"}, "bad-value cluster.maintenance.exclusions[0].end"),
    ],
)
def test_an_invalid_cluster_is_one_fault_at_its_place(change: dict[str, Any], expected: str) -> None:
    assert faults(fleet_with({f"cluster.{key}": value for key, value in change.items()})) == [expected]


def test_public_nodes_need_no_range_of_the_control_plane() -> None:
    change = {"cluster.privateNodes": False, "cluster.controlPlane": {"authorizedNetworks": []}}
    result = cluster(change).control_plane
    assert (result.private_nodes, result.public_endpoint, result.ip_range) == (False, True, None)


@pytest.mark.parametrize("written", [None, True, False])
def test_every_pool_says_whether_its_nodes_are_private_where_the_file_does(written: bool | None) -> None:
    """GKE's default applies only to new pools: an existing one keeps its setting until it is changed."""
    private = {} if written is None else {"cluster.privateNodes": written}
    fleet_plan = plan(fleet_with({**private, "cluster.controlPlane": {"authorizedNetworks": []}}))
    pools = [fleet_plan.system_pool, *(each for pool in fleet_plan.pools for each in pool.node_pools)]
    assert {pool and pool.network.private_nodes for pool in pools} == {written}
    assert len(pools) > 2


def test_authorized_networks_are_none_or_a_list_and_an_empty_list_is_not_none() -> None:
    """Left out, every address may call; an empty list lets only nodes."""
    networks = [{"name": "office", "cidrBlock": "203.0.113.0/24"}]
    for written, expected in (
        (REMOVED, None), ([], ()), (networks, (AuthorizedNetwork(name="office", cidr="203.0.113.0/24"),))
    ):  # fmt: skip
        control = {} if written is REMOVED else {"authorizedNetworks": written}
        assert cluster({"cluster.controlPlane": control}).control_plane.authorized_networks == expected


def test_nat_can_be_left_out() -> None:
    assert own_network(cluster()).nat
    assert not own_network(cluster({"cluster.network.nat": False})).nat


# --- where controllers run --------------------------------------------------------------------------------------------


def test_the_system_pool_grows_over_the_zones_of_the_cluster() -> None:
    request = system_pool({"cluster.zones": ZONES})
    assert (request.zones, request.total_nodes, request.nodes_per_zone) == (
        tuple(sorted(ZONES)),
        Bounds(min=1, max=6),
        None,
    )
    assert (request.location_policy, request.gpu, request.spot, request.taints) == ("BALANCED", None, False, ())


def test_a_fixed_system_pool_is_a_total_too() -> None:
    request = system_pool({"cluster.zones": ZONES, "cluster.systemPool": {"nodes": 6}})
    assert (request.nodes_per_zone, request.total_nodes, request.location_policy) == (2, None, None)


def test_an_autopilot_cluster_makes_its_nodes_itself() -> None:
    fleet_plan = plan(fleet_with(AUTOPILOT))
    assert fleet_plan.system_pool is None
    assert [(pool.node_pools, pool.made_by) for pool in fleet_plan.pools] == [((), "gke"), ((), "gke")]


@pytest.mark.parametrize(("key", "value"), [("systemPool", {"nodes": {"max": 3}}), ("nodeAutoProvisioning", LIMITS)])
def test_a_setting_that_autopilot_manages_is_a_fault(key: str, value: Any) -> None:
    assert faults(fleet_with({**AUTOPILOT, f"cluster.{key}": value})) == [f"autopilot cluster.{key}"]


# --- what GKE may make by itself --------------------------------------------------------------------------------------


def test_limits_count_cores_gigabytes_and_accelerators() -> None:
    """A plain number for an accelerator is the most, and no floor: GKE would otherwise make that many at once."""
    result = cluster({"cluster.nodeAutoProvisioning": LIMITS, "cluster.zones": ZONES}).auto_provisioning
    assert result is not None
    assert result.limits == (
        ResourceLimit(resource="cpu", minimum=0, maximum=1000),
        ResourceLimit(resource="memory", minimum=16, maximum=4000),
        ResourceLimit(resource="nvidia-l4", minimum=0, maximum=8),
    )
    assert result.zones == tuple(sorted(ZONES))


def test_pools_are_not_auto_provisioned_by_default() -> None:
    assert cluster().auto_provisioning is None


# --- the rest ---------------------------------------------------------------------------------------------------------


def test_a_driver_brings_its_api() -> None:
    assert "file.googleapis.com" not in plan(fleet_with()).services
    fleet_plan = plan(fleet_with({"cluster.storageDrivers": ["filestore", "gcs-fuse"]}))
    assert "file.googleapis.com" in fleet_plan.services
    assert list(fleet_plan.services) == sorted(set(fleet_plan.services))


def test_maintenance_matches_the_stack_file() -> None:
    window = {"start": "2026-11-28T02:00:00Z", "end": "2026-11-28T14:00:00Z", "recurrence": "FREQ=WEEKLY;BYDAY=SA"}
    result = cluster({"cluster.maintenance.window": window}).maintenance
    assert result is not None
    assert (result.start, result.end, result.recurrence) == (window["start"], window["end"], window["recurrence"])
    assert [(e.name, e.scope) for e in result.exclusions] == [("freeze", "NO_MINOR_OR_NODE_UPGRADES")]


def test_a_cluster_is_safe_by_default() -> None:
    """Private nodes, deletion protection, Workload Identity and the regular channel are the defaults."""
    result = cluster()
    assert (result.control_plane.private_nodes, result.settings.deletion_protection, result.protect) == (
        True,
        True,
        True,
    )
    assert (result.release_channel, result.version, result.workload_pool) == (
        "REGULAR",
        None,
        "acme-ml-dev.svc.id.goog",
    )
