"""Check guarantees at the instant of the plan: machines of a reservation have a time, and so has a guarantee."""

from __future__ import annotations

from fractions import Fraction

from berth.calendar.timeline import format_moment, reserved_span
from berth.clock import instant
from berth.diagnostics import FieldPath, Problems, join_words
from berth.plan.capacity import HeldPlan
from berth.plan.fleet import FleetPlan
from berth.plan.kueue import FlavorPlan
from berth.validation.quota_claims import FleetQuotaClaims


def check_reserved_times(claims: FleetQuotaClaims, problems: Problems) -> None:
    """Report guarantees above the machines that are there at the instant, without those of reservations at other times.

    A fault for a flavor with windows. Of another flavor it is a warning where a part of its machines is missing: a
    flavor that has none yet is shown as reserved for later.
    """
    in_time = {each.flavor for each in claims.plan.calendar}
    for flavor in claims.plan.flavors:
        away = _away(claims.plan, flavor)
        missing = sum(pool.accelerators.max for pool in claims.plan.pools if pool.name in away)
        present = max(0, flavor.shared - missing)
        if not missing or flavor.promised <= present * Fraction(str(flavor.oversubscription)):
            continue
        owners = [f"{c.label} {c.quota.nominal}" for c in claims.by_flavor.get(flavor.name, []) if c.quota.nominal]
        owners += [f"cohort {name} itself {amount}" for name, amount in claims.cohort_quotas(flavor.name)]
        reservations = sorted({_times(each) for each in away.values()})
        what = (
            f"flavor '{flavor.name}' guarantees {flavor.promised} {flavor.noun}, but {present} are there: "
            f"{join_words(reservations)} ({', '.join(owners)})"
        )
        path: FieldPath = ("reservations", next(iter(away.values())).key, "future")
        if flavor.name in in_time:
            message = f"{what}; guarantee less at that time, with from and until of a window"
            problems.fault("overcommitted", path, message)
        elif present:
            message = f"{what}; guarantee the rest in a window from the start until the end of the reservation"
            problems.warning("guarantee-without-machines", path, message)


def _away(plan: FleetPlan, flavor: FlavorPlan) -> dict[str, HeldPlan]:
    """Return the pools of a flavor whose reservation has no machines at the instant."""
    now, away = instant(), dict[str, HeldPlan]()
    for held in plan.held:
        span = reserved_span(held)
        if span is not None and not span[0] <= now < span[1]:
            away |= {name: held for name in held.pools if name in flavor.pools}
    return away


def _times(held: HeldPlan) -> str:
    start, end = reserved_span(held) or (instant(), instant())
    return f"reservation '{held.key}' has its machines from {format_moment(start)} until {format_moment(end)}"
