"""Comparison of all resources of a fleet other than Kubernetes objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from berth.diff.fields import FieldChange, compare_fields
from berth.diff.kinds import ChangeKind, ResourceKey, ResourceKind
from berth.diff.update_effects import UpdateEffect, find_update_rule
from berth.plan.existing import ExistingClusterPlan
from berth.plan.fleet import FleetPlan
from berth.plan.gke import ClusterPlan, NetworkPlan, NodePoolPlan

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
    ResourceKind.SERVICE,
    ResourceKind.RESERVATION,
    ResourceKind.FUTURE_RESERVATION,
    ResourceKind.WORKLOAD_POLICY,
    ResourceKind.ACCELERATOR_NETWORKS,
    ResourceKind.DASHBOARD,
    ResourceKind.ALERT,
    ResourceKind.ACCESS,
    ResourceKind.TEAM_IDENTITY,
)
"""Kinds that are created in the provider's project, and cannot move to another project."""


def _resources_in_cluster_project(plan: FleetPlan) -> Iterator[CloudResource]:
    if isinstance(plan.cluster, ExistingClusterPlan):
        yield CloudResource(ResourceKind.CONNECTION, "cluster", plan.cluster)
    if isinstance(plan.cluster, ClusterPlan):  # an existing cluster is not managed
        yield CloudResource(ResourceKind.CLUSTER, "cluster", plan.cluster)
        if isinstance(plan.cluster.network, NetworkPlan):
            yield CloudResource(ResourceKind.NETWORK, "network", plan.cluster.network)
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
        if monitoring.backend == "managed":  # with other backends these are Kubernetes objects
            yield from (CloudResource(ResourceKind.DASHBOARD, each.key, each) for each in monitoring.dashboards)
            yield from (CloudResource(ResourceKind.ALERT, each.key, each) for each in monitoring.alerts)
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


def compare_resources(old: FleetPlan, new: FleetPlan) -> tuple[ResourceChange, ...]:
    """Return every changed resource: created and changed ones in the order of `cloud_resources`, then deleted ones.

    A resource is also replaced if it depends on a replaced one, because Pulumi does not know the new name in advance.
    """
    changes = compare_resource_lists(
        list(cloud_resources(old)), list(cloud_resources(new)), lambda resource: dependencies(resource, new)
    )
    gone = {
        _cluster_of(change.key)
        for change in changes
        if change.kind == ResourceKind.CLUSTER and change.what in (ChangeKind.DELETED, ChangeKind.REPLACED)
    }
    return tuple(
        replace(change, what=ChangeKind.DELETED)
        if change.what == ChangeKind.UNMANAGED and _cluster_of(change.key) in gone
        else change
        for change in changes
    )


def _cluster_of(key: str) -> str:
    """Return the worker whose cluster a resource is in; "" for the fleet's own."""
    return key.partition(IN_WORKER)[0] if IN_WORKER in key else ""


def compare_resource_lists(
    old: Sequence[CloudResource],
    new: Sequence[CloudResource],
    dependencies_of: Callable[[CloudResource], Iterable[ResourceKey]],
) -> tuple[ResourceChange, ...]:
    """Compare two lists of resources; `dependencies_of` returns the resources that a resource in `new` refers to."""
    before, after = _resources_by_key(old), _resources_by_key(new)
    changes: dict[ResourceKey, ResourceChange] = {}
    for key, resource in after.items():
        replaced = [
            dependency
            for dependency in dependencies_of(resource)
            if dependency in changes and changes[dependency].what == ChangeKind.REPLACED
        ]
        change = _compare_resource(before.get(key), resource, replaced)
        if change is not None:
            changes[key] = change
    deleted = [
        ResourceChange(
            resource.kind,
            resource.key,
            resource.pool,
            ChangeKind.UNMANAGED if resource.kind in _RETAINED_KINDS else ChangeKind.DELETED,
        )
        for key, resource in before.items()
        if key not in after
    ]
    return (*(changes[key] for key in map(_resource_key, new) if key in changes), *deleted)


def dependencies(resource: CloudResource, plan: FleetPlan) -> Iterator[ResourceKey]:
    """Yield the resources whose names are inputs of this one; for a worker's resource, those of the same worker."""
    name, slash, key = resource.key.partition(IN_WORKER)
    if (
        slash
        and (worker_plan := next((worker.plan for worker in plan.workers if worker.name == name), None)) is not None
    ):
        yield from (
            ResourceKey(kind, f"{name}{IN_WORKER}{dependency_key}")
            for kind, dependency_key in dependencies(replace(resource, key=key), worker_plan)
        )
        return
    if resource.kind == ResourceKind.CLUSTER:
        yield ResourceKey(ResourceKind.NETWORK, "network")
    if isinstance(resource.plan, NodePoolPlan):
        yield ResourceKey(ResourceKind.CLUSTER, "cluster")
        yield ResourceKey(ResourceKind.NODE_IDENTITY, "nodes")
        pool = resource.plan
        yield from (
            ResourceKey(ResourceKind.RESERVATION, reservation.key)
            for reservation in plan.reservations
            if reservation.name == pool.reservation
        )
        policy = pool.placement.policy if pool.placement else None
        if pool.network.accelerator_networks is not None:
            yield ResourceKey(ResourceKind.ACCELERATOR_NETWORKS, pool.network.accelerator_networks)
        yield from (
            ResourceKey(ResourceKind.WORKLOAD_POLICY, policy_plan.key)
            for policy_plan in plan.workload_policies
            if policy_plan.name == policy
        )


_RETAINED_KINDS = (ResourceKind.CONTROLLER,)
"""Kinds that the program creates with `retainOnDelete`."""
_DEPENDENCY_ORDER = (
    ResourceKind.FLEET,
    ResourceKind.CLUSTER,
    ResourceKind.SYSTEM_POOL,
    ResourceKind.NODE_POOL,
    ResourceKind.MEMBERSHIP,
)
"""Kinds that depend on others, after the kinds that they depend on."""


def _resources_by_key(resources: Iterable[CloudResource]) -> dict[ResourceKey, CloudResource]:
    """Return the resources by key, dependencies first."""
    ordered = sorted(
        resources,
        key=lambda resource: _DEPENDENCY_ORDER.index(resource.kind) if resource.kind in _DEPENDENCY_ORDER else -1,
    )
    return {_resource_key(resource): resource for resource in ordered}


def _resource_key(resource: CloudResource) -> ResourceKey:
    return ResourceKey(resource.kind, resource.key)


def _compare_resource(
    before: CloudResource | None, after: CloudResource, replaced: Iterable[ResourceKey]
) -> ResourceChange | None:
    """Return the change, or None without one. `replaced` are the replaced resources that this one depends on."""
    if before is None:
        return ResourceChange(after.kind, after.key, after.pool, ChangeKind.CREATED)
    if (
        after.kind == ResourceKind.DASHBOARD and before.project == after.project
    ):  # its panels follow from the rest of the change
        return ResourceChange(ResourceKind.DASHBOARD, after.key, None, ChangeKind.UPDATED) if before != after else None
    titles = (resource_title(*identity) for identity in replaced)
    fields = (
        *_field_effects(before, after),
        *(FieldEffect(name, "", None, None, UpdateEffect.REPLACE) for name in titles),
    )
    if not fields:
        return None
    strongest = max((f.does for f in fields), key=lambda effect: effect.severity)
    what = {UpdateEffect.REPLACE: ChangeKind.REPLACED, UpdateEffect.RECREATE: ChangeKind.RECREATED}.get(
        strongest, ChangeKind.UPDATED
    )
    return ResourceChange(after.kind, after.key, after.pool, what, fields)


def _field_effects(before: CloudResource, after: CloudResource) -> Iterator[FieldEffect]:
    kind = type(after.plan).__name__
    if before.project is not None and after.project is not None and before.project != after.project:
        yield FieldEffect("project", "project", before.project, after.project, UpdateEffect.REPLACE)
    if after.kind in (ResourceKind.DASHBOARD, ResourceKind.SERVICE):
        return
    in_slice = any(isinstance(t.plan, NodePoolPlan) and t.plan.slice_topology is not None for t in (before, after))
    for change in compare_fields(before.plan, after.plan):
        rule = find_update_rule(kind, change, in_slice=in_slice)
        if not _is_reported_elsewhere(after, change, rule.does):
            yield FieldEffect(change.path, rule.input, change.before, change.after, rule.does)


def _is_reported_elsewhere(resource: CloudResource, change: FieldChange, effect: str) -> bool:
    """Return whether a field of the cluster's plan belongs to another resource, and does not replace the cluster."""
    has_own_resource = change.path.startswith(("network.", "node_service_account"))
    return resource.kind == ResourceKind.CLUSTER and has_own_resource and effect != UpdateEffect.REPLACE
