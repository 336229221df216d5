"""Changes of guarantees in time: a window that begins later, ends earlier, moves, comes or goes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from berth.calendar.timeline import amount_in, format_moment, stretches, window_in_force
from berth.calendar.windows import read_window
from berth.clock import instant
from berth.plan.capacity import GuaranteeWindow, TimedGuarantee
from berth.plan.teams import QueueingPlan
from berth.planner.queueing.quota_tree import accelerator_quotas
from berth.text import pluralize

_MOST_PARTS: Final = 3
"""Most changes that a headline has in words."""


class CalendarChange(Struct, frozen=True):
    """A change of when something is guaranteed: `text` has it in words; it takes or gives something at some instant."""

    holder: str
    flavor: str
    text: str
    takes: bool
    gives: bool


def compare_calendars(old: QueueingPlan, new: QueueingPlan) -> Iterator[CalendarChange]:
    """Yield what changes of each guarantee with windows, in the old or the new plan, from the instant on."""
    before, after = ({(each.holder, each.flavor): each for each in plan.calendar} for plan in (old, new))
    for key in sorted(before.keys() | after.keys()):
        first = before.get(key) or _constant(old, after[key])
        second = after.get(key) or _constant(new, before[key])
        if first is None or second is None or (first.other, first.windows) == (second.other, second.windows):
            continue  # a queue that comes or goes has its own line
        takes, gives = _effects(first, second)
        for text in _texts(first, second):
            yield CalendarChange(*key, text, takes, gives)


def _constant(plan: QueueingPlan, timed: TimedGuarantee) -> TimedGuarantee | None:
    """Return the same guarantee without windows, as another plan has it; None if it has no such queue or cohort."""
    resources = {flavor.name: flavor.resource for flavor in plan.flavors}
    owners = [*plan.cluster_queues, *plan.cohorts]
    name = timed.queue or timed.holder.removeprefix("cohort ")
    found = next((each for each in owners if each.name == name), None)
    if found is None:
        return None
    quota = dict(accelerator_quotas(found, resources)).get(timed.flavor)
    return replace(timed, other=quota.nominal if quota else 0, windows=())


def _effects(old: TimedGuarantee, new: TimedGuarantee) -> tuple[bool, bool]:
    """Return whether less, and whether more, is guaranteed at some instant from now on."""
    deltas: set[int] = set()
    for stretch in stretches((old, new), after=instant()):
        before, after = (amount_in(stretch, each, index) for index, each in enumerate((old, new)))
        deltas.add(after - before)
    return any(each < 0 for each in deltas), any(each > 0 for each in deltas)


def _texts(old: TimedGuarantee, new: TimedGuarantee) -> Iterator[str]:
    whose = f"{new.holder}: "
    removed = [each for each in old.windows if each not in new.windows]
    added = [each for each in new.windows if each not in old.windows]
    held_now = [window_in_force(each.windows, instant()) for each in (old, new)]
    if old.other != new.other and held_now != [None, None]:  # else it is a change of today's guarantee
        yield f"{whose}{_change(old.other, new.other, new.noun)} are guaranteed outside its windows"
    for window in list(removed):
        if (match := _nearest(window, added)) is not None:
            removed.remove(window)
            added.remove(match)
            yield f"{whose}{_moved(window, match, new.noun)}"
    for window in removed:
        yield f"{whose}the guarantee of {window.guaranteed} {new.noun} {_when(window)} is removed ({new.other} instead)"
    for window in added:
        yield f"{whose}{window.guaranteed} {new.noun} are guaranteed {_when(window)} ({new.other} otherwise)"


def _nearest(window: GuaranteeWindow, others: Sequence[GuaranteeWindow]) -> GuaranteeWindow | None:
    """Return the window that shares most with another one: at least its amount or one of its ends."""

    def shared(other: GuaranteeWindow) -> int:
        pairs = zip(_parts(window), _parts(other), strict=True)
        return sum(first == second for first, second in pairs)

    best = max(others, key=shared, default=None)
    return best if best is not None and shared(best) else None


def _parts(window: GuaranteeWindow) -> tuple[object, ...]:
    read = read_window(window)
    return window.guaranteed, read.start or "", read.end or ""


def _moved(old: GuaranteeWindow, new: GuaranteeWindow, noun: str) -> str:
    """Return what becomes of one window: begins or ends at another time, moves, has another amount or recurrence."""
    first, second = read_window(old), read_window(new)
    begin, end = _delta(first.start, second.start), _delta(first.end, second.end)
    parts: list[str] = []
    if begin and begin == end:
        parts.append(f"is moved, {_length(begin)}: {_span(new)}")
    else:
        if first.start != second.start:
            far = f" ({_length(begin)})" if begin else ""
            parts.append(f"begins {_ends(first.start, second.start, 'at once')}{far}")
        if second.end is None and first.end is not None:
            parts.append(f"no longer ends {_moment(first.end)}")
        elif first.end != second.end:
            what = "" if end is None else " (shortened)" if end < timedelta() else " (extended)"
            parts.append(f"ends {_ends(first.end, second.end, 'never')}{what}")
    if old.recurrence != new.recurrence:
        parts.append(f"recurs by {new.recurrence or 'no rule'} instead of {old.recurrence or 'no rule'}")
    if old.time_zone != new.time_zone and not parts:
        parts.append(f"is counted in {new.time_zone} instead of {old.time_zone}")
    if not parts:
        return f"{_when(old)} {_change(old.guaranteed, new.guaranteed, noun)} are guaranteed"
    if old.guaranteed != new.guaranteed:
        parts.append(f"is {_change(old.guaranteed, new.guaranteed, noun)}")
    rule = f" ({old.recurrence})" if old.recurrence == new.recurrence and old.recurrence else ""
    return f"the guarantee of {old.guaranteed} {noun}{rule} {' and '.join(parts)}"


def _delta(before: datetime | None, after: datetime | None) -> timedelta | None:
    return after - before if before and after else None


def _ends(before: datetime | None, after: datetime | None, unset: str) -> str:
    return " instead of ".join(unset if each is None else _moment(each) for each in (after, before))


def _moment(moment: datetime) -> str:
    return format_moment(moment.astimezone(UTC))


def _length(delta: timedelta) -> str:
    """Return `3 days later`, `12 hours earlier`."""
    size, word = abs(delta), "later" if delta > timedelta() else "earlier"
    units = ((timedelta(days=1), "day"), (timedelta(hours=1), "hour"), (timedelta(minutes=1), "minute"))
    unit, noun = next((each for each in units if not size % each[0]), (timedelta(seconds=1), "second"))
    return f"{pluralize(size // unit, noun)} {word}"


def _when(window: GuaranteeWindow) -> str:
    return f"{_span(window)}{f', {window.recurrence}' if window.recurrence else ''}"


def _span(window: GuaranteeWindow) -> str:
    read = read_window(window)
    begin = f"from {_moment(read.start)}" if read.start else ""
    end = f"until {_moment(read.end)}" if read.end else ""
    return " ".join(each for each in (begin, end) if each)


def _change(before: int, after: int, noun: str) -> str:
    return f"{after} instead of {before} {noun}"


def calendar_parts(changes: Sequence[CalendarChange]) -> Iterator[str]:
    """Yield the parts of a headline: each change of few holders, else how many change."""
    holders = list(dict.fromkeys(each.holder for each in changes))
    if len(changes) > _MOST_PARTS:
        yield f"the times of {len(holders)} {'guarantee' if len(holders) == 1 else 'guarantees'} change"
    else:
        yield from (each.text for each in changes)
