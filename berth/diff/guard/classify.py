"""Classification of Pulumi resources: which protected resource a URN and inputs belong to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from berth.diff.guard.allowances import CLUSTER_KEY
from berth.diff.guard.changes import node_pool_names, worker_plan
from berth.diff.guard.protected import PROTECTED_BY_TYPE, GuardedResource
from berth.plan.allowances import AllowancesPlan
from berth.plan.fleet import FleetPlan
from berth.planner.machines.pools import SYSTEM
from berth.resource import IN_WORKER, ResourceKind

_SLICE_NAME = re.compile(r".+-\d+x\d+(x\d+)?-\d+")


def classify_urn(urn: str, inputs: Mapping[str, Any], plan: FleetPlan) -> GuardedResource | None:
    """Classify a resource by its URN; None if it is not protected."""
    type_token, name = type_and_name(urn)
    worker, slash, own_name = name.partition(IN_WORKER)
    if not slash:
        return _classify_in_cluster(type_token, name, inputs, plan)
    resource = _classify_in_cluster(type_token, own_name, inputs, plan_of_worker(plan, worker))
    if resource is None:
        return None
    key = resource.key if resource.kind != ResourceKind.QUEUE or worker_plan(plan, worker) else CLUSTER_KEY
    return replace(resource, name=f"{worker}{IN_WORKER}{resource.name}", key=key, worker=worker)


def type_and_name(urn: str) -> tuple[str, str]:
    """Return the type of a resource, and its name in the program."""
    types, _, name = urn.rpartition("::")
    return types.rpartition("::")[2].rpartition("$")[2], name


def plan_of_worker(plan: FleetPlan, name: str) -> FleetPlan:
    """Return a worker's plan, or an empty one if the fleet no longer has the worker."""
    return worker_plan(plan, name) or replace(plan, pools=(), cluster_queues=(), allowances=AllowancesPlan())


def _classify_in_cluster(
    type_token: str, name: str, inputs: Mapping[str, Any], plan: FleetPlan
) -> GuardedResource | None:
    if type_token.endswith(":ClusterQueue"):
        return _guarded_queue(name.removesuffix("-cluster-queue"), inputs)
    protected_kind = PROTECTED_BY_TYPE.get(type_token)
    if protected_kind is None:
        return None
    key = protected_kind.resource_key(name)
    if protected_kind.kind != ResourceKind.NODE_POOL:
        return GuardedResource(protected_kind.kind, key, protected_kind.allowance_key(key))
    pool = _pool_name(key, inputs, plan)
    kept = any(each.name == pool for each in plan.own_pools)
    allowance = protected_kind.allowance_key(key, pool)
    if key == SYSTEM:
        return None
    return GuardedResource(
        ResourceKind.POOL, pool, allowance, node_pools=(_node_pool_name(key, inputs, plan),), whole=not kept
    )


def _node_pool_name(key: str, inputs: Mapping[str, Any], plan: FleetPlan) -> str:
    """Return the name in GKE of a node pool; its key, if Pulumi reports only the URN and the plan no longer has it."""
    return str(inputs.get("name") or node_pool_names(plan).get(key, key))


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


def _guarded_queue(name: str, inputs: Mapping[str, Any]) -> GuardedResource | None:
    """Return a queue with the flavors that it guarantees. Without inputs, Pulumi refused it, so it has a guarantee."""
    groups: Iterable[Mapping[str, Any]] = inputs.get("spec", {}).get("resourceGroups") or ()
    guaranteed_flavors = tuple(
        str(flavor["name"])
        for group in groups
        for flavor in group.get("flavors") or ()
        if any(str(each.get("nominalQuota", "0")) != "0" for each in flavor["resources"])
    )
    return (
        GuardedResource(ResourceKind.QUEUE, name, f"clusterQueues.{name}", flavors=guaranteed_flavors)
        if guaranteed_flavors or not inputs
        else None
    )
