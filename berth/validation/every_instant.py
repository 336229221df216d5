"""Guarantees in time: refused today if they break a rule at any boundary, or if their machines have other times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Final

from msgspec.structs import replace

from berth.calendar.timeline import Span, Stretch, format_moment, reserved_span, stretches
from berth.clock import at_instant, instant
from berth.diagnostics import FieldPath, Problem, Problems, Severity, join_words
from berth.plan.capacity import HeldPlan, TimedGuarantee
from berth.plan.fleet import FleetPlan
from berth.validation.quota_claims import FleetQuotaClaims

_MOST_STATES: Final = 400
"""Most sets of windows that are planned one by one."""
_IN_TIME: Final = ("guarantee-without-machines", "window-empty")
"""Warnings that are about an instant."""
_AT_ALL_TIMES: Final = ("borrow-limit", "needless-oversubscription", "unpromised", "unreachable-limit")
"""Warnings of what has no use, right only if it has none at any instant: idle machines may be for a window."""


def at_every_instant(
    problems: tuple[Problem, ...],
    plan_again: Callable[[], tuple[Problem, ...]],
    calendar: Sequence[TimedGuarantee],
    held: Iterable[HeldPlan] = (),
) -> tuple[Problem, ...]:
    """Return the problems of a plan, and the faults that it has at other instants, each with the first of them.

    `plan_again` returns the problems of the same stack file at another `berth.clock.instant`. Each set of windows and
    reservations that holds together from now on is planned once, so all instants are proved and not a sample of them.
    """
    reserved = [each for each in held if each.start and each.pools]
    if not calendar and not reserved:
        return problems
    states = _states(stretches(calendar, reserved, instant()))
    if len(states) > _MOST_STATES:
        message = (
            f"have {len(states)} sets of windows at different times, more than the {_MOST_STATES} that Berth proves; "
            "write fewer different windows"
        )
        return (*problems, Problem(Severity.FAULT, "guarantee-window", ("teams",), message))
    by_state: list[tuple[Stretch, tuple[Problem, ...]]] = []
    for state in states:
        with at_instant(state.start):
            by_state.append((state, problems if state is states[0] else plan_again()))
    common = set(problems).intersection(*(each for _, each in by_state))
    said = [{(each.code, each.path) for each in found} for _, found in by_state]
    kept = [
        each
        for each in problems
        if each in common
        or not (
            _is_in_time(each)
            or (each.code in _AT_ALL_TIMES and not all((each.code, each.path) in codes for codes in said))
        )
    ]
    return (*kept, *_dated(by_state, common))


def _states(found: Iterable[Stretch]) -> list[Stretch]:
    """Return the first stretch with each set of windows and reservations."""
    first: dict[object, Stretch] = {}
    for stretch in found:
        first.setdefault((stretch.windows, stretch.reserved), stretch)
    return list(first.values())


def _is_in_time(problem: Problem) -> bool:
    return problem.severity == Severity.FAULT or problem.code in _IN_TIME


def _dated(by_state: Iterable[tuple[Stretch, tuple[Problem, ...]]], common: set[Problem]) -> Iterator[Problem]:
    """Yield each problem of some instants once, with the first of them."""
    seen: set[tuple[str, object]] = set()
    for state, problems in by_state:
        is_later = state.start > instant()  # else there is a later state, and so an end
        when = f"at {format_moment(state.start)}" if is_later else f"until {format_moment(state.end)}"
        for problem in problems:
            if _is_in_time(problem) and problem not in common and (problem.code, problem.path) not in seen:
                seen.add((problem.code, problem.path))
                yield replace(problem, message=f"{when}: {problem.message}")


def check_reserved_times(claims: FleetQuotaClaims, problems: Problems) -> None:
    """Report guarantees above the machines that are there at the instant, without those of reservations at other times.

    A fault for a flavor with windows. Of another flavor it is a warning where a part of its machines is missing: a
    flavor that has none yet is shown as reserved for later.
    """
    in_time = {each.flavor for each in claims.plan.calendar}
    away = _away(claims.plan)
    for flavor in claims.plan.flavors:
        lost = [reserved for pool, reserved in away.items() if pool in flavor.pools]
        missing = sum(p.accelerators.max for p in claims.plan.pools if p.name in away and p.name in flavor.pools)
        present = max(0, flavor.shared - missing)
        if not missing or flavor.promised <= present * Fraction(str(flavor.oversubscription)):
            continue
        owners = [f"{c.label} {c.quota.nominal}" for c in claims.by_flavor.get(flavor.name, []) if c.quota.nominal]
        owners += [f"cohort {name} itself {amount}" for name, amount in claims.cohort_quotas(flavor.name)]
        reservations = sorted({_times(*each) for each in lost})
        what = (
            f"flavor '{flavor.name}' guarantees {flavor.promised} {flavor.noun}, but {present} are there: "
            f"{join_words(reservations)} ({', '.join(owners)})"
        )
        path: FieldPath = ("reservations", lost[0][0].key, "future")
        if flavor.name in in_time:
            message = f"{what}; guarantee less at that time, with from and until of a window"
            problems.fault("overcommitted", path, message)
        elif present:
            message = f"{what}; guarantee the rest in a window from the start until the end of the reservation"
            problems.warning("guarantee-without-machines", path, message)


def _away(plan: FleetPlan) -> dict[str, tuple[HeldPlan, Span]]:
    """Return the pools whose reservation has no machines at the instant, with that and its time."""
    now = instant()
    return {
        name: (held, span)
        for held in plan.held
        if (span := reserved_span(held)) is not None and not span[0] <= now < span[1]
        for name in held.pools
    }


def _times(held: HeldPlan, span: Span) -> str:
    start, end = span
    return f"reservation '{held.key}' has its machines from {format_moment(start)} until {format_moment(end)}"
