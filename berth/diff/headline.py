"""The headline of a change: who loses, who gains, what is replaced or deleted, what is blocked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from berth.diagnostics import join_words
from berth.diff.calm.phrases import loud_parts
from berth.diff.changes import Changes
from berth.diff.entitlements import CohortQuotaChange, TeamChange, TeamQuotaChange
from berth.diff.guard.allowances import GuardedAction
from berth.diff.guard.changes import GuardedChange
from berth.diff.in_time.compare import calendar_parts
from berth.diff.kinds import ChangeKind
from berth.diff.objects import ObjectChange
from berth.diff.rights.changes import RightChange
from berth.diff.settings import SettingChange
from berth.diff.text import (
    EMPHASIZED,
    EMPHASIZED_KINDS,
    UNMANAGED_TEXT,
    describe_priority_order,
    describe_queueing,
    describe_reclaim,
    describe_referrer,
    describe_right,
    describe_stop,
    up_to_prefix,
)
from berth.diff.workers import WorkerChange
from berth.resource import IN_WORKER, ResourceKind, resource_title
from berth.text import pluralize
from berth.upgrade.document import upgrade_headline

_MAX_NAMES = 3
"""Maximum number of names in a headline; more are counted instead."""


def headline(changes: Changes) -> str:
    """Return the change in one line: rights, who loses, what is replaced or deleted, who gains, what is blocked."""
    quota_changes = changes.entitlements
    losses = [*_right_parts(changes.rights), *_team_parts(quota_changes.teams, gains=False)]
    gains = _team_parts(quota_changes.teams, gains=True)
    for parts, sign in ((losses, -1), (gains, 1)):
        parts += _quota_parts(quota_changes.entitlements, sign)
        if not any(each.guaranteed.delta for each in quota_changes.entitlements):
            parts += _cohort_parts(quota_changes.cohorts, sign)
    losses += calendar_parts([each for each in quota_changes.calendar if each.takes])
    gains += calendar_parts([each for each in quota_changes.calendar if each.gives and not each.takes])
    losses += [describe_referrer(each) for each in changes.referrers if each.is_other_cluster or each.room.delta < 0]
    losses += [each.sentence for each in changes.dependents]
    losses += [describe_queueing(quota_changes.queueing)] if quota_changes.queueing else []
    losses += _namespace_parts(changes.objects)
    for stop in quota_changes.stops:
        (gains if stop.what == ChangeKind.RESUMED else losses).append(describe_stop(stop))
    for reclaim in quota_changes.reclaim:
        (gains if reclaim.can else losses).append(describe_reclaim(reclaim))
    losses += [
        f"{-each.spare.delta} {each.noun} of {each.flavor} are no longer spare"
        for each in quota_changes.flavors
        if each.spare.delta < 0
    ]
    losses += [each.text for each in quota_changes.buffers if each.less]
    losses += [describe_priority_order(quota_changes.priority_order)] if quota_changes.priority_order else []
    replaced = [each for each in changes.objects if each.what == ChangeKind.REPLACED and not each.is_moved]
    if names := list(dict.fromkeys(each.name for each in replaced if each.kind == "PriorityClass")):
        losses.append(f"PriorityClass {join_words(names)} {'are' if names[1:] else 'is'} REPLACED")
    losses += _worker_and_resource_parts(changes)
    entries = [("workload", each.workload, each.what) for each in changes.workloads]
    losses += _parts_of_kinds([*entries, *((each.kind, each.name, each.what) for each in changes.files)])
    losses += [upgrade_headline(changes.upgrade)] if changes.upgrade else []
    losses += loud_parts([each for each in changes.loud if each.what not in _ARRIVALS])
    losses += _settings_parts(changes.settings)
    gains += loud_parts([each for each in changes.loud if each.what in _ARRIVALS])
    gains += [
        f"{each.spare.delta} {each.noun} of {each.flavor} are kept spare"
        for each in quota_changes.flavors
        if each.spare.delta > 0
    ]
    gains += [each.text for each in quota_changes.buffers if not each.less]
    parts = [*losses, *gains, *_closing_parts(changes), *_warning_parts(changes)]
    if not parts:
        parts.append("nothing changes" if changes.is_empty else "no team gains or loses, and nothing is replaced")
    return f"{changes.stack}: {'; '.join(parts)}"


_ARRIVALS = (ChangeKind.ADDED, ChangeKind.CREATED)
_GOOD_FOR_TEAMS = (ChangeKind.ADDED, ChangeKind.RESUMED, ChangeKind.RENAMED)


def _team_parts(teams: Sequence[TeamChange], *, gains: bool) -> list[str]:
    """Return the teams that come, resume or are renamed (`gains`), or those that go or stop."""
    chosen = [("team", each.team, each.what) for each in teams if (each.what in _GOOD_FOR_TEAMS) == gains]
    return list(_parts_of_kinds(chosen, names_kind=False))


def _warning_parts(changes: Changes) -> Iterator[str]:
    """Yield how many values of the new stack file no table of facts has, and how many new warnings it accepts."""
    if count := sum(line.endswith("-unknown]") for line in changes.warnings):
        yield f"{pluralize(count, 'value')} {'is' if count == 1 else 'are'} unknown to Berth"
    if count := len(changes.newly_accepted):
        codes = ", ".join(sorted(set(changes.newly_accepted)))
        yield f"{pluralize(count, 'warning')} {'is' if count == 1 else 'are'} newly accepted ({codes})"


def _settings_parts(settings: Sequence[SettingChange]) -> Iterator[str]:
    """Yield the keys beside the fleet that differ; what they do is not planned."""
    names = [each.path for each in settings]
    if len(names) > _MAX_NAMES:
        names = [*names[:_MAX_NAMES], f"{len(names) - _MAX_NAMES} more"]
    if names:
        yield f"beside the fleet {join_words(names)} {'change' if names[1:] else 'changes'}"


def _closing_parts(changes: Changes) -> Iterator[str]:
    """Yield the closing phrases: quiet rights, guarded updates, unused allowances, the number of blocked changes."""
    kept = sum(right.what == ChangeKind.KEPT and not right.is_loud for right in changes.rights)
    quiet = sum(not (right.is_loud or right.is_alert) for right in changes.rights) - kept
    if kept:
        yield f"GKE keeps {pluralize(kept, 'limit')} that the stack file no longer has"
    if quiet:
        yield f"{pluralize(quiet, 'right')} {'is' if quiet == 1 else 'are'} removed or narrowed"
    yield from _guarded_update_parts(changes.losses)
    if changes.idle:
        yield pluralize(len(changes.idle), "unused allowance")
    if changes.blocked:
        yield f"{len(changes.blocked)} blocked"


def _parts_of_kinds(changes: Sequence[tuple[str, str, ChangeKind]], *, names_kind: bool = True) -> Iterator[str]:
    """Yield a phrase for each kind of entry and change; `changes` are kind, name and change of each entry."""
    for kind, what in dict.fromkeys((kind, what) for kind, _, what in changes):
        names = [name for entry_kind, name, entry_change in changes if (entry_kind, entry_change) == (kind, what)]
        plural = kind if kind.endswith("s") else f"{kind}s"
        noun = f"{plural if names[1:] else kind} " if names_kind else ""
        who = f"{len(names)} {plural}" if len(names) > _MAX_NAMES else f"{noun}{join_words(names)}"
        yield f"{who} {'are' if names[1:] else 'is'} {EMPHASIZED.get(what, what)}"


def _guarded_update_parts(guarded: Sequence[GuardedChange]) -> Iterable[str]:
    for change in guarded:
        name = resource_title(change.kind, change.name)
        if change.action == GuardedAction.UNPROTECT:
            yield (
                "protection is switched off"
                if change.kind == ResourceKind.PROTECTION
                else f"{name} loses its deletion protection"
            )
        elif change.action == GuardedAction.SHRINK:
            yield f"{name} stays without any guarantee"
        elif change.action == GuardedAction.REDIRECT:
            yield f"{name} may be another cluster"
        elif change.action == GuardedAction.REFUSE:
            yield f"the update of {name} will fail"
        elif change.kind in (ResourceKind.NODE_IDENTITY, ResourceKind.TEAM_IDENTITY):
            pools = f"pool{'s' if change.parts[1:] else ''} {join_words(list(change.parts))}"
            yield f"the service account of {pools} is DELETED"


def _right_parts(rights: Sequence[RightChange]) -> Iterator[str]:
    """Yield the rights that are added or widened, those that give most first; the rest is counted by what it gives.

    Removed alerts come before.
    """
    alerts, loud = ([right for right in rights if right.is_loud and right.is_alert == want] for want in (True, False))
    if len(alerts) > _MAX_NAMES:
        yield f"{len(alerts)} alerts are removed"
    else:
        yield from map(describe_right, alerts)
    yield from map(describe_right, loud[:_MAX_NAMES])
    rest = loud[_MAX_NAMES:]
    if rest:
        kinds = Counter(right.right for right in rest)
        counts = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        yield f"{pluralize(len(rest), 'more right')} added, widened or changed ({counts})"


def _namespace_parts(objects: Sequence[ObjectChange]) -> Iterator[str]:
    """Yield the namespaces that are deleted while their cluster remains."""
    deleted = [each for each in objects if each.what == ChangeKind.DELETED and not each.worker]
    names = [each.name for each in deleted if each.kind == "Namespace"]
    if len(names) > _MAX_NAMES:
        yield f"{len(names)} namespaces are DELETED, with everything in them"
    else:
        yield from (f"namespace {name} is DELETED, with everything in it" for name in names)


def _quota_parts(entitlements: Sequence[TeamQuotaChange], sign: int) -> Iterator[str]:
    """Yield the teams whose guarantees change in a direction, then those whose ceilings do and guarantees do not."""
    verb, word = ("lose", "less") if sign < 0 else ("gain", "more")
    quotas = [each for each in entitlements if each.guaranteed.delta * sign > 0]
    teams = list(dict.fromkeys(each.team for each in quotas))
    if len(teams) > _MAX_NAMES:
        yield f"{len(teams)} teams {verb} guarantees"
    else:
        yield from (f"{team} {verb}s {_join_guarantees(e for e in quotas if e.team == team)}" for team in teams)
    others = {each.team for each in entitlements if each.guaranteed.delta}
    changed = [each for each in entitlements if each.ceiling.delta * sign > 0 and each.team not in others]
    if names := list(dict.fromkeys(each.team for each in changed)):
        yield f"{f'{len(names)} teams' if len(names) > _MAX_NAMES else join_words(names)} can use {word}"


def _cohort_parts(totals: Sequence[CohortQuotaChange], sign: int) -> Iterator[str]:
    """Yield the cohorts whose guarantees change in a direction although no team's does."""
    names = list(dict.fromkeys(total.cohort for total in totals if total.guaranteed.delta * sign > 0))
    verb = "lose" if sign < 0 else "gain"
    if len(names) > _MAX_NAMES:
        yield f"{len(names)} cohorts {verb} guarantees"
        return
    for name in names:
        changed = [each for each in totals if each.cohort == name and each.guaranteed.delta * sign > 0]
        yield f"cohort {name} {verb}s {_join_guarantees(changed)}"


def _join_guarantees(changes: Iterable[TeamQuotaChange | CohortQuotaChange]) -> str:
    """Return `8 of 16 guaranteed v5e chips`, for every flavor."""
    phrases: list[str] = []
    for change in changes:
        gain, before = change.guaranteed.delta, change.guaranteed.before
        amount = f"all {before}" if gain == -before else f"{-gain} of {before}" if gain < 0 else str(gain)
        flavor = "" if change.flavor in change.noun else f" ({change.flavor})"
        phrases.append(f"{amount} guaranteed {change.noun}{flavor}")
    return join_words(phrases)


def _worker_part(change: WorkerChange) -> Iterator[str]:
    """Yield what happens to a worker; a renamed one stands once."""
    what = {**EMPHASIZED, ChangeKind.UNMANAGED: UNMANAGED_TEXT}.get(change.what, change.what)
    if change.what == ChangeKind.RENAMED:
        yield f"worker {change.renamed} is renamed to {change.worker}, and keeps its cluster and objects"
        return
    if change.renamed is not None:
        if change.what != ChangeKind.ADDED:
            yield (
                f"worker {change.worker} is {what}, and {change.renamed}, which is like it, is added; to keep its "
                f"cluster and every object in it, write formerly: {change.worker}"
            )
        return
    if change.identifiers is not None:
        before, after = change.identifiers
        what += f" ({before} → {after}; if it is the same cluster, write identifier: {before})"
    yield f"worker {change.worker} is {what}"


def _worker_and_resource_parts(changes: Changes) -> Iterator[str]:
    """Yield what happens to workers, pools and other resources; a deleted worker says what becomes of its own."""
    for change in changes.workers:
        if change.what != ChangeKind.CHANGED:
            yield from _worker_part(change)
    deleted_workers = tuple(
        f"{each.worker}{IN_WORKER}" for each in changes.workers if each.what == ChangeKind.DELETED
    ) or ("//",)
    for pool in changes.pools:
        if pool.what in EMPHASIZED and not pool.pool.startswith(deleted_workers):
            yield f"pool {pool.pool} is {EMPHASIZED[pool.what]}"
        elif pool.what == ChangeKind.RECREATED:
            yield f"the nodes of pool {pool.pool} are recreated"
        elif pool.hit_nodes and pool.what not in EMPHASIZED:
            verb = "is" if pool.hit_nodes == 1 else "are"
            yield (
                f"{up_to_prefix(pool)}{pool.hit_nodes} of "
                f"{pluralize(pool.nodes[0].max, 'node')} of pool {pool.pool} {verb} deleted"
            )
    for resource in changes.things:
        if resource.what == ChangeKind.UNMANAGED and resource.kind == ResourceKind.CONTROLLER:
            yield f"{resource_title(resource.kind, resource.key)} keeps running, but is no longer managed"
        if (
            resource.what in EMPHASIZED
            and resource.kind in EMPHASIZED_KINDS
            and not resource.key.startswith(deleted_workers)
        ):
            yield f"{resource_title(resource.kind, resource.key)} is {EMPHASIZED[resource.what]}"
