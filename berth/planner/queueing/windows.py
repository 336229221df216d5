"""Plan windows of guarantees: check them, and say which amount holds at the instant of the plan."""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from berth.calendar.timeline import amount_at, format_moment, overlap
from berth.calendar.windows import WindowError, read_window
from berth.clock import as_of, instant
from berth.diagnostics import FieldPath
from berth.plan.capacity import GuaranteeWindow, TimedGuarantee
from berth.planner.context import PlanningContext
from berth.planner.queueing.amounts import to_accelerators
from berth.planner.queueing.flavors import FlavorGroup
from berth.spec.teams import GuaranteeWindowSpec, QuotaSpec


def amount_in_force(
    context: PlanningContext,
    spec: QuotaSpec,
    flavor: FlavorGroup,
    maximum: int,
    path: FieldPath,
    other: int | None,
) -> int | None:
    """Return what an entry guarantees at the instant of the plan; None after a fault. `other` is that of its key."""
    windows = [
        _window(context, each, flavor, maximum, (*path, "windows", index)) for index, each in enumerate(spec.windows)
    ]
    sound = tuple(each for each in windows if each is not None)
    if other is None or len(sound) < len(windows):
        return None
    if (met := overlap(sound)) is not None:
        _report_overlap(context, (*path, "windows"), *met)
        return None
    for index, window in enumerate(sound):
        _warn_past(context, (*path, "windows", index), window)
    owner = path[:-2]
    is_of_team = owner[0] == "teams"
    holder = f"{owner[1]}/{owner[3]}" if is_of_team else str(owner[1])
    shared = context.spec.cluster_queues.get(holder) if owner[0] == "clusterQueues" else None
    timed = TimedGuarantee(
        holder=f"cohort {holder}" if owner[0] == "cohorts" else holder,
        teams=(str(owner[1]),) if is_of_team else tuple(sorted(shared.teams)) if shared else (),
        flavor=flavor.name,
        noun=flavor.noun,
        other=other,
        windows=sound,
    )
    context.calendar[path] = timed
    return amount_at(timed, instant())


def planned_calendar(context: PlanningContext) -> tuple[TimedGuarantee, ...]:
    """Return the guarantees with windows that were planned, by holder, with the names of their cluster queues."""
    names = {path: name for (kind, name), path in context.origins.items() if kind == "cluster queue"}
    found = [replace(timed, queue=names.get(path[:-2], "")) for path, timed in context.calendar.items()]
    return tuple(sorted(found, key=lambda each: (each.holder, each.flavor)))


def _window(
    context: PlanningContext, spec: GuaranteeWindowSpec, flavor: FlavorGroup, maximum: int, path: FieldPath
) -> GuaranteeWindow | None:
    amount = to_accelerators(context, spec.guaranteed, flavor, maximum, (*path, "guaranteed"))
    window = GuaranteeWindow(amount or 0, spec.from_, spec.until, spec.time_zone, spec.recurrence)
    try:
        read_window(window)
    except WindowError as error:
        context.problems.fault("guarantee-window", (*path, error.key) if error.key else path, error.message)
        return None
    return None if amount is None else window


def _report_overlap(context: PlanningContext, path: FieldPath, at: datetime, met: tuple[int, int]) -> None:
    earlier, later = met
    when = format_moment(at)
    if earlier == later:
        message = f"begins again at {when}, before it ends; write an earlier until, or fewer days"
    else:
        message = f"begins at {when}, before windows[{earlier}] ends; write a later from, or an earlier until there"
    context.problems.fault("guarantee-window", (*path, later), message)


def _warn_past(context: PlanningContext, path: FieldPath, window: GuaranteeWindow) -> None:
    read = read_window(window)
    is_single = window.recurrence is None
    if (read.end is None or read.end.date() >= as_of()) if is_single else read.last >= as_of():
        return
    key, written = ("until", window.end) if is_single else ("recurrence", window.recurrence)
    message = f"'{written}' is before {as_of()}, the day that dates are compared with; remove the window"
    context.problems.warning("date-past", (*path, key), message)
