"""The headline of a change: who loses, who gains, what is replaced or deleted, what is blocked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from berth.diagnostics import join_words
from berth.diff import workload_text
from berth.diff.compare import Changes
from berth.diff.entitlements import CohortQuotaChange, TeamChange, TeamQuotaChange
from berth.diff.guard.allowances import GuardedAction
from berth.diff.guard.changes import GuardedChange
from berth.diff.kinds import ChangeKind
from berth.diff.objects import ObjectChange
from berth.diff.rights.compare import RightChange
from berth.diff.text import (
    EMPHASIZED,
    EMPHASIZED_KINDS,
    UNMANAGED_TEXT,
    describe_priority_order,
    describe_reclaim,
    describe_right,
    describe_stop,
    up_to_prefix,
)
from berth.diff.values import format_queueing
from berth.diff.workers import WorkerChange
from berth.resource import IN_WORKER, ResourceKind, resource_title
from berth.text import pluralize

_MAX_NAMES = 3
"""Maximum number of names in a headline; more are counted instead."""


def headline(changes: Changes) -> str:
    """Return the change in one line: who loses, who gains, what is replaced or deleted, what is blocked."""
    quota_changes = changes.entitlements
    parts = [
        *_right_parts(changes.rights),
        *_team_parts(quota_changes.teams),
        *_guarantee_parts(quota_changes.entitlements),
        *_ceiling_parts(quota_changes.entitlements),
    ]
    if not any(each.guaranteed.delta for each in quota_changes.entitlements):
        parts += _cohort_parts(quota_changes.cohorts)
    if quota_changes.queueing:
        parts.append(format_queueing(quota_changes.queueing))
    parts += _namespace_parts(changes.objects)
    parts += map(describe_stop, quota_changes.stops)
    parts += map(describe_reclaim, quota_changes.reclaim)
    if quota_changes.priority_order:
        parts.append(describe_priority_order(quota_changes.priority_order))
    parts += _replaced_priorities(changes.objects)
    parts += [*_worker_parts(changes.workers), *_resource_parts(changes)]
    parts += workload_text.headline_parts(changes.workloads, changes.files)
    if not parts:
        parts += [f"queue {loss.name} is DELETED" for loss in changes.losses if loss.kind == ResourceKind.QUEUE][
            :_MAX_NAMES
        ]
    if quiet := sum(not (right.is_loud or right.is_alert) for right in changes.rights):
        parts.append(f"{pluralize(quiet, 'right')} {'is' if quiet == 1 else 'are'} removed or narrowed")
    parts += _guarded_update_parts(changes.losses)
    if changes.idle:
        parts.append(f"{pluralize(len(changes.idle), 'unused allowance')}")
    if changes.blocked:
        parts.append(f"{len(changes.blocked)} blocked")
    if not parts:
        parts.append("nothing changes" if changes.is_empty else "no team gains or loses, and nothing is replaced")
    return f"{changes.stack}: {'; '.join(parts)}"


def _replaced_priorities(objects: Sequence[ObjectChange]) -> Iterable[str]:
    """Yield the replaced PriorityClasses; existing pods keep the old value."""
    replaced = [each for each in objects if each.what == ChangeKind.REPLACED and not each.is_moved]
    names = [each.name for each in replaced if each.kind == "PriorityClass"]
    if names:
        yield f"PriorityClass {join_words(list(dict.fromkeys(names)))} {'are' if names[1:] else 'is'} REPLACED"


def _guarded_update_parts(guarded: Sequence[GuardedChange]) -> Iterable[str]:
    for change in guarded:
        name = resource_title(change.kind, change.name)
        if change.action == GuardedAction.UNPROTECT:
            yield (
                "protection is switched off"
                if change.kind == ResourceKind.PROTECTION
                else f"{name} loses its deletion protection"
            )
        elif change.action == GuardedAction.REFUSE:
            yield f"the update of {name} will fail"
        elif change.kind in (ResourceKind.NODE_IDENTITY, ResourceKind.TEAM_IDENTITY):
            pools = f"pool{'s' if change.parts[1:] else ''} {join_words(list(change.parts))}"
            yield f"the service account of {pools} is DELETED"


def _right_parts(rights: Sequence[RightChange]) -> Iterable[str]:
    """Yield the rights that are added or widened; more than a few are counted instead."""
    yield from _alert_parts([change for change in rights if change.is_alert and change.is_loud])
    loud = [change for change in rights if change.is_loud and not change.is_alert]
    if len(loud) > _MAX_NAMES:
        owners = list(dict.fromkeys(change.owner for change in loud))
        whose = join_words(owners) if len(owners) <= _MAX_NAMES else f"{len(owners)} owners"
        yield f"{len(loud)} rights of {whose} are added or widened"
    else:
        yield from map(describe_right, loud)


def _alert_parts(alerts: Sequence[RightChange]) -> Iterable[str]:
    if len(alerts) > _MAX_NAMES:
        yield f"{len(alerts)} alerts are removed"
    else:
        yield from map(describe_right, alerts)


def _namespace_parts(objects: Sequence[ObjectChange]) -> Iterable[str]:
    """Yield the namespaces that are deleted while their cluster remains."""
    names = [
        each.name
        for each in objects
        if each.kind == "Namespace" and each.what == ChangeKind.DELETED and not each.worker
    ]
    if len(names) > _MAX_NAMES:
        yield f"{len(names)} namespaces are DELETED, with everything in them"
    else:
        yield from (f"namespace {name} is DELETED, with everything in it" for name in names)


def _team_parts(teams: Sequence[TeamChange]) -> Iterable[str]:
    for what in dict.fromkeys(change.what for change in teams):
        names = [change.team for change in teams if change.what == what]
        who = (
            f"{len(names)} teams are"
            if len(names) > _MAX_NAMES
            else f"{join_words(names)} {'are' if names[1:] else 'is'}"
        )
        yield f"{who} {what}"


def _ceiling_parts(entitlements: Sequence[TeamQuotaChange]) -> Iterable[str]:
    """Yield the teams whose ceilings change but whose guarantees do not."""
    guarantee_teams = {e.team for e in entitlements if e.guaranteed.delta}
    for word, sign in (("less", -1), ("more", 1)):
        names = list(
            dict.fromkeys(e.team for e in entitlements if e.ceiling.delta * sign > 0 and e.team not in guarantee_teams)
        )
        if names:
            who = f"{len(names)} teams" if len(names) > _MAX_NAMES else join_words(names)
            yield f"{who} can use {word}"


def _worker_parts(workers: Sequence[WorkerChange]) -> Iterable[str]:
    for change in workers:
        if change.what != ChangeKind.CHANGED:
            yield (
                f"worker {change.worker} is "
                f"{UNMANAGED_TEXT if change.what == ChangeKind.UNMANAGED else EMPHASIZED.get(change.what, change.what)}"
            )


def _guarantee_parts(entitlements: Sequence[TeamQuotaChange]) -> Iterable[str]:
    for verb, team_changes in (
        ("loses", [e for e in entitlements if e.guaranteed.delta < 0]),
        ("gains", [e for e in entitlements if e.guaranteed.delta > 0]),
    ):
        teams = list(dict.fromkeys(e.team for e in team_changes))
        if len(teams) > _MAX_NAMES:
            yield f"{len(teams)} teams {verb.removesuffix('s')} guarantees"
        else:
            yield from (
                f"{team} {verb} {_join_guarantees(e for e in team_changes if e.team == team)}" for team in teams
            )


def _cohort_parts(totals: Sequence[CohortQuotaChange]) -> Iterable[str]:
    """Yield the cohorts whose guarantees change although no team's does."""
    names = list(dict.fromkeys(total.cohort for total in totals))
    if len(names) > _MAX_NAMES:
        yield f"the guarantees of {len(names)} cohorts change"
        return
    for name in names:
        cohort_totals = [total for total in totals if total.cohort == name]
        less, more = ([t for t in cohort_totals if t.guaranteed.delta * sign > 0] for sign in (-1, 1))
        yield from (
            f"cohort {name} {verb} {_join_guarantees(totals_part)}"
            for verb, totals_part in (("loses", less), ("gains", more))
            if totals_part
        )


def _join_guarantees(changes: Iterable[TeamQuotaChange | CohortQuotaChange]) -> str:
    """Return `8 of 16 guaranteed v5e chips`, for every flavor."""
    return join_words([_describe_guarantee(e) for e in changes])


def _describe_guarantee(change: TeamQuotaChange | CohortQuotaChange) -> str:
    gain, before = change.guaranteed.delta, change.guaranteed.before
    amount = f"all {before}" if gain == -before else f"{-gain} of {before}" if gain < 0 else str(gain)
    flavor = "" if change.flavor in change.noun else f" ({change.flavor})"
    return f"{amount} guaranteed {change.noun}{flavor}"


def _resource_parts(changes: Changes) -> Iterable[str]:
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
