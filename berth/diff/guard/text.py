"""Text for guarded changes: what would be lost, and what allows it."""

from __future__ import annotations

from berth.diagnostics import join_words
from berth.diff.fields import format_change
from berth.diff.guard.allowances import ALLOWANCE_SECTION, IN_PLACE, GuardedAction, IdleAllowance
from berth.diff.guard.changes import GuardedChange
from berth.diff.renames import BEFORE
from berth.names import to_camel
from berth.resource import ResourceKind, resource_title
from berth.text import NODES_WITHOUT_ACCOUNT

_WITH_QUEUES = ("namespaces.", "clusterQueues.", "localQueues.")
"""How keys of objects begin that are lost with jobs."""
PROTECTION_OFF = "the protection of everything in this stack would be switched off (protect: false)"
_ACCOUNTS = (ResourceKind.NODE_IDENTITY, ResourceKind.TEAM_IDENTITY)
_PAST_PARTICIPLE = {GuardedAction.REPLACE: "replaced", GuardedAction.DELETE: "deleted"}


def describe_guarded_change(change: GuardedChange) -> str:
    """Return what would be lost and why: `pool v5e would be replaced, because topology changes`."""
    if change.action in IN_PLACE:
        return _describe_guarded_update(change)
    if change.kind == ResourceKind.OBJECT:
        return f"{change.name} would be {_PAST_PARTICIPLE[change.action]}, {join_words(list(change.parts))}"
    if change.kind in _ACCOUNTS:
        certainty = "may run" if change.kind == ResourceKind.NODE_IDENTITY else "run"
        return (
            f"service account {change.name} would be {_PAST_PARTICIPLE[change.action]}, and nodes of {_pools(change)} "
            f"{certainty} as it: {NODES_WITHOUT_ACCOUNT}"
        )
    name, which = resource_title(change.kind, change.name), join_words(list(change.parts))
    if change.kind == ResourceKind.QUEUE:
        flavors_suffix = (
            f" of {join_words(list(change.flavors))}" if change.flavors else ""
        )  # a refusal by the engine names no flavors
        with_cluster = " with its cluster" if any(f.path == ResourceKind.CLUSTER for f in change.because) else ""
        action = f"{_PAST_PARTICIPLE[change.action]}{with_cluster}"
        return f"{name} would be {action}, and its guarantee{flavors_suffix} would be lost"
    why = _reasons(change)
    reason_suffix = f", because {why}" if why else ""
    if change.kind == ResourceKind.POOL and change.action == GuardedAction.DELETE and not change.whole:
        return f"{name} would lose its node pool{'s' if len(change.parts) > 1 else ''} {which}{reason_suffix}"
    also = f" (node pools {which})" if len(change.parts) > 1 else ""
    return f"{name} would be {_PAST_PARTICIPLE[change.action]}{also}{reason_suffix}"


def _reasons(change: GuardedChange) -> str:
    """Return `topology changes`, `name and zones change`, or `network is replaced`."""
    fields = [*dict.fromkeys(to_camel(f.path.partition("[")[0]) for f in change.because if f.input)]
    changed = [f"{join_words(fields)} change{'s' if len(fields) == 1 else ''}"] if fields else []
    replaced = [*dict.fromkeys(f.path for f in change.because if not f.input)]
    verb = "is" if len(replaced) == 1 else "are"
    return " and ".join([*changed, *([f"{join_words(replaced)} {verb} replaced"] if replaced else [])])


def _describe_guarded_update(change: GuardedChange) -> str:
    if change.kind == ResourceKind.PROTECTION:
        return PROTECTION_OFF
    name, what = resource_title(change.kind, change.name), join_words(list(change.parts))
    if change.action == GuardedAction.WEAKEN:
        return f"{name} would lose {what}"
    if change.action == GuardedAction.SHRINK and change.kind == ResourceKind.QUEUE:
        return f"{name} would stay without any guarantee ({what})"
    if change.action == GuardedAction.SHRINK:
        return f"{name} would lose machines ({what})"
    if change.action == GuardedAction.UNPROTECT:
        return f"the deletion protection of {name} would be switched off (deletionProtection: false)"
    fields = join_words([f"{to_camel(f.path)} {format_change(f.before, f.after)}" for f in change.because])
    if change.action == GuardedAction.REDIRECT:
        return f"{name} would change, which may be another cluster ({fields})"
    return f"{name}: this update will fail, because Google Cloud refuses to change {fields} in place"


def describe_remedy(change: GuardedChange) -> str:
    """Return how to allow a blocked change."""
    if change.kind in _ACCOUNTS:
        return _account_remedy(change)
    is_worker_allowance = change.worker and not change.key.startswith("clusterQueues.")
    section = f"{f'workers.{change.worker}.' if is_worker_allowance else ''}{ALLOWANCE_SECTION[change.action]}"
    allowance = f'{section}: {{{change.key}: "<why>"}}'.replace(BEFORE, "")
    if change.kind == ResourceKind.OBJECT and change.action == GuardedAction.DELETE:
        if change.key.startswith("clusterQueues."):
            return "to allow it, first deploy a change that drains the queue (stopPolicy: HoldAndDrain); then this one"
        if change.kept_by:
            return f"to keep it, write {change.kept_by} in its entry of namespaces; to allow it, add {allowance}"
        drained = ", or first deploy a change that drains its queues (state: drained)"
        return f"to allow it, add {allowance}{drained if change.key.startswith(_WITH_QUEUES) else ''}"
    if change.action == GuardedAction.SHRINK and change.kind == ResourceKind.QUEUE:
        return f"to allow it, add {allowance}, or first drain the queue (stopPolicy: HoldAndDrain)"
    if change.action == GuardedAction.REFUSE:
        return f"revert the change, or create a new cluster with it; if nothing uses the setting yet, add {allowance}"
    if change.first:
        drain_hint = (
            ", or drains it (stopPolicy: HoldAndDrain)"
            if change.kind == ResourceKind.QUEUE and change.action == GuardedAction.DELETE
            else ""
        )
        return f"to allow it, first deploy a change that adds {allowance}{drain_hint}; then this one"
    return f"to allow it, add {allowance}{_queued_hint(change)}"


def _account_remedy(change: GuardedChange) -> str:
    if change.action == GuardedAction.REPLACE:
        return f"undo what replaces the account, or first move {_pools(change)} to another one (berth rotate)"
    if change.kind == ResourceKind.TEAM_IDENTITY:
        return f"keep teams.<team>.identity.impersonate, or first give {_pools(change)} another serviceAccount"
    return (
        f"write serviceAccount: {change.name} in {_pools(change)}, and Berth keeps the account; if its nodes run as "
        "another one, write that (gcloud container node-pools describe)"
    )


def _pools(change: GuardedChange) -> str:
    return f"{'pools' if len(change.parts) > 1 else 'pool'} {join_words(list(change.parts))}"


def _queued_hint(change: GuardedChange) -> str:
    """Return other ways to switch queued provisioning on, which GKE does in place and the provider does not."""
    if change.action != GuardedAction.REPLACE or not any(
        f.input == "queuedProvisioning" and f.after for f in change.because
    ):
        return ""
    command = f"berth rotate STACK {change.name} --set capacity=queued"
    return (
        f"; `{command}` prints steps that lose no job. GKE itself switches queued provisioning on in place, and the "
        "provider does not (docs/adopt.md)"
    )


def describe_idle_allowance(allowance: IdleAllowance) -> str:
    """Return a sentence on an allowance that this change does not need."""
    key = f"{allowance.section}.{allowance.key}"
    return f"{key} is not used by this change, and leaves the resource unprotected; remove it"
