"""What a real preview of a fleet on Alibaba Cloud is about to lose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from berth.diff.guard.changes import DELETE, Loss, allowed
from berth.diff.guard.protected import BY_RESOURCE
from berth.diff.resources import FLEET, NODE_POOL
from berth.plan.ack import AckFleetPlan

_BASIC = ("cpu", "memory", "pods")


def dear_on_ack(type_token: str, name: str, inputs: Mapping[str, Any], plan: AckFleetPlan) -> Loss | None:
    """What a resource is to the guard, by its type and its name in the program; None where it is nothing dear."""
    dear = BY_RESOURCE.get(type_token)
    if dear is None:
        return None
    if dear.kind == NODE_POOL:
        pool = _node_pool(name, inputs, plan)
        kept = any(pool == f"{member.name}/{each.name}" for member in plan.members for each in member.node_pools)
        return Loss("pool", pool, dear.allowed_as(pool), "", parts=(pool,), whole=not kept)
    key = FLEET if dear.kind == FLEET else dear.key(name)
    return Loss(dear.kind, key, dear.allowed_as(key), "")


def _node_pool(name: str, inputs: Mapping[str, Any], plan: AckFleetPlan) -> str:
    """`<member>/<node pool>` of a resource called `pool-<member>-<node pool>`; either may hold a '-' itself."""
    for member in plan.members:
        for pool in member.node_pools:
            if pool.key == name:
                return f"{member.name}/{pool.name}"
    own = str(inputs.get("nodePoolName") or "")
    known = [member.name for member in plan.members if name.startswith(f"pool-{member.name}-")]
    member = name.removeprefix("pool-").removesuffix(f"-{own}") if own else max(known, key=len, default="")
    return f"{member}/{own or name.removeprefix(f'pool-{member}-')}"


def leaves_lost(steps: Iterable[Mapping[str, Any]], plan: AckFleetPlan) -> Iterator[Loss]:
    """Leaves of the quota tree that guaranteed something, and are not in it any more."""
    for step in steps:
        if not str(step.get("urn", "")).rpartition("::")[0].endswith(":ElasticQuotaTree"):
            continue
        before, after = (dict(_leaves(_root(step.get(state)))) for state in ("oldState", "newState"))
        for name in before.keys() - after.keys():
            if before[name]:
                key = f"clusterQueues.{name}"
                reason = allowed(DELETE, key, plan.allowances)
                yield Loss("queue", name, key, DELETE, flavors=before[name], allowed=reason)


def _root(state: object) -> Mapping[str, Any]:
    inputs: Mapping[str, Any] = cast("Mapping[str, Any]", state or {}).get("inputs") or {}
    return inputs.get("spec", {}).get("root", {})


def _leaves(node: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each leaf that namespaces belong to, with the accelerators of which it guarantees something."""
    if node.get("namespaces"):
        least: Mapping[str, object] = node.get("min") or {}
        yield str(node["name"]), tuple(r for r, n in least.items() if r not in _BASIC and str(n) != "0")
    for child in node.get("children") or ():
        yield from _leaves(child)
