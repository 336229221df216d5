"""A change in one line: who loses, who gains, what is replaced or deleted, what is guarded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from berth.diagnostics import in_words
from berth.diff import team_stack_text
from berth.diff.compare import Changes
from berth.diff.entitlements import CohortTotal, Entitlement, TeamChange
from berth.diff.pools import CHANGED, LEFT
from berth.diff.resources import DELETED, IN_WORKER, RECREATED, named
from berth.diff.text import BEHIND, LOUD, LOUD_KINDS, OPEN, at_most
from berth.diff.workers import WorkerChange
from berth.text import many

_NAMED = 3
"""Teams that a headline names; of more it gives the number."""


def headline(changes: Changes) -> str:
    """The change in one line: who loses, who gains, what is replaced or deleted, what is guarded."""
    told = changes.entitlements
    parts = [*_comings(told.teams), *_shifts(told.entitlements), *_reach(told.entitlements)]
    if not any(each.guaranteed.gain for each in told.entitlements):
        parts += _cohorts(told.cohorts)
    parts += [*_workers(changes.workers), *_upheavals(changes)]
    parts += team_stack_text.headline(changes.workloads, changes.files)
    if not parts:
        parts += [f"queue {loss.name} is DELETED" for loss in changes.losses if loss.kind == "queue"][:_NAMED]
    if changes.guarded:
        parts.append(f"{len(changes.guarded)} guarded")
    if not parts:
        parts.append("nothing changes" if changes.empty else "no team gains or loses, and nothing is replaced")
    return f"{changes.stack}: {'; '.join(parts)}"


def _comings(teams: Sequence[TeamChange]) -> Iterable[str]:
    for what in dict.fromkeys(change.what for change in teams):
        names = [change.team for change in teams if change.what == what]
        who = f"{len(names)} teams are" if len(names) > _NAMED else f"{in_words(names)} {'are' if names[1:] else 'is'}"
        yield f"{who} {what}"


def _reach(entitlements: Sequence[Entitlement]) -> Iterable[str]:
    """Teams whose guarantees stay and whose ceilings move."""
    moved = {e.team for e in entitlements if e.guaranteed.gain}
    for word, sign in (("less", -1), ("more", 1)):
        names = list(dict.fromkeys(e.team for e in entitlements if e.ceiling.gain * sign > 0 and e.team not in moved))
        if names:
            who = f"{len(names)} teams" if len(names) > _NAMED else in_words(names)
            yield f"{who} can reach {word}"


def _workers(workers: Sequence[WorkerChange]) -> Iterable[str]:
    for each in workers:
        if each.what != CHANGED:
            yield f"worker {each.worker} is {BEHIND if each.what == LEFT else LOUD.get(each.what, each.what)}"


def _shifts(entitlements: Sequence[Entitlement]) -> Iterable[str]:
    for word, found in (
        ("loses", [e for e in entitlements if e.guaranteed.gain < 0]),
        ("gains", [e for e in entitlements if e.guaranteed.gain > 0]),
    ):
        teams = list(dict.fromkeys(e.team for e in found))
        if len(teams) > _NAMED:
            yield f"{len(teams)} teams {word.removesuffix('s')} guarantees"
        else:
            yield from (f"{team} {word} {_sum(e for e in found if e.team == team)}" for team in teams)


def _cohorts(totals: Sequence[CohortTotal]) -> Iterable[str]:
    """Cohorts whose guarantees change although no team's does."""
    names = list(dict.fromkeys(total.cohort for total in totals))
    if len(names) > _NAMED:
        yield f"the guarantees of {len(names)} cohorts change"
        return
    for name in names:
        found = [total for total in totals if total.cohort == name]
        less, more = ([t for t in found if t.guaranteed.gain * sign > 0] for sign in (-1, 1))
        yield from (f"cohort {name} {verb} {_sum(part)}" for verb, part in (("loses", less), ("gains", more)) if part)


def _sum(found: Iterable[Entitlement | CohortTotal]) -> str:
    """`8 of its 16 guaranteed v5e chips`, for every flavor."""
    return in_words([_part(e) for e in found])


def _part(change: Entitlement | CohortTotal) -> str:
    gain, had = change.guaranteed.gain, change.guaranteed.before
    counted = f"all {had}" if gain == -had else f"{-gain} of {had}" if gain < 0 else str(gain)
    flavor = "" if change.flavor in change.noun else f" ({change.flavor})"
    return f"{counted} guaranteed {change.noun}{flavor}"


def _upheavals(changes: Changes) -> Iterable[str]:
    gone = tuple(f"{each.worker}{IN_WORKER}" for each in changes.workers if each.what == DELETED) or ("//",)
    for pool in changes.pools:
        if pool.what in LOUD and not pool.pool.startswith(gone):
            yield f"pool {pool.pool} is {LOUD[pool.what]}"
        elif pool.what == RECREATED:
            yield f"the nodes of pool {pool.pool} are made anew"
        elif pool.hit_nodes and pool.what not in LOUD:
            verb = "goes" if pool.hit_nodes == 1 else "go"
            yield f"{at_most(pool)}{pool.hit_nodes} of {many(pool.nodes[0].max, 'node')} of pool {pool.pool} {verb}"
    for thing in changes.things:
        if any(field.path == OPEN and field.after is None for field in thing.fields):
            yield f"the control plane of {named(thing.kind, thing.key)} opens to any address"
        if thing.what in LOUD and thing.kind in LOUD_KINDS and not thing.key.startswith(gone):
            yield f"{named(thing.kind, thing.key)} is {LOUD[thing.what]}"
