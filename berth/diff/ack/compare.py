"""All changes between two plans of a fleet on Alibaba Cloud, and what the guard has to know of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from berth.alibaba.fleet import alibaba_resources
from berth.diff.ack.resources import (
    PROTECTED_BY_TYPE_ON_ACK,
    PROTECTED_ON_ACK,
    ack_guarded_changes,
    compare_ack_pools,
    compare_quota_trees,
)
from berth.diff.calm.loud import loud_differences
from berth.diff.changes import Changes
from berth.diff.entitlements import QuotaChanges, compare_quotas
from berth.diff.guard.allowances import GuardedAction, allowance_reason, unused_allowances
from berth.diff.guard.changes import GuardedChange
from berth.diff.guard.classify import guarded_updates, updated_resources
from berth.diff.guard.guarantees import guarantees_lost, lost_guarantee, quota_number, vanished_guarantees
from berth.diff.guard.preview_steps import Expected, PreviewRules, PreviewStep, connections, is_hidden
from berth.diff.kinds import ChangeKind, FieldEffect, ResourceChange
from berth.diff.lost_objects import lost_objects_of
from berth.diff.objects import Manifest, ObjectChange, ObjectKey, compare_manifests, keyed_manifests, moved_objects
from berth.diff.provider_inputs.effects import UpdateEffect
from berth.diff.resource_changes import compare_registered
from berth.diff.rights.compare import compare_team_rights
from berth.manifests.ack import ack_manifests
from berth.manifests.releases import kubernetes_provider
from berth.plan.ack import AckFleetPlan
from berth.planner.ack.elastic_quotas import reclaim_rules
from berth.registration import Registration
from berth.resource import ResourceKind


def compare_ack_fleets(old: AckFleetPlan, new: AckFleetPlan) -> Changes:
    """Compare two plans of a fleet on Alibaba Cloud, both without faults."""
    changed = (*compare_registered(alibaba_resources(old), alibaba_resources(new)), *_other_connection(old, new))
    allowances = old.allowances, new.allowances
    guarded = (
        *guarded_updates(old.allowances.protect, new.allowances, changed),
        *ack_guarded_changes(old, new, changed),
        *guarantees_lost(old, new, new.allowances),
    )
    objects = _compare_objects(old, new)
    guarded = (*guarded, *lost_objects_of(old, objects, {None: new.allowances}, guarded))
    changes = Changes(
        stack=new.stack,
        rights=compare_team_rights(old, new),
        entitlements=_compare_quotas(old, new),
        pools=compare_ack_pools(old, new, changed),
        things=tuple(change for change in changed if change.kind != ResourceKind.NODE_POOL),
        objects=objects,
        losses=guarded,
        idle=tuple(unused_allowances("", *allowances, {(loss.action, loss.key) for loss in guarded})),
    )
    return replace(changes, loud=loud_differences(changes, old, new))


def _other_connection(old: AckFleetPlan, new: AckFleetPlan) -> Iterator[ResourceChange]:
    """Yield another kubeconfig of an existing fleet, of which nothing is registered, and another existing member."""
    before, after = old.fleet, new.fleet
    if before.existing is not None and after.existing is not None:
        fields = tuple(
            FieldEffect(name, name, old_value, new_value, UpdateEffect.UPDATE)
            for name, old_value, new_value in (
                ("kubeconfig", before.kubeconfig, after.kubeconfig),
                ("existing", before.existing, after.existing),
            )
            if old_value != new_value
        )
        if fields:
            yield ResourceChange(ResourceKind.FLEET, ResourceKind.FLEET, None, ChangeKind.UPDATED, fields)
    known = {each.name: each.existing for each in old.members}
    for member in new.members:
        ids = known.get(member.name), member.existing
        if None not in ids and ids[0] != ids[1]:
            field = FieldEffect("existing", "existing", *ids, UpdateEffect.UPDATE)
            yield ResourceChange(ResourceKind.CLUSTER, member.name, None, ChangeKind.UPDATED, (field,))


def _compare_quotas(old: AckFleetPlan, new: AckFleetPlan) -> QuotaChanges:
    before, after = (() if plan.quotas is None else reclaim_rules(plan.quotas) for plan in (old, new))
    waits = tuple(any(policy.suspension for policy in plan.propagations) for plan in (old, new) if plan.propagations)
    return replace(
        compare_quotas(old, new, (before, after)),
        quota_tree=compare_quota_trees(old, new),
        queueing=waits if len(set(waits)) > 1 else (),
    )


def _compare_objects(old: AckFleetPlan, new: AckFleetPlan) -> tuple[ObjectChange, ...]:
    before, after = _objects(old), _objects(new)
    is_same_fleet = old.fleet.name == new.fleet.name
    return (
        compare_manifests(before, after) if is_same_fleet else tuple(moved_objects(before, after, ResourceKind.FLEET))
    )


def _objects(plan: AckFleetPlan) -> Mapping[ObjectKey, Manifest]:
    """Return the objects in the ACK One fleet, which are made once there is a kubeconfig to reach it."""
    return keyed_manifests(ack_manifests(plan), plan.teams) if plan.fleet.kubeconfig is not None else {}


_MEMBERSHIP = "alicloud:ackone/membershipAttachment:MembershipAttachment"
_NON_ACCELERATORS = ("cpu", "memory", "pods")


def ack_rules(plan: AckFleetPlan) -> PreviewRules:
    """Return the rules for a fleet; its program registers the stack itself, members, teams and priorities."""
    return PreviewRules(
        1 + len(plan.members) + len(plan.teams) + len(plan.priorities),
        partial(_lost_resource, plan=plan),
        partial(_losses, plan),
        lambda worker: plan.allowances,
        expected=partial(_expected, plan),
        guards_objects=True,
    )


def _expected(plan: AckFleetPlan) -> Expected:
    """Return what the program registers; without a kubeconfig of the fleet, no objects."""
    registrations = {
        (each.type, f"{resource.name}-{role}"): each
        for resource in alibaba_resources(plan)
        for role, each in resource.registrations().items()
    }
    providers = [("alibaba-cloud", Registration(type="pulumi:providers:alicloud", arguments={"region": plan.region}))]
    if (kubeconfig := plan.fleet.kubeconfig) is not None:
        of_fleet = kubernetes_provider(kubeconfig=kubeconfig, cluster_identifier=plan.fleet.name)
        providers.append(("fleet", of_fleet))
    objects = tuple(("", each) for each in ack_manifests(plan)) if kubeconfig is not None else ()
    return Expected(objects, registrations | connections(*providers))


def _lost_resource(step: PreviewStep, action: GuardedAction, plan: AckFleetPlan) -> GuardedChange | None:
    protected_kind = PROTECTED_BY_TYPE_ON_ACK.get(step.type)
    if protected_kind is None:
        return None
    if protected_kind.kind == ResourceKind.NODE_POOL:
        pool = _node_pool_name(step.name, step.inputs[0], plan)
        kept = any(pool == f"{member.name}/{each.name}" for member in plan.members for each in member.node_pools)
        allowance = protected_kind.allowance_key(pool)
        return GuardedChange(ResourceKind.POOL, pool, allowance, action, parts=(pool,), whole=not kept)
    key = ResourceKind.FLEET if protected_kind.kind == ResourceKind.FLEET else protected_kind.resource_key(step.name)
    return GuardedChange(protected_kind.kind, key, protected_kind.allowance_key(key), action)


def _node_pool_name(name: str, inputs: Mapping[str, Any], plan: AckFleetPlan) -> str:
    """Return `<member>/<node pool>` for a resource named `pool-<member>-<node pool>`; both may contain '-'."""
    for member in plan.members:
        for pool in member.node_pools:
            if pool.key == name:
                return f"{member.name}/{pool.name}"
    own_name = str(inputs.get("nodePoolName") or "")
    known = [member.name for member in plan.members if name.startswith(f"pool-{member.name}-")]
    member = name.removeprefix("pool-").removesuffix(f"-{own_name}") if own_name else max(known, key=len, default="")
    return f"{member}/{own_name or name.removeprefix(f'pool-{member}-')}"


def _losses(plan: AckFleetPlan, steps: Sequence[PreviewStep]) -> Iterator[GuardedChange]:
    yield from guarded_updates(False, plan.allowances, (*updated_resources(steps), *_other_members(steps)))
    yield from _removed_quota_leaves(plan, steps)


def _other_members(steps: Sequence[PreviewStep]) -> Iterator[ResourceChange]:
    """Yield memberships that get another existing cluster; one that the stack makes is unknown until it is made.

    The loss of a cluster that is deleted besides is its own.
    """
    cluster = PROTECTED_ON_ACK[ResourceKind.CLUSTER]
    gone = {
        cluster.resource_key(step.name) for step in steps if step.op == "delete" and step.type == cluster.type_token
    }
    for step in steps:
        name = step.name.removeprefix("fleet-")
        before, after = (inputs.get("subClusterId") for inputs in step.inputs)
        is_known = all(isinstance(each, str) and not is_hidden(each) for each in (before, after))
        if step.type == _MEMBERSHIP and name not in gone and is_known and before != after:
            field = FieldEffect("existing", "existing", before, after, UpdateEffect.UPDATE)
            yield ResourceChange(ResourceKind.CLUSTER, name, None, ChangeKind.UPDATED, (field,))


def _removed_quota_leaves(plan: AckFleetPlan, steps: Iterable[PreviewStep]) -> Iterator[GuardedChange]:
    """Yield removed leaves of the quota tree that had a guarantee."""
    for step in steps:
        if not step.type.endswith(":ElasticQuotaTree"):
            continue
        roots: list[Mapping[str, Any]] = [inputs.get("spec", {}).get("root", {}) for inputs in step.inputs]
        before, after = (dict(_guaranteed_leaves(root)) for root in roots)
        for name in sorted(before.keys() - after.keys()):
            if any(before[name].values()):
                key, action = f"clusterQueues.{name}", GuardedAction.DELETE
                reason = allowance_reason(action, key, plan.allowances)
                flavors = tuple(resource for resource, amount in before[name].items() if amount)
                yield GuardedChange(ResourceKind.QUEUE, name, key, action, flavors=flavors, allowed=reason)
        for name, had in vanished_guarantees(before, after):
            yield lost_guarantee(name, had, plan.allowances)


def _guaranteed_leaves(node: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, int]]]:
    """Yield each leaf with namespaces, and the accelerators that it guarantees."""
    if node.get("namespaces"):
        least: Mapping[str, object] = node.get("min") or {}
        yield str(node["name"]), {r: quota_number(n) for r, n in least.items() if r not in _NON_ACCELERATORS}
    for child in node.get("children") or ():
        yield from _guaranteed_leaves(child)
