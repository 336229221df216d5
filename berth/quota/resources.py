"""What a cluster counts beside its machines: networks, addresses, instance groups, policies, requests, accounts."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from berth.plan.existing import ExistingClusterPlan
from berth.plan.fleet import FleetPlan
from berth.plan.gke import ClusterPlan, NetworkPlan
from berth.plan.nodes import Bounds

_REGIONAL_ZONES = 3
"""The zones that GKE takes for a regional cluster whose zones nobody names (GKE docs: regional clusters)."""


class ResourceCount(Struct, frozen=True, kw_only=True):
    """How many of something a part of the stack file makes; `key` is one of the table's `counts`."""

    key: str
    source: str
    amount: Bounds
    doubt: str = ""


def resource_counts(plan: FleetPlan) -> Iterator[ResourceCount]:
    """Everything but machines of the cluster that a plan makes."""
    yield from _network_counts(plan)
    yield from _node_pool_counts(plan)
    yield from _capacity_counts(plan)
    has_account = not isinstance(plan.cluster, ExistingClusterPlan) and plan.cluster.node_service_account is not None
    identities = [team.identity for team in plan.teams]
    yield _fixed("service_accounts", "cluster", int(has_account))
    yield _fixed(
        "service_accounts",
        "teams",
        # Those that another cluster of the project makes are not counted again.
        sum(each is not None and each.granted and each.impersonates is not None for each in identities),
    )


def _fixed(key: str, source: str, count: int, doubt: str = "") -> ResourceCount:
    return ResourceCount(key=key, source=source, amount=Bounds(min=count, max=count), doubt=doubt)


def _network_counts(plan: FleetPlan) -> Iterator[ResourceCount]:
    vpcs = [vpc for networks in plan.accelerator_networks for vpc in networks.vpcs]
    network = plan.cluster.network if isinstance(plan.cluster, ClusterPlan) else None
    own = [network] if isinstance(network, NetworkPlan) else []
    yield _fixed("networks", "cluster.network", len(own) + len(vpcs))
    yield _fixed("subnetworks", "cluster.network", len(own) + sum(len(vpc.subnets) for vpc in vpcs))
    yield _fixed("routers", "cluster.network", sum(each.nat for each in own))
    firewalls = sum(bool(vpc.allowed_ranges) for vpc in vpcs)
    yield _fixed("firewalls", "cluster.network", firewalls, "GKE adds rules of its own for each cluster")


def _node_pool_counts(plan: FleetPlan) -> Iterator[ResourceCount]:
    """GKE keeps an instance group, and its manager, for every node pool in every zone."""
    system = [("cluster.systemPool", plan.system_pool)] if plan.system_pool else []
    pools = [(f"pools.{pool.name}", node_pool) for pool in plan.own_pools for node_pool in pool.node_pools]
    for source, node_pool in (*system, *pools):
        for key in ("instance_groups", "instance_group_managers"):
            cluster_zones = () if isinstance(plan.cluster, ExistingClusterPlan) else plan.cluster.zones
            yield _fixed(key, source, len(node_pool.zones or cluster_zones) or _REGIONAL_ZONES)


def _capacity_counts(plan: FleetPlan) -> Iterator[ResourceCount]:
    for reservation in (*plan.reservations, *plan.future_reservations):
        yield _fixed("reservations", f"reservations.{reservation.key}", 1)
    for policy in plan.workload_policies:
        yield _fixed("resource_policies", f"pools.{policy.key}", 1)
    for pool in plan.own_pools:
        if pool.capacity == "queued":
            most = pool.nodes.max // (pool.hosts_per_slice or 1)
            yield ResourceCount(key="resize_requests", source=f"pools.{pool.name}", amount=Bounds(min=0, max=most))
