"""The calendar of a plan: what changes when, for whom, and what has to be deployed then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final

from berth.calendar.timeline import Boundary, boundaries, format_moment, moment_option
from berth.clock import instant
from berth.diagnostics import join_words
from berth.document import Block, Note, Table
from berth.plan.capacity import HeldPlan
from berth.plan.fleet import FleetPlan
from berth.plan.teams import QueueingPlan

_SHOWN: Final = 8
"""Most boundaries that are listed: a recurring window has more of them than anybody reads."""


def next_boundaries(plan: QueueingPlan) -> tuple[Boundary, ...]:
    """Return the next boundaries after the instant of the plan."""
    return tuple(islice(boundaries(plan.calendar, _held(plan), instant()), _SHOWN))


def _held(plan: QueueingPlan) -> Sequence[HeldPlan]:
    return [each for each in plan.held if each.start and each.pools] if isinstance(plan, FleetPlan) else ()


def calendar_blocks(plan: QueueingPlan) -> Iterator[Block]:
    """Yield the next boundaries and what to run at each.

    A fleet without windows has none: its future reservations are a table of their own.
    """
    if not plan.calendar:
        return
    found = next_boundaries(plan)
    rows = [row for each in found for row in _rows(plan, each)]
    head = ("at", "whose", "flavor", "guaranteed", "then", "")
    yield Table(f"Calendar, as of {format_moment(instant())}", head, rows, numbers=(3, 4), once=(0,))
    steps = [each for each in found if each.changes]
    if not steps:
        yield Note(["No guarantee changes later."])
        return
    first, option = steps[0], moment_option(steps[0].at)
    whose = join_words(sorted({change.guarantee.holder for change in first.changes}))
    yield Note(
        [
            f"Nothing runs by itself: deploy at each of these times (pulumi up --stack {plan.stack}). The next is "
            f"{format_moment(first.at)}, for {whose}; berth plan {plan.stack} --at {option} shows the plan of it"
        ]
    )


def _rows(plan: QueueingPlan, boundary: Boundary) -> Iterator[list[str]]:
    at = format_moment(boundary.at)
    for change in boundary.changes:
        each = change.guarantee
        yield [at, each.holder, each.flavor, str(change.before), str(change.after), each.noun]
    machines = {held.key: held for held in _held(plan)}
    for keys, amounts in ((boundary.begins, ("–", "begins")), (boundary.ends, ("ends", "–"))):
        for key in keys:
            flavors = [flavor.name for flavor in plan.flavors if set(flavor.pools) & set(machines[key].pools)]
            yield [at, f"reservation {key}", join_words(flavors), *amounts, "machines"]


def calendar_as_json(plan: QueueingPlan) -> list[dict[str, Any]]:
    """Return the next boundaries as JSON values (docs/plan.md)."""
    return [
        {
            "at": f"{each.at:%Y-%m-%dT%H:%M:%SZ}",
            "changes": [
                {
                    "holder": change.guarantee.holder,
                    "teams": list(change.guarantee.teams),
                    "flavor": change.guarantee.flavor,
                    "before": change.before,
                    "after": change.after,
                }
                for change in each.changes
            ],
            "reservationsBegin": list(each.begins),
            "reservationsEnd": list(each.ends),
            "command": f"pulumi up --stack {plan.stack}" if each.changes else None,
        }
        for each in (next_boundaries(plan) if plan.calendar else ())
    ]
