"""Comparison of all resources of a fleet other than Kubernetes objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from berth.diff.kinds import ChangeKind, ResourceKind
from berth.diff.update_effects import UpdateEffect
from berth.plan.existing import ExistingClusterPlan
from berth.plan.fleet import FleetPlan
from berth.plan.gke import ClusterPlan, NetworkPlan

IN_WORKER = "/"
"""Separates a worker's name from the key of a resource in it; other keys do not contain it."""


class CloudResource(Struct, frozen=True):
    """A resource, or a few that are created together: its kind as shown to users, its key and its plan.

    `pool` is the pool of a node pool. `project` is its Google Cloud project, None if its plan or a resource that it
    depends on has it, and outside Google Cloud.
    """

    kind: ResourceKind
    key: str
    plan: object
    pool: str | None = None
    project: str | None = None


class AlertSettings(Struct, frozen=True):
    """What all alerts of a cluster have in common."""

    channels: tuple[str, ...]
    labels: Mapping[str, str]


class FieldEffect(Struct, frozen=True):
    """A changed field, its `input` as the provider spells it, and what the change `does` (see update_effects.yaml).

    With an empty `input`, `path` names a resource that this one depends on and that is replaced.
    """

    path: str
    input: str
    before: object
    after: object
    does: UpdateEffect


class ResourceChange(Struct, frozen=True):
    """A resource that is created, updated in place, replaced or deleted, or whose nodes are recreated in place."""

    kind: ResourceKind
    key: str
    pool: str | None
    what: ChangeKind
    fields: tuple[FieldEffect, ...] = ()

    @property
    def because(self) -> tuple[FieldEffect, ...]:
        """The fields that force the change, without a node pool's name if another field changes the name."""
        forcing = tuple(f for f in self.fields if f.does == UpdateEffect.REPLACE)
        chosen = tuple(f for f in forcing if f.path != "name" or self.kind != ResourceKind.NODE_POOL)
        return chosen or forcing


def cloud_resources(plan: FleetPlan) -> Iterator[CloudResource]:
    """Yield every resource of a fleet, the cluster first; (kind, key) is its identity in the program."""
    for resource in _resources_in_cluster_project(plan):
        yield replace(resource, project=plan.project) if resource.kind in _IN_PROJECT else resource
    for worker in plan.workers:
        for resource in cloud_resources(worker.plan) if worker.made_here else ():
            pool = f"{worker.name}{IN_WORKER}{resource.pool}" if resource.pool is not None else None
            yield replace(resource, key=f"{worker.name}{IN_WORKER}{resource.key}", pool=pool)


_IN_PROJECT = (
    ResourceKind.NETWORK,
    ResourceKind.NODE_IDENTITY,
    ResourceKind.WEBHOOK_FIREWALL,
    ResourceKind.SERVICE,
    ResourceKind.RESERVATION,
    ResourceKind.FUTURE_RESERVATION,
    ResourceKind.WORKLOAD_POLICY,
    ResourceKind.ACCELERATOR_NETWORKS,
    ResourceKind.DASHBOARD,
    ResourceKind.ALERT,
    ResourceKind.ALERT_CONFIGURATION,
    ResourceKind.ACCESS,
    ResourceKind.TEAM_IDENTITY,
)
"""Kinds that are created in the provider's project, and cannot move to another project."""


def _resources_in_cluster_project(plan: FleetPlan) -> Iterator[CloudResource]:
    if isinstance(plan.cluster, ClusterPlan):
        yield CloudResource(ResourceKind.CLUSTER, "cluster", plan.cluster)
        if isinstance(plan.cluster.network, NetworkPlan):
            yield CloudResource(ResourceKind.NETWORK, "network", plan.cluster.network)
        if (firewall := plan.cluster.webhook_firewall) is not None:
            yield CloudResource(ResourceKind.WEBHOOK_FIREWALL, ResourceKind.WEBHOOK_FIREWALL.value, firewall)
    else:  # it is not managed
        yield CloudResource(ResourceKind.CONNECTION, "cluster", plan.cluster)
    if not isinstance(plan.cluster, ExistingClusterPlan) and plan.cluster.node_service_account is not None:
        yield CloudResource(ResourceKind.NODE_IDENTITY, "nodes", plan.cluster.node_service_account)
    yield from (CloudResource(ResourceKind.SERVICE, service, service) for service in plan.services)
    resources_by_kind = {
        ResourceKind.RESERVATION: plan.reservations,
        ResourceKind.FUTURE_RESERVATION: plan.future_reservations,
        ResourceKind.WORKLOAD_POLICY: plan.workload_policies,
        ResourceKind.ACCELERATOR_NETWORKS: plan.accelerator_networks,
        ResourceKind.SYSTEM_POOL: (plan.system_pool,) if plan.system_pool else (),
    }
    for kind, plans in resources_by_kind.items():
        yield from (CloudResource(kind, each.key, each) for each in plans)
    for pool in plan.own_pools:
        yield from (CloudResource(ResourceKind.NODE_POOL, each.key, each, pool.name) for each in pool.node_pools)
    yield from (CloudResource(ResourceKind.CONTROLLER, chart.name, chart) for chart in plan.charts)
    if (monitoring := plan.monitoring) is not None:
        yield from (CloudResource(ResourceKind.CONTROLLER, chart.name, chart) for chart in monitoring.charts)
        if monitoring.managed is not None:  # in the cluster these are Kubernetes objects
            kind = ResourceKind.ALERT_CONFIGURATION
            yield CloudResource(kind, kind.value, AlertSettings(monitoring.channels, plan.labels))
            yield from (CloudResource(ResourceKind.DASHBOARD, each.key, each) for each in monitoring.managed.dashboards)
            yield from (CloudResource(ResourceKind.ALERT, each.key, each) for each in monitoring.managed.alerts)
    yield from (CloudResource(ResourceKind.ACCESS, "access", each) for each in (plan.access,) if each)
    yield from (
        CloudResource(ResourceKind.TEAM_IDENTITY, team.key, team.identity) for team in plan.teams if team.identity
    )


def in_worker(change: ResourceChange) -> tuple[str, ResourceChange] | None:
    """Return the worker of a change and the change with the worker's own keys, or None for the fleet's own cluster."""
    worker, slash, key = change.key.partition(IN_WORKER)
    pool = change.pool and change.pool.removeprefix(worker + IN_WORKER)
    return (worker, replace(change, key=key, pool=pool)) if slash else None


def resource_title(kind: ResourceKind, key: str) -> str:
    """Return the name shown to users: `reservation l4`, `cluster of worker east`, `network a on worker east`."""
    worker, slash, own_key = key.rpartition(IN_WORKER)
    if kind == ResourceKind.CONNECTION:
        return "connection to the existing cluster"
    if own_key == kind:
        return f"{kind} of worker {worker}" if slash else kind
    return f"{kind} {own_key} on worker {worker}" if slash and kind != ResourceKind.POOL else f"{kind} {key}"
