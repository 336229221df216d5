"""Guarded updates in place: protection that is switched off, and updates that Google Cloud refuses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from msgspec.structs import replace

from berth.diff.guard.allowances import CLUSTER_KEY, GuardedAction
from berth.diff.guard.changes import GuardedChange
from berth.diff.kinds import ChangeKind
from berth.diff.provider_inputs.effects import UpdateEffect
from berth.diff.resources import FieldEffect, ResourceChange, in_worker
from berth.plan.allowances import AllowancesPlan
from berth.resource import IN_WORKER, ResourceKind

DELETION_PROTECTION = "deletionProtection"
_PROTECT = "protect"
"""The key of the allowance that switches the protection of the whole stack off, and its name in the stack file."""


def guarded_updates(
    old: AllowancesPlan,
    new: AllowancesPlan,
    changed: Iterable[ResourceChange],
    of_workers: Mapping[str, AllowancesPlan] = MappingProxyType({}),
) -> tuple[GuardedChange, ...]:
    """Return updates that switch protection off or will fail; `allowChange` in the new stack file allows them.

    `of_workers` are the allowances of workers in the new stack file.
    """
    result = list(switched_off(old.protect, new))
    for change in changed:
        worker, own_change = in_worker(change) or (None, change)
        allowances = of_workers.get(worker) if worker else new
        if allowances is not None and change.what != ChangeKind.REPLACED:
            updates = _guarded_fields(own_change, allowances)
            result += (_in_worker(worker, each) for each in updates) if worker else updates
    return tuple(result)


def switched_off(was_protected: bool, allowances: AllowancesPlan) -> Iterator[GuardedChange]:
    """Yield the loss of protection of the whole fleet, if it is switched off."""
    if was_protected and not allowances.protect:
        allowed = allowances.change.get(_PROTECT)
        yield GuardedChange(ResourceKind.PROTECTION, _PROTECT, _PROTECT, GuardedAction.UNPROTECT, allowed=allowed)


def unprotected_cluster(effect: FieldEffect, allowances: AllowancesPlan) -> GuardedChange:
    """Return the guarded change of a cluster whose deletion protection is switched off."""
    allowed = allowances.change.get(CLUSTER_KEY)
    return GuardedChange(
        ResourceKind.CLUSTER, CLUSTER_KEY, CLUSTER_KEY, GuardedAction.UNPROTECT, (effect,), allowed=allowed
    )


def _guarded_fields(change: ResourceChange, allowances: AllowancesPlan) -> Iterator[GuardedChange]:
    refused: Sequence[FieldEffect] = tuple(field for field in change.fields if field.does == UpdateEffect.REFUSED)
    if refused:
        is_pool = change.kind == ResourceKind.NODE_POOL
        name = (change.pool if is_pool else change.key) or change.key
        kind = ResourceKind.POOL if is_pool else change.kind
        yield GuardedChange(kind, name, name, GuardedAction.REFUSE, tuple(refused), allowed=allowances.change.get(name))
    for field in change.fields:
        if change.kind == ResourceKind.CLUSTER and field.input == DELETION_PROTECTION and not field.after:
            yield unprotected_cluster(field, allowances)


def _in_worker(worker: str, change: GuardedChange) -> GuardedChange:
    return replace(change, name=f"{worker}{IN_WORKER}{change.name}", worker=worker)
