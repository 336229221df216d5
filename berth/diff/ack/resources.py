"""Comparison of the resources of fleets on Alibaba Cloud: members, node pools, the ACK One fleet, the quota tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from berth.diff.entitlements import QuotaNodeChange, compare_counts
from berth.diff.fields import compare_fields
from berth.diff.guard.allowances import GuardedAction, ProtectedKind, allowance_reason
from berth.diff.guard.changes import GuardedChange, lost_resources, removed_guarantees
from berth.diff.kinds import ChangeKind, FieldEffect, ResourceChange
from berth.diff.pools import NO_NODES, PoolChange, queues_of_flavor
from berth.diff.provider_inputs.effects import UpdateEffect
from berth.names import to_camel
from berth.plan.ack import AckFleetPlan, AckNodePoolPlan, QuotaNodePlan
from berth.resource import ResourceKind

_KIND_OF_RESOURCE_CHANGE = {
    ChangeKind.CREATED: ChangeKind.ADDED,
    ChangeKind.DELETED: ChangeKind.DELETED,
    ChangeKind.REPLACED: ChangeKind.REPLACED,
}
_SIZE_FIELDS = ("nodes", "desiredSize", "scalingConfig")
"""Fields of a node pool, and inputs, that PoolChange reports as counts."""
_ACK_KINDS: Final = (
    ProtectedKind(
        ResourceKind.CLUSTER, "alicloud:cs/managedKubernetes:ManagedKubernetes", "-cluster", "clusters.{key}", "member-"
    ),
    ProtectedKind(ResourceKind.NODE_POOL, "alicloud:cs/nodePool:NodePool", "", "{key}"),
    ProtectedKind(ResourceKind.FLEET, "alicloud:ackone/cluster:Cluster", "", "fleet"),
)
PROTECTED_ON_ACK: Final = {each.kind: each for each in _ACK_KINDS}
PROTECTED_BY_TYPE_ON_ACK: Final = {each.type_token: each for each in _ACK_KINDS}


# --- node pools -------------------------------------------------------------------------------------------------------


def compare_ack_pools(
    old: AckFleetPlan, new: AckFleetPlan, changed: Iterable[ResourceChange]
) -> tuple[PoolChange, ...]:
    """Compare node pools by member and name.

    Those of existing members are included, but lose no nodes, because the stack does not manage them.
    """
    before, after = _node_pools(old), _node_pools(new)
    parts = {change.key: change for change in changed if change.kind == ResourceKind.NODE_POOL}
    return tuple(
        _compare_pool(name, before.get(name), after.get(name), parts.get(name), (old, new))
        for name in sorted(before.keys() | after.keys())
        if name in parts or _user_facing_fields(before.get(name)) != _user_facing_fields(after.get(name))
    )


def _node_pools(plan: AckFleetPlan) -> dict[str, AckNodePoolPlan]:
    return {f"{member.name}/{pool.name}": pool for member in plan.members for pool in member.node_pools}


def _user_facing_fields(pool: AckNodePoolPlan | None) -> object:
    """Return the fields of a node pool that the stack file sets, also for existing ones."""
    return pool and (
        *(pool.instance_type, pool.gpu, pool.gpus, pool.nodes, pool.spot, pool.flavor),
        *(pool.labels, pool.taints),
    )


def _compare_pool(
    name: str,
    old_pool: AckNodePoolPlan | None,
    new_pool: AckNodePoolPlan | None,
    resource_change: ResourceChange | None,
    plans: tuple[AckFleetPlan, AckFleetPlan],
) -> PoolChange:
    shown_pool = old_pool or new_pool
    assert shown_pool is not None
    kinds = (ChangeKind.REPLACED, ChangeKind.DELETED)
    deleted_pool = old_pool if resource_change is not None and resource_change.what in kinds else None
    return PoolChange(
        pool=name,
        what=_kind_of_change(old_pool, new_pool, resource_change),
        machine_type=shown_pool.instance_type,
        noun=shown_pool.gpu,
        capacity="spot" if shown_pool.spot else "on-demand",
        reservation=None,
        nodes=(old_pool.nodes if old_pool else NO_NODES, new_pool.nodes if new_pool else NO_NODES),
        accelerators=(
            old_pool.accelerators if old_pool else NO_NODES,
            new_pool.accelerators if new_pool else NO_NODES,
        ),
        hit_nodes=deleted_pool.nodes.max if deleted_pool else 0,
        hit_accelerators=deleted_pool.accelerators.max if deleted_pool else 0,
        queues=queues_of_flavor(plans[0] if old_pool else plans[1], shown_pool.flavor),
        fields=tuple(_field_effects(old_pool, new_pool, resource_change)),
        because=resource_change.because if resource_change else (),
        renamed=None,
    )


def _field_effects(
    old_pool: AckNodePoolPlan | None, new_pool: AckNodePoolPlan | None, resource_change: ResourceChange | None
) -> Iterator[FieldEffect]:
    """Yield the fields that differ, without the size; for an existing node pool, those of its description."""
    if old_pool is None or new_pool is None:
        return
    if resource_change is None:
        effects = [
            FieldEffect(to_camel(c.path), to_camel(c.path), c.before, c.after, UpdateEffect.UPDATE)
            for c in compare_fields(old_pool, new_pool)
        ]
    elif resource_change.what == ChangeKind.REPLACED:  # all nodes are recreated
        effects = [
            replace(field, does=UpdateEffect.UPDATE) if field.does == UpdateEffect.NEW_NODES_ONLY else field
            for field in resource_change.fields
        ]
    else:
        effects = [*resource_change.fields]
    yield from (field for field in effects if not field.path.startswith(_SIZE_FIELDS))


def _kind_of_change(
    old_pool: AckNodePoolPlan | None, new_pool: AckNodePoolPlan | None, resource_change: ResourceChange | None
) -> ChangeKind:
    made = _KIND_OF_RESOURCE_CHANGE.get(resource_change.what) if resource_change is not None else None
    if made is not None:
        return made
    if old_pool is None or new_pool is None:
        return ChangeKind.ADDED if old_pool is None else ChangeKind.DELETED
    return ChangeKind.RESIZED if old_pool.nodes != new_pool.nodes else ChangeKind.CHANGED


# --- guarded changes --------------------------------------------------------------------------------------------------


def ack_guarded_changes(
    old: AckFleetPlan, new: AckFleetPlan, changed: Sequence[ResourceChange]
) -> Iterator[GuardedChange]:
    """Yield losses of clusters, node pools, the fleet, and leaves of the quota tree with a guarantee.

    A leaf is not a resource of its own, so Pulumi cannot protect it; its allowance may be part of the same change.
    """
    yield from lost_resources(changed, PROTECTED_ON_ACK, _node_pools(new), (old.allowances, new.allowances), {})
    for queue, flavors in removed_guarantees(old, new):
        key, action = f"clusterQueues.{queue.name}", GuardedAction.DELETE
        reason = allowance_reason(action, key, new.allowances)
        yield GuardedChange(ResourceKind.QUEUE, queue.name, key, action, flavors=flavors, allowed=reason)


# --- quota tree -------------------------------------------------------------------------------------------------------


def compare_quota_trees(old: AckFleetPlan, new: AckFleetPlan) -> tuple[QuotaNodeChange, ...]:
    """Compare each node's minimum and maximum of accelerators, and how much of the minimum it lends."""
    quotas = compare_counts(_leaf_quotas(old.quotas), _leaf_quotas(new.quotas))
    return tuple(QuotaNodeChange(*key, *counts) for key, counts in quotas)


def _leaf_quotas(root: QuotaNodePlan | None) -> dict[tuple[str, str], tuple[int, int, int]]:
    """Return (node, resource) → (minimum, maximum, lent part of the minimum), in the order of the tree, if any."""
    if root is None:
        return {}
    return {
        (node.name, resource): (least, node.maximum[resource], (node.lend or {}).get(resource, least))
        for _, node in root.walk()
        for resource, least in node.minimum.items()
        if resource not in _NON_ACCELERATORS
    }


_NON_ACCELERATORS = ("cpu", "memory")
