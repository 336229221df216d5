"""The quotas that a fleet needs: for nodes that always exist, all nodes, an upgrade, and what is beside machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from berth.catalog import QuotaMetric, quota_table
from berth.google.fleet import google_resources
from berth.plan.fleet import ExistingClusterPlan, FleetPlan
from berth.plan.node_settings import Bounds
from berth.quota.machines import Machines, cluster_machines, machine_quotas
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


GLOBAL = "global"
"""The location of a quota that counts all regions."""

_SCOPES = ("region", "global", "cluster")


class QuotaNeed(Struct, frozen=True, kw_only=True):
    """What one part of the stack file needs of a quota.

    Uses with one `pool` exclude each other, and the largest counts. `surge` is what an upgrade adds. `fallback` is the
    quota that is used where the project has none of this one. `doubt` says why the number is not certain.
    """

    metric: QuotaMetric
    source: str
    pool: str
    capacity: str
    amount: Bounds
    surge: int = 0
    fallback: QuotaMetric | None = None
    doubt: str = ""
    is_optional: bool = False


class RequiredQuota(Struct, frozen=True, kw_only=True):
    """A quota of a project in one `location` (a region, `global` or a cluster's name), with all that needs it."""

    metric: QuotaMetric
    project: str
    location: str
    uses: tuple[QuotaNeed, ...]

    @property
    def minimum(self) -> int:
        """What the nodes and resources need that always exist."""
        return _sum_by_pool((use.pool, use.amount.min) for use in self.uses)

    @property
    def maximum(self) -> int:
        """What the fleet needs at its largest."""
        return _sum_by_pool((use.pool, use.amount.max) for use in self.uses)

    @property
    def certain_maximum(self) -> int:
        """The part of the maximum that no doubt is about."""
        if self.metric.doubt or self.is_optional:
            return 0
        return _sum_by_pool((use.pool, use.amount.max) for use in self.uses if not use.doubt)

    @property
    def upgrade(self) -> int:
        """What an upgrade adds to the maximum. GKE upgrades one node pool of a cluster at a time."""
        return max((use.surge for use in self.uses), default=0)

    @property
    def capacities(self) -> tuple[str, ...]:
        """How the machines are obtained that need it; empty where it counts no machines."""
        return tuple(sorted({use.capacity for use in self.uses if use.capacity}))

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why the number, or the quota itself, is not certain."""
        return tuple(dict.fromkeys(filter(None, (self.metric.doubt, *(use.doubt for use in self.uses)))))

    @property
    def is_optional(self) -> bool:
        """Whether the fleet works without it: the quota of a commitment that nobody has to buy."""
        return all(use.is_optional for use in self.uses)


def required_quotas(plan: FleetPlan) -> tuple[RequiredQuota, ...]:
    """Every quota that the clusters of a stack need, its workers' too; by project, scope and location.

    An existing cluster needs none, and neither does a worker that another stack makes.
    """
    grouped: dict[tuple[str, int, str, str], list[QuotaNeed]] = {}
    for cluster in made_clusters(plan):
        for use in _cluster_uses(cluster):
            places = {"region": cluster.region or "", "global": GLOBAL, "cluster": cluster.cluster.name}
            scope, place = _SCOPES.index(use.metric.scope), places[use.metric.scope]
            grouped.setdefault((cluster.project or "", scope, place, use.metric.name), []).append(use)
    return tuple(
        RequiredQuota(metric=uses[0].metric, project=project, location=location, uses=tuple(uses))
        for (project, _, location, _), uses in sorted(grouped.items(), key=lambda entry: entry[0][:3])
        if any(use.amount.max for use in uses)
    )


def made_clusters(plan: FleetPlan) -> Iterator[FleetPlan]:
    """The plans of the clusters that a stack makes: its own, and those of its workers."""
    for cluster in (plan, *(worker.plan for worker in plan.workers if worker.made_here)):
        if not isinstance(cluster.cluster, ExistingClusterPlan):
            yield cluster


def _cluster_uses(plan: FleetPlan) -> Iterator[QuotaNeed]:
    for machines in cluster_machines(plan):
        yield from _machine_uses(plan, machines)
    counts = quota_table().counts
    for number, count in enumerate(resource_counts(plan)):
        pool = f"{plan.cluster.name}/{number}"
        yield QuotaNeed(
            metric=counts[count.key],
            source=count.source,
            pool=pool,
            capacity="",
            amount=count.amount,
            doubt=count.doubt,
        )


def _machine_uses(plan: FleetPlan, machines: Machines) -> Iterator[QuotaNeed]:
    """What machines of one kind need of each quota that counts them."""
    for quota in machine_quotas(machines):
        yield QuotaNeed(
            metric=quota.metric,
            source=machines.source,
            pool=f"{plan.cluster.name}/{machines.pool}",
            capacity=machines.capacity,
            amount=Bounds(min=machines.nodes.min * quota.per_node, max=machines.nodes.max * quota.per_node),
            surge=machines.surge * quota.per_node,
            fallback=quota.fallback,
            doubt=machines.doubt,
            is_optional=quota.is_optional,
        )


def _sum_by_pool(amounts: Iterator[tuple[str, int]]) -> int:
    """The sum of the largest amount of each pool."""
    largest: dict[str, int] = {}
    for pool, amount in amounts:
        largest[pool] = max(amount, largest.get(pool, 0))
    return sum(largest.values())
