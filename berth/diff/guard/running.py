"""Capacity that a preview takes away although admitted jobs hold it, by what kubectl prints of a cluster's workloads.

The file and the preview are from two moments, so it is compared only where the preview takes machines away.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from berth.diff.guard.allowances import PROTECTED_ON_GKE, GuardedAction
from berth.diff.guard.changes import GuardedChange
from berth.diff.guard.preview_rules import PreviewRules
from berth.diff.guard.preview_steps import PreviewStep
from berth.plan.fleet import FleetPlan
from berth.resource import IN_WORKER, ResourceKind

_NODE_POOL: Final = PROTECTED_ON_GKE[ResourceKind.NODE_POOL]
_RESERVATION: Final = PROTECTED_ON_GKE[ResourceKind.RESERVATION]


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
