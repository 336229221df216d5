"""What becomes of each resource between two plans: created, updated in place, recreated, replaced or deleted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec.structs import replace

from berth.diff.fields import FieldChange, compare_fields
from berth.diff.kinds import ChangeKind, ResourceKey, ResourceKind
from berth.diff.resources import (
    IN_WORKER,
    CloudResource,
    FieldEffect,
    ResourceChange,
    cloud_resources,
    resource_title,
)
from berth.diff.update_effects import UpdateEffect, find_update_rule, sent_plan
from berth.plan.fleet import FleetPlan
from berth.plan.gke import NodePoolPlan


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
    kept = tuple(
        replace(change, what=ChangeKind.DELETED)
        if change.what == ChangeKind.UNMANAGED and _cluster_of(change.key) in gone
        else change
        for change in changes
    )
    return _with_moved_controllers([change for change in kept if not _is_no_news(change)], old, new)


def _is_no_news(change: ResourceChange) -> bool:
    """Whether the change follows from others that are listed: settings of alerts that come or go."""
    return change.kind == ResourceKind.ALERT_CONFIGURATION and change.what != ChangeKind.UPDATED


def _with_moved_controllers(
    changes: Sequence[ResourceChange], old: FleetPlan, new: FleetPlan
) -> tuple[ResourceChange, ...]:
    """The changes, with every controller replaced whose cluster is: the engine replaces what is deleted with it."""
    moved = {
        _cluster_of(change.key): resource_title(change.kind, change.key)
        for change in changes
        if _is_replaced_cluster(change)
    }
    if not moved:
        return tuple(changes)
    kind = ResourceKind.CONTROLLER
    before = {resource.key for resource in cloud_resources(old) if resource.kind == kind}
    replaced = {
        resource.key: FieldEffect(moved[_cluster_of(resource.key)], "", None, None, UpdateEffect.REPLACE)
        for resource in cloud_resources(new)
        if resource.kind == kind and resource.key in before and _cluster_of(resource.key) in moved
    }
    return (
        *(change for change in changes if change.kind != kind or change.key not in replaced),
        *(ResourceChange(kind, key, None, ChangeKind.REPLACED, (effect,)) for key, effect in replaced.items()),
    )


def _is_replaced_cluster(change: ResourceChange) -> bool:
    return change.kind in (ResourceKind.CLUSTER, ResourceKind.CONNECTION) and change.what == ChangeKind.REPLACED


def replaced_clusters(changes: Iterable[ResourceChange]) -> set[str]:
    """The workers whose clusters are replaced; "" for the fleet's own."""
    return {_cluster_of(change.key) for change in changes if _is_replaced_cluster(change)}


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
        yield ResourceKey(ResourceKind.CONNECTION, "cluster")
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
    for change in compare_fields(before.plan, sent_plan(before.plan, after.plan)):
        rule = find_update_rule(kind, change, in_slice=in_slice)
        if not _is_reported_elsewhere(after, change, rule.does):
            yield FieldEffect(change.path, rule.input, change.before, change.after, rule.does)


def _is_reported_elsewhere(resource: CloudResource, change: FieldChange, effect: str) -> bool:
    """Return whether a field of the cluster's plan belongs to another resource, and does not replace the cluster."""
    has_own_resource = change.path.startswith(("network.", "node_service_account", "webhook_firewall"))
    return resource.kind == ResourceKind.CLUSTER and has_own_resource and effect != UpdateEffect.REPLACE
