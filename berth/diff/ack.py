"""Comparison of fleets on Alibaba Cloud, of their previews, and what the guard protects in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from msgspec.structs import replace

from berth.alibaba.fleet import alibaba_resources
from berth.diff.compare import Changes
from berth.diff.entitlements import QuotaChanges, QuotaNodeChange, compare_counts, compare_quotas
from berth.diff.fields import compare_fields
from berth.diff.guard.allowances import GuardedAction, ProtectedKind, allowance_reason, unused_allowances
from berth.diff.guard.changes import GuardedChange, lost_resources, removed_guarantees
from berth.diff.guard.preview_file import PreviewStep
from berth.diff.guard.preview_rules import PreviewRules
from berth.diff.guard.updates import guarded_updates
from berth.diff.kinds import ChangeKind, FieldEffect, ResourceChange
from berth.diff.objects import ObjectChange, compare_manifests, keyed_manifests, moved_objects
from berth.diff.pools import NO_NODES, PoolChange, queues_of_flavor
from berth.diff.provider_inputs.effects import UpdateEffect
from berth.diff.resource_changes import compare_registered
from berth.diff.rights.compare import compare_team_rights
from berth.manifests.ack import ack_manifests
from berth.plan.ack import AckFleetPlan, AckNodePoolPlan, QuotaNodePlan
from berth.planner.ack.reclaim import reclaim_rules
from berth.registration import camel_case
from berth.resource import ResourceKind

_KIND_OF_RESOURCE_CHANGE = {
    ChangeKind.CREATED: ChangeKind.ADDED,
    ChangeKind.DELETED: ChangeKind.DELETED,
    ChangeKind.REPLACED: ChangeKind.REPLACED,
}
_ACK_KINDS: Final = (
    ProtectedKind(
        ResourceKind.CLUSTER, "alicloud:cs/managedKubernetes:ManagedKubernetes", "-cluster", "clusters.{key}", "member-"
    ),
    ProtectedKind(ResourceKind.NODE_POOL, "alicloud:cs/nodePool:NodePool", "", "{key}"),
    ProtectedKind(ResourceKind.FLEET, "alicloud:ackone/cluster:Cluster", "", "fleet"),
)
_PROTECTED: Final = {each.kind: each for each in _ACK_KINDS}
_PROTECTED_BY_TYPE: Final = {each.type_token: each for each in _ACK_KINDS}
_NON_ACCELERATORS = ("cpu", "memory", "pods")
_SIZE_FIELDS = ("nodes", "desiredSize", "scalingConfig")
"""Fields of a node pool, and inputs, that PoolChange reports as counts."""


def compare_ack_fleets(old: AckFleetPlan, new: AckFleetPlan) -> Changes:
    """Compare two plans of a fleet, both without faults."""
    changed = compare_registered(alibaba_resources(old), alibaba_resources(new))
    guarded = (
        *guarded_updates(old.allowances.protect, new.allowances, changed),
        *lost_resources(changed, _PROTECTED, _node_pools(new), (old.allowances, new.allowances), {}),
        *_removed_leaves(old, new),
    )
    used: set[tuple[str, str]] = {(loss.action, loss.key) for loss in guarded}
    return Changes(
        stack=new.stack,
        rights=compare_team_rights(old, new),
        entitlements=_compare_quotas(old, new),
        pools=_compare_pools(old, new, changed),
        things=tuple(change for change in changed if change.kind != ResourceKind.NODE_POOL),
        objects=_compare_objects(old, new),
        losses=guarded,
        idle=tuple(unused_allowances("", old.allowances, new.allowances, used)),
    )


def _removed_leaves(old: AckFleetPlan, new: AckFleetPlan) -> Iterator[GuardedChange]:
    """Yield the removed leaves of the quota tree that had a guarantee.

    A leaf is not a resource of its own, so Pulumi cannot protect it; its allowance may be part of the same change.
    """
    for queue, flavors in removed_guarantees(old, new):
        yield _removed_leaf(queue.name, flavors, new)


def _removed_leaf(name: str, flavors: tuple[str, ...], plan: AckFleetPlan) -> GuardedChange:
    key, action = f"clusterQueues.{name}", GuardedAction.DELETE
    allowed = allowance_reason(action, key, plan.allowances)
    return GuardedChange(ResourceKind.QUEUE, name, key, action, flavors=flavors, allowed=allowed)


def _compare_objects(old: AckFleetPlan, new: AckFleetPlan) -> tuple[ObjectChange, ...]:
    """Compare the objects in the ACK One fleet, which are made once there is a kubeconfig to reach it."""
    before, after = (
        keyed_manifests(ack_manifests(plan), plan.teams) if plan.fleet.kubeconfig is not None else {}
        for plan in (old, new)
    )
    if old.fleet.name == new.fleet.name:
        return compare_manifests(before, after)
    return tuple(moved_objects(before, after, ResourceKind.FLEET))


# --- node pools -------------------------------------------------------------------------------------------------------


def _compare_pools(old: AckFleetPlan, new: AckFleetPlan, changed: Iterable[ResourceChange]) -> tuple[PoolChange, ...]:
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
    return pool and (pool.instance_type, pool.gpu, pool.gpus, pool.nodes, pool.spot, pool.flavor)


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
            FieldEffect(camel_case(c.path), camel_case(c.path), c.before, c.after, UpdateEffect.UPDATE)
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


# --- quota tree -------------------------------------------------------------------------------------------------------


def _compare_quotas(old: AckFleetPlan, new: AckFleetPlan) -> QuotaChanges:
    """Compare the quotas of teams, and each node's minimum, maximum and lent part of the minimum of accelerators."""
    before, after = (() if plan.quotas is None else reclaim_rules(plan.quotas) for plan in (old, new))
    waits = tuple(any(policy.suspension for policy in plan.propagations) for plan in (old, new) if plan.propagations)
    nodes = compare_counts(_leaf_quotas(old.quotas), _leaf_quotas(new.quotas))
    return replace(
        compare_quotas(old, new, (before, after)),
        quota_tree=tuple(QuotaNodeChange(*key, *counts) for key, counts in nodes),
        queueing=waits if len(set(waits)) > 1 else (),
    )


def _leaf_quotas(root: QuotaNodePlan | None) -> dict[tuple[str, str], tuple[int, int, int]]:
    """Return (node, resource) → (minimum, maximum, lent part of the minimum), in the order of the tree, if any."""
    if root is None:
        return {}
    return {
        (node.name, resource): (least, node.maximum[resource], (node.lend or {}).get(resource, least))
        for _, node in root.walk()
        for resource, least in node.minimum.items()
        if resource not in ("cpu", "memory")
    }


# --- previews ---------------------------------------------------------------------------------------------------------


def ack_rules(plan: AckFleetPlan) -> PreviewRules:
    """Return the rules for a fleet; its program registers the stack itself, members, teams and priorities."""
    return PreviewRules(
        1 + len(plan.members) + len(plan.teams) + len(plan.priorities),
        partial(_lost_resource, plan),
        partial(_other_losses, plan),
        lambda worker: plan.allowances,
    )


def _lost_resource(plan: AckFleetPlan, step: PreviewStep, action: GuardedAction) -> GuardedChange | None:
    protected_kind = _PROTECTED_BY_TYPE.get(step.type)
    if protected_kind is None:
        return None
    if protected_kind.kind == ResourceKind.NODE_POOL:
        pool = _pool_name(step.name, step.inputs[0], plan)
        kept = any(pool == f"{member.name}/{each.name}" for member in plan.members for each in member.node_pools)
        allowance = protected_kind.allowance_key(pool)
        return GuardedChange(ResourceKind.POOL, pool, allowance, action, parts=(pool,), whole=not kept)
    key = ResourceKind.FLEET if protected_kind.kind == ResourceKind.FLEET else protected_kind.resource_key(step.name)
    return GuardedChange(protected_kind.kind, key, protected_kind.allowance_key(key), action)


def _pool_name(name: str, inputs: Mapping[str, Any], plan: AckFleetPlan) -> str:
    """Return `<member>/<node pool>` for a resource named `pool-<member>-<node pool>`; both may contain '-'."""
    for member in plan.members:
        for pool in member.node_pools:
            if pool.key == name:
                return f"{member.name}/{pool.name}"
    own_name = str(inputs.get("nodePoolName") or "")
    known = [member.name for member in plan.members if name.startswith(f"pool-{member.name}-")]
    member = name.removeprefix("pool-").removesuffix(f"-{own_name}") if own_name else max(known, key=len, default="")
    return f"{member}/{own_name or name.removeprefix(f'pool-{member}-')}"


def _other_losses(plan: AckFleetPlan, steps: Sequence[PreviewStep], was_protected: bool) -> Iterator[GuardedChange]:
    yield from guarded_updates(was_protected, plan.allowances, ())
    for step in steps:
        if not step.type.endswith(":ElasticQuotaTree"):
            continue
        roots: list[Mapping[str, Any]] = [inputs.get("spec", {}).get("root", {}) for inputs in step.inputs]
        before, after = (dict(_guaranteed_leaves(root)) for root in roots)
        for name in before.keys() - after.keys():
            if before[name]:
                yield _removed_leaf(name, before[name], plan)


def _guaranteed_leaves(node: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each leaf with namespaces, and the accelerators that it guarantees."""
    if node.get("namespaces"):
        least: Mapping[str, object] = node.get("min") or {}
        yield str(node["name"]), tuple(r for r, n in least.items() if r not in _NON_ACCELERATORS and str(n) != "0")
    for child in node.get("children") or ():
        yield from _guaranteed_leaves(child)
