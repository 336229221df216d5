"""Losses in a Pulumi preview of a fleet on Alibaba Cloud."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, cast

from berth.diff.ack.resources import PROTECTED_BY_TYPE_ON_ACK
from berth.diff.guard.allowances import GuardedAction, allowance_reason
from berth.diff.guard.changes import GuardedChange
from berth.diff.guard.classify import type_and_name
from berth.diff.guard.preview_rules import PreviewRules, Step
from berth.diff.guard.protected import GuardedResource
from berth.plan.ack import AckFleetPlan
from berth.resource import ResourceKind

_NON_ACCELERATORS = ("cpu", "memory", "pods")


def ack_rules(plan: AckFleetPlan) -> PreviewRules:
    """Return the rules for a fleet; its program registers the stack itself, members, teams and priorities."""
    return PreviewRules(
        1 + len(plan.members) + len(plan.teams) + len(plan.priorities),
        partial(_classify, plan),
        partial(_removed_quota_leaves, plan),
        lambda worker: plan.allowances,
    )


def _classify(plan: AckFleetPlan, urn: str, inputs: Mapping[str, Any]) -> GuardedResource | None:
    type_token, name = type_and_name(urn)
    protected_kind = PROTECTED_BY_TYPE_ON_ACK.get(type_token)
    if protected_kind is None:
        return None
    if protected_kind.kind == ResourceKind.NODE_POOL:
        pool = _node_pool_name(name, inputs, plan)
        kept = any(pool == f"{member.name}/{each.name}" for member in plan.members for each in member.node_pools)
        key = protected_kind.allowance_key(pool)
        return GuardedResource(ResourceKind.POOL, pool, key, node_pools=(pool,), whole=not kept)
    key = ResourceKind.FLEET if protected_kind.kind == ResourceKind.FLEET else protected_kind.resource_key(name)
    return GuardedResource(protected_kind.kind, key, protected_kind.allowance_key(key))


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


def _removed_quota_leaves(plan: AckFleetPlan, steps: Iterable[Step]) -> Iterator[GuardedChange]:
    """Yield removed leaves of the quota tree that had a guarantee."""
    for step in steps:
        if not str(step.get("urn", "")).rpartition("::")[0].endswith(":ElasticQuotaTree"):
            continue
        before, after = (dict(_guaranteed_leaves(_quota_root(step.get(state)))) for state in ("oldState", "newState"))
        for name in before.keys() - after.keys():
            if before[name]:
                key = f"clusterQueues.{name}"
                reason = allowance_reason(GuardedAction.DELETE, key, plan.allowances)
                yield GuardedChange(
                    ResourceKind.QUEUE, name, key, GuardedAction.DELETE, flavors=before[name], allowed=reason
                )


def _quota_root(state: object) -> Mapping[str, Any]:
    inputs: Mapping[str, Any] = cast("Mapping[str, Any]", state or {}).get("inputs") or {}
    return inputs.get("spec", {}).get("root", {})


def _guaranteed_leaves(node: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each leaf with namespaces, and the accelerators that it guarantees."""
    if node.get("namespaces"):
        least: Mapping[str, object] = node.get("min") or {}
        yield str(node["name"]), tuple(r for r, n in least.items() if r not in _NON_ACCELERATORS and str(n) != "0")
    for child in node.get("children") or ():
        yield from _guaranteed_leaves(child)
