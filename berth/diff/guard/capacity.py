"""Machines that a preview takes away by an update in place, and capacity that it takes from admitted jobs.

A loss of nodes or reserved machines blocks if nothing of a fixed or reserved pool is left, or if less is left than the
new stack file guarantees. Anything else, and what spot and autoscaled pools lose, is named. What runs is what kubectl
prints of a cluster's workloads. That file and the preview are from two moments, so it is compared only where the
preview takes machines away.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from berth.diff.guard.allowances import PROTECTED_ON_GKE, GuardedAction
from berth.diff.guard.changes import GuardedChange, worker_plan
from berth.diff.guard.preview_steps import PreviewRules, PreviewStep
from berth.plan.fleet import FleetPlan, PoolPlan
from berth.resource import IN_WORKER, ResourceKind

_POOL: Final = PROTECTED_ON_GKE[ResourceKind.NODE_POOL]
_RESERVATION: Final = PROTECTED_ON_GKE[ResourceKind.RESERVATION]


def lost_capacity(steps: Iterable[PreviewStep], plan: FleetPlan) -> Iterator[GuardedChange]:
    """Yield the losses of machines in place, those that do not block as allowed with the reason."""
    for step in steps:
        if step.op != "update":
            continue
        worker, slash, name = step.name.rpartition(IN_WORKER)
        own = (worker_plan(plan, worker) if slash else plan) or plan
        found = None
        if step.type == _POOL.type_token:
            found = _lost_nodes(step, _POOL.resource_key(name), own)
        elif step.type == _RESERVATION.type_token:
            found = _lost_machines(step, _RESERVATION.resource_key(name), own)
        if found is not None:
            yield replace(found, name=f"{worker}{slash}{found.name}", worker=worker) if slash else found


def _lost_nodes(step: PreviewStep, key: str, plan: FleetPlan) -> GuardedChange | None:
    """Return the loss of nodes of a pool whose number is fixed before; None if it has as many afterwards."""
    before, after = (_fewest(inputs) for inputs in step.inputs)
    if before is None or after is None or after >= before:
        return None
    pool = next((each for each in plan.own_pools if any(n.key == key for n in each.node_pools)), None)
    old = step.inputs[0]
    config: Mapping[str, Any] = old.get("nodeConfig") or {}
    is_spot = bool(config.get("spot"))
    told = f"nodes {before} → {after}" if _is_fixed(step.inputs[1]) else f"fewest nodes {before} → {after}"
    name = pool.name if pool else key
    change = GuardedChange(ResourceKind.POOL, name, name, GuardedAction.SHRINK, parts=(told,))
    if is_spot or not _is_fixed(old):
        return replace(change, allowed="it is a spot pool" if is_spot else "the autoscaler removes what no pod needs")
    kept = None if pool is None or not _is_fixed(step.inputs[1]) else _pool_after(pool, key, after)
    return _judged(change, plan, pool, kept, is_empty=after == 0)


def _is_fixed(inputs: Mapping[str, Any]) -> bool:
    return not inputs.get("autoscaling")


def _fewest(inputs: Mapping[str, Any]) -> int | None:
    """Return the nodes that a node pool has at least: per zone, or of all zones; None if the inputs do not say."""
    scaling: Mapping[str, Any] = inputs.get("autoscaling") or {}
    zones = len(inputs.get("nodeLocations") or ()) or 1
    total = scaling.get("totalMinNodeCount")
    per_zone = scaling.get("minNodeCount") if scaling else inputs.get("nodeCount")
    if isinstance(total, int | float):
        return int(total)
    return int(per_zone) * zones if isinstance(per_zone, int | float) else 0 if scaling else None


def _pool_after(pool: PoolPlan, key: str, nodes: int) -> int:
    """Return the accelerators that a pool has with `nodes` nodes in one of its node pools."""
    each = next(node_pool for node_pool in pool.node_pools if node_pool.key == key)
    planned = (each.nodes_per_zone or 0) * max(1, len(each.zones))
    per_node = pool.accelerators.max // pool.nodes.max if pool.nodes.max else 0
    return max(0, pool.accelerators.max - (planned - nodes) * per_node)


def _lost_machines(step: PreviewStep, key: str, plan: FleetPlan) -> GuardedChange | None:
    """Return the loss of machines of a reservation that becomes smaller."""
    before, after = (_count(inputs) for inputs in step.inputs)
    if before is None or after is None or after >= before:
        return None
    told = f"machines {before} → {after}"
    allowance = _RESERVATION.allowance_key(key)
    change = GuardedChange(ResourceKind.RESERVATION, key, allowance, GuardedAction.SHRINK, parts=(told,))
    names = {key, *(each.name for each in plan.reservations if each.key == key)}
    for pool in (pool for pool in plan.own_pools if pool.reservation in names and pool.nodes.max):
        kept = min(pool.accelerators.max, after * (pool.accelerators.max // pool.nodes.max))
        judged = _judged(change, plan, pool, kept, is_empty=after == 0)
        if judged.allowed is None:
            return judged
    return _judged(change, plan, None, None, is_empty=after == 0)


def _count(inputs: Mapping[str, Any]) -> int | None:
    machines: Mapping[str, Any] = inputs.get("specificReservation") or {}
    count: object = machines.get("count")
    return int(count) if isinstance(count, int | float | str) and str(count).replace(".0", "").isdecimal() else None


def _judged(
    change: GuardedChange, plan: FleetPlan, pool: PoolPlan | None, kept: int | None, *, is_empty: bool
) -> GuardedChange:
    """Return the change, allowed if enough is left for what the stack file guarantees, or by `allowChange`."""
    flavor = next((each for each in plan.flavors if pool is not None and each.name == pool.flavor), None)
    if flavor is not None and pool is not None and kept is not None:
        left = flavor.capacity.max - pool.accelerators.max + kept
        if left < flavor.promised:
            told = f"{flavor.name} keeps {left} of {flavor.promised} guaranteed"
            change = replace(change, parts=(*change.parts, told))
            return replace(change, allowed=plan.allowances.change.get(change.key))
    if is_empty:
        return replace(change, allowed=plan.allowances.change.get(change.key))
    return replace(change, allowed="enough is left for what is guaranteed")


_NODE_POOL: Final = PROTECTED_ON_GKE[ResourceKind.NODE_POOL]


def guarding_what_runs(rules: PreviewRules, plan: object, running: Mapping[str, int]) -> PreviewRules:
    """Return the rules of the stack of `plan`, which block also what admitted jobs hold; only a fleet has jobs.

    `running` maps flavor to admitted accelerators of the fleet's own cluster, not of its workers.
    """
    if not running or not isinstance(plan, FleetPlan):
        return rules

    def losses(steps: Sequence[PreviewStep]) -> Iterator[GuardedChange]:
        yield from rules.losses(steps)
        yield from _capacity_below_running(steps, plan, running)

    return replace(rules, losses=losses)


def _capacity_below_running(
    steps: Iterable[PreviewStep], plan: FleetPlan, running: Mapping[str, int]
) -> Iterator[GuardedChange]:
    """Yield the pools that lose machines of a flavor of which more accelerators are admitted than remain.

    What remains is the capacity of the flavor in the new stack file; 0 of a flavor that it no longer has.
    """
    flavors = {pool.name: pool.flavor for pool in plan.own_pools}
    capacities = {flavor.name: flavor.capacity.max for flavor in plan.flavors}
    for pool, told in _smaller_pools(steps, plan):
        # The flavor of a pool that is gone is not known: any that the plan no longer has may be its.
        own = [flavors[pool]] if pool in flavors else sorted(running.keys() - capacities.keys())
        for flavor in own:
            admitted, kept = running.get(flavor, 0), capacities.get(flavor, 0)
            if admitted > kept:
                yield GuardedChange(
                    ResourceKind.POOL,
                    pool,
                    pool,
                    GuardedAction.SHRINK,
                    parts=(told, f"{flavor} keeps {kept} of {admitted} that admitted jobs hold"),
                    allowed=plan.allowances.change.get(pool),
                )


def _smaller_pools(steps: Iterable[PreviewStep], plan: FleetPlan) -> Iterator[tuple[str, str]]:
    """Yield the pools of the fleet's own cluster that have fewer machines at most afterwards, and the numbers."""
    by_key = {each.key: pool.name for pool in plan.own_pools for each in pool.node_pools}
    for step in steps:
        if IN_WORKER in step.name or step.op not in ("update", "delete"):
            continue
        if step.type == _NODE_POOL.type_token:
            before, after = map(_most_nodes, step.inputs)
            pools = [by_key.get(key := _NODE_POOL.resource_key(step.name), key)]
            noun = "nodes"
        elif step.type == _RESERVATION.type_token:
            before, after = map(_reserved_machines, step.inputs)
            key = _RESERVATION.resource_key(step.name)
            names = {key, *(each.name for each in plan.reservations if each.key == key)}
            pools, noun = [pool.name for pool in plan.own_pools if pool.reservation in names], "reserved machines"
        else:
            continue
        after = 0 if step.op == "delete" else after
        if before is not None and after is not None and after < before:
            yield from ((pool, f"at most {before} → {after} {noun}") for pool in pools)


def _most_nodes(inputs: Mapping[str, Any]) -> int | None:
    """Return the nodes that a node pool has at most in all zones; None if the inputs do not say."""
    scaling: Mapping[str, Any] = inputs.get("autoscaling") or {}
    if (total := scaling.get("totalMaxNodeCount")) is not None:
        return int(total)
    per_zone = scaling.get("maxNodeCount") if scaling else inputs.get("nodeCount")
    return None if per_zone is None else int(per_zone) * max(1, len(inputs.get("nodeLocations") or ()))


def _reserved_machines(inputs: Mapping[str, Any]) -> int | None:
    machines: Mapping[str, Any] = inputs.get("specificReservation") or {}
    count = machines.get("count")
    return None if count is None else int(count)
