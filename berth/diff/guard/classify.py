"""Classification of the steps of a preview: which protected resource each belongs to, and which updates are guarded.

Guarded updates in place switch protection off, or are refused by Google Cloud.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any, Final

from msgspec.structs import replace

from berth.diagnostics import join_words
from berth.diff.guard.allowances import CLUSTER_KEY, PROTECTED_BY_TYPE, UNPROTECTED, GuardedAction
from berth.diff.guard.changes import GuardedChange, names_by_key, worker_plan
from berth.diff.guard.preview_steps import PreviewStep, is_hidden
from berth.diff.kinds import ChangeKind, FieldEffect, ResourceChange, in_worker
from berth.diff.provider_inputs.effects import UpdateEffect, input_rules, word_for_input
from berth.kubeconfig import KubeconfigError, cluster_of
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


_DELETION_PROTECTION: Final = "deletionProtection"
_PROTECT: Final = "protect"
"""The key of the allowance that switches the protection of the whole stack off, and its name in the stack file."""
_CLUSTER_TYPE: Final = "gcp:container/cluster:Cluster"
_SUBNET_TYPE: Final = "gcp:compute/subnetwork:Subnetwork"
_RANGES: Final = "secondaryIpRanges"
PROVIDER_TYPE: Final = "pulumi:providers:kubernetes"
_CONNECTION: Final = ("kubeconfig", "context", "existing")
"""Inputs that say which cluster a stack's objects are in, beside the cluster's identifier."""
_KUBECONFIG_TEXT: Final = "a secret"
_NO_IDENTITY: Final = {"extensions", "disable-compression"}
"""Keys of a cluster in a kubeconfig that do not say which one it is."""


def guarded_updates(
    was_protected: bool,
    allowances: AllowancesPlan,
    changed: Iterable[ResourceChange],
    of_workers: Mapping[str, AllowancesPlan] = MappingProxyType({}),
) -> Iterator[GuardedChange]:
    """Yield updates that switch protection off or will fail; `allowChange` in the new stack file allows them.

    `was_protected` is whether the stack was protected before, `changed` are its resources, in a diff or a preview. The
    allowances are those of the new stack file and `of_workers` in it.
    """
    if was_protected and not allowances.protect:
        allowed = allowances.change.get(_PROTECT)
        yield GuardedChange(ResourceKind.PROTECTION, _PROTECT, _PROTECT, GuardedAction.UNPROTECT, allowed=allowed)
    for change in changed:
        worker, own_change = in_worker(change) or (None, change)
        own_allowances = of_workers.get(worker) if worker else allowances
        if own_allowances is not None and change.what != ChangeKind.REPLACED:
            for each in _guarded_fields(own_change, own_allowances):
                yield replace(each, name=f"{worker}{IN_WORKER}{each.name}", worker=worker) if worker else each


def worker_allowances(plan: FleetPlan) -> Mapping[str, AllowancesPlan]:
    """Return the allowances of each worker."""
    return {worker.name: worker.plan.allowances for worker in plan.workers}


def _guarded_fields(change: ResourceChange, allowances: AllowancesPlan) -> Iterator[GuardedChange]:
    refused = tuple(field for field in change.fields if field.does == UpdateEffect.REFUSED)
    if refused:
        is_pool = change.kind == ResourceKind.NODE_POOL
        name = (change.pool if is_pool else change.key) or change.key
        kind = ResourceKind.POOL if is_pool else change.kind
        yield GuardedChange(kind, name, name, GuardedAction.REFUSE, refused, allowed=allowances.change.get(name))
    redirected = tuple(each for each in change.fields if _is_other_connection(each.input, each.before, each.after))
    # The first kubeconfig of a fleet is the second step of its creation.
    if redirected and (change.kind == ResourceKind.CONNECTION or any(each.before for each in redirected)):
        allowed = UNPROTECTED if not allowances.protect else allowances.change.get(CLUSTER_KEY)
        yield GuardedChange(change.kind, change.key, CLUSTER_KEY, GuardedAction.REDIRECT, redirected, allowed=allowed)
    for field in change.fields:
        if change.kind == ResourceKind.CLUSTER and field.input == _DELETION_PROTECTION and not field.after:
            allowed, key = allowances.change.get(CLUSTER_KEY), CLUSTER_KEY
            yield GuardedChange(change.kind, key, key, GuardedAction.UNPROTECT, (field,), allowed=allowed)


def updated_resources(steps: Iterable[PreviewStep], made_here: Collection[str] = ()) -> Iterator[ResourceChange]:
    """Yield the clusters of a preview that lose their deletion protection, and the networks whose ranges change.

    The engine calls a changed range of pods or services an update, and Google Cloud refuses it. `made_here` are the
    clusters that the stack makes: workers, and "" for its own.
    """
    network = ResourceKind.NETWORK.value
    for step in steps:
        before, after = step.inputs
        protection = before.get(_DELETION_PROTECTION), after.get(_DELETION_PROTECTION)
        # The provider's default is true: an input that is not set protects.
        if step.type == _CLUSTER_TYPE and protection[0] is not False and protection[1] is False and before:
            field = FieldEffect(_DELETION_PROTECTION, _DELETION_PROTECTION, *protection, UpdateEffect.UPDATE)
            key = step.name.removesuffix("-cluster")
            yield ResourceChange(ResourceKind.CLUSTER, key, None, ChangeKind.UPDATED, (field,))
        if step.op == "update" and step.type == PROVIDER_TYPE:
            worker, slash, _ = step.name.rpartition(IN_WORKER)
            key = f"{worker}{slash}{CLUSTER_KEY}"
            if fields := tuple(redirected(step, made_here=worker in made_here)):
                yield ResourceChange(ResourceKind.CONNECTION, key, None, ChangeKind.UPDATED, fields)
        key = step.name.removesuffix("-subnet")
        if step.op == "update" and step.type == _SUBNET_TYPE and key.rpartition(IN_WORKER)[2] == network:
            ranges = tuple(_refused_ranges(before, after))
            yield ResourceChange(ResourceKind.NETWORK, key, None, ChangeKind.UPDATED, ranges)


def redirected(step: PreviewStep, *, made_here: bool = False) -> Iterator[FieldEffect]:
    """Yield what connects to a cluster in another way.

    Of the text of a kubeconfig its cluster counts, and not who reaches it; of a text that is hidden any change, unless
    this stack makes the cluster: then the preview has the change of the cluster too.
    """
    for name in _CONNECTION:
        old, new = (_named_connection(name, inputs.get(name)) for inputs in step.inputs)
        if old != new and _is_other_connection(name, old, new):
            yield FieldEffect(name, name, old, new, UpdateEffect.UPDATE)
        elif step.op != "same" and old == new == _KUBECONFIG_TEXT and not made_here and (shown := _other_text(step)):
            yield FieldEffect(name, name, *shown, UpdateEffect.UPDATE)


def _other_text(step: PreviewStep) -> tuple[str, str] | None:
    """Return how the texts of two kubeconfigs name other clusters; None if they name one."""
    texts = [inputs.get("kubeconfig") for inputs in step.inputs]
    if any(not isinstance(text, str) or is_hidden(text) for text in texts):
        return (_KUBECONFIG_TEXT, "another one") if _says_changed(step, "kubeconfig") else None
    if texts[0] == texts[1]:
        return None
    try:
        before, after = (cluster_of(str(inputs["kubeconfig"]), inputs.get("context")) for inputs in step.inputs)
    except KubeconfigError:
        return "a text", "another one"
    keys = sorted((before.keys() | after.keys()) - _NO_IDENTITY)
    others = [key for key in keys if before.get(key) != after.get(key)]
    if "server" in others:
        return before["server"], after["server"]
    return (before["server"], f"{before['server']} with another {join_words(others)}") if others else None


def _says_changed(step: PreviewStep, name: str) -> bool:
    """Whether the engine says that a hidden input changes, or no other one does."""
    if step.changed:
        return any(str(each).partition(".")[0] == name for each in step.changed)
    before, after = step.inputs
    return all(before.get(key) == after.get(key) for key in (before.keys() | after.keys()) - {name})


def _named_connection(name: str, value: object) -> object:
    """Return a path or context as it is, and the text of a kubeconfig, whether or not it is a secret, as what it is."""
    is_text = not isinstance(value, str) or "\n" in value or "{" in value or is_hidden(value)
    return _KUBECONFIG_TEXT if name == "kubeconfig" and value is not None and is_text else value


def _is_other_connection(name: str, before: object, after: object) -> bool:
    """Whether an input of a connection has another value; `./kube` and `kube` are one file."""
    if name == "kubeconfig" and isinstance(before, str) and isinstance(after, str):
        return PurePosixPath(before) != PurePosixPath(after)
    return name in _CONNECTION and before != after


def _refused_ranges(old_inputs: Mapping[str, Any], new_inputs: Mapping[str, Any]) -> Iterator[FieldEffect]:
    before, after = (
        {str(each["rangeName"]): str(each["ipCidrRange"]) for each in inputs.get(_RANGES) or ()}
        for inputs in (old_inputs, new_inputs)
    )
    for name in before.keys() & after.keys():
        if before[name] != after[name]:
            word = word_for_input(input_rules(_SUBNET_TYPE), f"{_RANGES}[{name}].ipCidrRange")
            yield FieldEffect(word, _RANGES, before[name], after[name], UpdateEffect.REFUSED)
