"""Classification of the steps of a preview: which protected resource each belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from berth.diff.guard.allowances import CLUSTER_KEY, PROTECTED_BY_TYPE, GuardedAction
from berth.diff.guard.changes import GuardedChange, names_by_key, worker_plan
from berth.diff.guard.preview_steps import PreviewStep
from berth.plan.fleet import AllowancesPlan, FleetPlan
from berth.planner.machines.pools import SYSTEM
from berth.resource import IN_WORKER, ResourceKind

_SLICE_NAME = re.compile(r".+-\d+x\d+(x\d+)?-\d+")


def lost_resource(step: PreviewStep, action: GuardedAction, plan: FleetPlan) -> GuardedChange | None:
    """Return the loss of the resource of a step, without what allows it; None if the resource is not protected."""
    worker, slash, own_name = step.name.partition(IN_WORKER)
    if not slash:
        return _lost_in_cluster(step, step.name, action, plan)
    change = _lost_in_cluster(step, own_name, action, plan_of_worker(plan, worker))
    if change is None:
        return None
    key = change.key if change.kind != ResourceKind.QUEUE or worker_plan(plan, worker) else CLUSTER_KEY
    return replace(change, name=f"{worker}{IN_WORKER}{change.name}", key=key, worker=worker)


def plan_of_worker(plan: FleetPlan, name: str) -> FleetPlan:
    """Return a worker's plan, or an empty one if the fleet no longer has the worker."""
    return worker_plan(plan, name) or replace(plan, pools=(), cluster_queues=(), allowances=AllowancesPlan())


def _lost_in_cluster(step: PreviewStep, name: str, action: GuardedAction, plan: FleetPlan) -> GuardedChange | None:
    """Return the loss of a resource of one cluster, in which `name` is its name."""
    inputs = step.inputs[0]
    if step.type.endswith(":ClusterQueue"):
        return _lost_queue(name.removesuffix("-cluster-queue"), inputs, action)
    protected_kind = PROTECTED_BY_TYPE.get(step.type)
    if protected_kind is None:
        return None
    key = protected_kind.resource_key(name)
    if protected_kind.kind != ResourceKind.NODE_POOL:
        return GuardedChange(protected_kind.kind, key, protected_kind.allowance_key(key), action)
    if key == SYSTEM:
        return None
    pool = _pool_name(key, inputs, plan)
    # Without inputs and in no plan, the key is all that is known of the name in GKE.
    node_pool = str(inputs.get("name") or names_by_key(plan).get(key, key))
    kept = any(each.name == pool for each in plan.own_pools)
    allowance = protected_kind.allowance_key(key, pool)
    return GuardedChange(ResourceKind.POOL, pool, allowance, action, parts=(node_pool,), whole=not kept)


def _pool_name(key: str, inputs: Mapping[str, Any], plan: FleetPlan) -> str:
    """Return the pool of a node pool; for one that is no longer in the plan, derived from its key."""
    for pool in plan.pools:
        if any(each.key == key for each in pool.node_pools):
            return pool.name
    names = {pool.key: pool.name for pool in plan.own_pools}
    numbered = re.fullmatch(r"(.+)-\d+", key)
    pool_key = numbered[1] if numbered and _is_slice(numbered[1], key, inputs, plan) else key
    return names.get(pool_key, pool_key)


def _is_slice(pool_key: str, key: str, inputs: Mapping[str, Any], plan: FleetPlan) -> bool:
    """Return whether a node pool is a slice of a pool, by its inputs or, without inputs, by the plan.

    The name of a slice in GKE contains its topology (`v5e-2x4-1`), or is of the pool's `nodePoolName`. The name of any
    other node pool is its key, unless it has a `nodePoolName`.
    """
    placement: dict[str, Any] = inputs.get("placementPolicy") or {}
    if inputs:
        name = str(inputs.get("name") or "")
        if placement.get("tpuTopology") or (_SLICE_NAME.fullmatch(name) and name != key):
            return True
        if not (placement.get("policyName") and name != key):
            return False
    return any(
        each.key.startswith(f"{pool_key}-") for p in plan.own_pools if p.key == pool_key for each in p.node_pools
    )


def _lost_queue(name: str, inputs: Mapping[str, Any], action: GuardedAction) -> GuardedChange | None:
    """Return a queue with the flavors that it guarantees. Without inputs, Pulumi refused it, so it has a guarantee."""
    groups: Iterable[Mapping[str, Any]] = inputs.get("spec", {}).get("resourceGroups") or ()
    guaranteed_flavors = tuple(
        str(flavor["name"])
        for group in groups
        for flavor in group.get("flavors") or ()
        if any(str(each.get("nominalQuota", "0")) != "0" for each in flavor["resources"])
    )
    if inputs and not guaranteed_flavors:
        return None
    return GuardedChange(ResourceKind.QUEUE, name, f"clusterQueues.{name}", action, flavors=guaranteed_flavors)
