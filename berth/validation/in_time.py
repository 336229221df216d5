"""Check guarantees at the instant of the plan: machines of a reservation have a time, and so has a guarantee."""

from __future__ import annotations

from fractions import Fraction

from berth.calendar.timeline import Span, format_moment, reserved_span
from berth.clock import instant
from berth.diagnostics import FieldPath, Problems, join_words
from berth.plan.capacity import HeldPlan
from berth.plan.fleet import FleetPlan
from berth.validation.quota_claims import FleetQuotaClaims


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
