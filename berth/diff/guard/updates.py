"""Guarded updates in place: protection that is switched off, and updates that Google Cloud refuses."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any, Final

from msgspec.structs import replace

from berth.diagnostics import join_words
from berth.diff.guard.allowances import CLUSTER_KEY, UNPROTECTED, GuardedAction
from berth.diff.guard.changes import GuardedChange
from berth.diff.guard.preview_steps import PreviewStep, is_hidden
from berth.diff.kinds import ChangeKind, FieldEffect, ResourceChange, in_worker
from berth.diff.provider_inputs.effects import UpdateEffect, input_rules, word_for_input
from berth.kubeconfig import KubeconfigError, cluster_of
from berth.plan.fleet import AllowancesPlan, FleetPlan
from berth.resource import IN_WORKER, ResourceKind

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
