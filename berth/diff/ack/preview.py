"""What the guard has to know of a fleet on Alibaba Cloud."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from berth.alibaba.fleet import alibaba_resources
from berth.diff.ack.resources import PROTECTED_BY_TYPE_ON_ACK, PROTECTED_ON_ACK
from berth.diff.changes import ChangeKind, FieldEffect, ResourceChange
from berth.diff.guard.allowances import GuardedAction, allowance_reason
from berth.diff.guard.changes import GuardedChange
from berth.diff.guard.classify import guarded_updates, updated_resources
from berth.diff.guard.guarantees import lost_guarantee, quota_number, vanished_guarantees
from berth.diff.guard.preview_rules import Expected, PreviewRules, connections
from berth.diff.guard.preview_steps import PreviewStep, is_hidden
from berth.diff.provider_inputs.effects import UpdateEffect
from berth.manifests.ack import ack_manifests
from berth.manifests.releases import kubernetes_provider
from berth.plan.ack import AckFleetPlan
from berth.registration import Registration
from berth.resource import ResourceKind

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
