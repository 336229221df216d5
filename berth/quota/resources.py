"""What a cluster counts beside its machines: networks, addresses, instance groups, policies, requests, accounts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from berth.google.fleet import google_resources
from berth.plan.fleet import ExistingClusterPlan, FleetPlan
from berth.plan.node_settings import Bounds
from berth.resource import FleetResource, ResourceKind

_REGIONAL_ZONES = 3
"""The zones that GKE takes for a regional cluster whose zones nobody names (GKE docs: regional clusters)."""
_NODE_POOL = "gcp:container/nodePool:NodePool"
_COUNTED = {
    "gcp:compute/network:Network": ("networks",),
    "gcp:compute/subnetwork:Subnetwork": ("subnetworks",),
    "gcp:compute/router:Router": ("routers",),
    "gcp:compute/address:Address": ("static_addresses",),
    "gcp:compute/firewall:Firewall": ("firewalls",),
    _NODE_POOL: ("instance_groups", "instance_group_managers"),
    "gcp:compute/reservation:Reservation": ("reservations",),
    "gcp:compute/futureReservation:FutureReservation": ("reservations",),
    "gcp:compute/resourcePolicy:ResourcePolicy": ("resource_policies",),
    "gcp:serviceaccount/account:Account": ("service_accounts",),
}
"""Type of a resource → the keys of the table's `counts` in which it counts."""
_UNCOUNTED = (ResourceKind.WEBHOOK_FIREWALL,)
"""One rule of the hundred that every project has: without it, the doubt about GKE's rules is left out too."""
_DOUBTS = {"firewalls": "GKE adds rules of its own for each cluster"}


class ResourceCount(Struct, frozen=True, kw_only=True):
    """How many of something a part of the stack file makes; `key` is one of the table's `counts`."""

    key: str
    source: str
    amount: Bounds
    doubt: str = ""


def resource_counts(plan: FleetPlan) -> Iterator[ResourceCount]:
    """Everything but machines of the cluster that a plan makes."""
    counts = Counter[tuple[str, str, str]]()
    cluster_zones = () if isinstance(plan.cluster, ExistingClusterPlan) else plan.cluster.zones
    for resource in (r for r in google_resources(replace(plan, workers=())) if r.kind not in _UNCOUNTED):
        node_pool = resource.key if resource.kind == ResourceKind.NODE_POOL else ""
        for made in resource.registrations().values():
            # GKE keeps an instance group, and its manager, in every zone of a node pool.
            zones = len(made.arguments.get("node_locations") or cluster_zones) or _REGIONAL_ZONES
            number = zones if made.type == _NODE_POOL else 1
            counts.update({(key, _source(resource), node_pool): number for key in _COUNTED.get(made.type, ())})
    for (key, source, _), count in counts.items():
        amount = Bounds(min=count, max=count)
        yield ResourceCount(key=key, source=source, amount=amount, doubt=_DOUBTS.get(key, ""))
    for pool in plan.own_pools:
        if pool.capacity == "queued":
            most = pool.nodes.max // (pool.hosts_per_slice or 1)
            yield ResourceCount(key="resize_requests", source=f"pools.{pool.name}", amount=Bounds(min=0, max=most))


def _source(resource: FleetResource) -> str:
    """Return the part of the stack file that makes a resource."""
    match resource.kind:
        case ResourceKind.NODE_POOL:
            return f"pools.{resource.pool}"
        case ResourceKind.SYSTEM_POOL:
            return "cluster.systemPool"
        case ResourceKind.RESERVATION | ResourceKind.FUTURE_RESERVATION:
            return f"reservations.{resource.key}"
        case ResourceKind.WORKLOAD_POLICY:
            return f"pools.{resource.key}"
        case ResourceKind.NODE_IDENTITY:
            return "cluster"
        case ResourceKind.TEAM_IDENTITY:
            return "teams"
        case _:
            return "cluster.network"
