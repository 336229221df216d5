"""Guarantees and future reservations over time: the stretches between boundaries, and what changes at each boundary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import groupby
from math import lcm
from typing import Final, Protocol

from msgspec import Struct

from berth.calendar.windows import ALWAYS, EVER, Occurrences, read_window
from berth.plan.capacity import GuaranteeWindow, TimedGuarantee

_LEAST_DAYS: Final = 3 * 366
"""Days for which recurring windows are tried at least: clocks of two zones change on other days of each year."""

Span = tuple[datetime, datetime]
"""Begin and end, in UTC; the end is not part of it."""


class Reserved(Protocol):
    """A reservation, of which only a future one has a start and an end."""

    @property
    def key(self) -> str: ...  # noqa: D102

    @property
    def start(self) -> str | None: ...  # noqa: D102

    @property
    def end(self) -> str | None: ...  # noqa: D102


class Stretch(Struct, frozen=True):
    """A time in which nothing changes: `windows` are positions (of guarantee, of its window), `reserved` are keys."""

    start: datetime
    end: datetime
    windows: frozenset[tuple[int, int]]
    reserved: frozenset[str]


class AmountChange(Struct, frozen=True):
    """What a guarantee was before a boundary, and is after it."""

    guarantee: TimedGuarantee
    before: int
    after: int


class Boundary(Struct, frozen=True):
    """An instant at which guarantees change, or reservations begin and end (their keys)."""

    at: datetime
    changes: tuple[AmountChange, ...]
    begins: tuple[str, ...]
    ends: tuple[str, ...]


def window_in_force(windows: Sequence[GuaranteeWindow], moment: datetime) -> int | None:
    """Return the position of the window that holds at an instant; None if none does."""
    return next((index for index, window in enumerate(windows) if read_window(window).holds_at(moment)), None)


def amount_at(guarantee: TimedGuarantee, moment: datetime) -> int:
    """Return how much is guaranteed at an instant."""
    index = window_in_force(guarantee.windows, moment)
    return guarantee.other if index is None else guarantee.windows[index].guaranteed


def reserved_span(reservation: Reserved) -> Span | None:
    """Return when a future reservation has its machines; None for one that is always there."""
    if reservation.start is None or reservation.end is None:
        return None
    start, end = (datetime.fromisoformat(each) for each in (reservation.start, reservation.end))
    return start.astimezone(UTC), end.astimezone(UTC)


def stretches(
    guarantees: Sequence[TimedGuarantee],
    reservations: Iterable[Reserved] = (),
    after: datetime = ALWAYS,
    until: datetime = ALWAYS,
) -> tuple[Stretch, ...]:
    """Return all stretches from an instant on in order, the first from that instant, the last until EVER.

    Recurring windows are counted for one whole period of all of them together, and at least for three years, after
    their dates, that instant, and `until`.
    """
    read = {(i, j): read_window(window) for i, each in enumerate(guarantees) for j, window in enumerate(each.windows)}
    spans = {each.key: span for each in reservations if (span := reserved_span(each))}
    horizon = _horizon(read.values(), spans.values(), max(after, until))
    events: list[tuple[datetime, bool, tuple[int, int] | str]] = []
    occurrences = ((position, span) for position, window in read.items() for span in window.between(after, horizon))
    keyed: list[tuple[tuple[int, int] | str, Span]] = [*occurrences, *spans.items()]
    for key, (start, end) in keyed:
        events += [(start, True, key), (end, False, key)]
    events.sort(key=lambda event: (event[0], event[1]))
    found: list[Stretch] = []
    active: set[tuple[int, int] | str] = set()
    at = after
    for moment, group in groupby(events, key=lambda event: event[0]):
        if moment > at:
            found.append(_stretch(at, moment, active))
            at = moment
        for _, begins, key in group:
            (active.add if begins else active.discard)(key)
    return (*found, _stretch(at, EVER, active)) if at < EVER else tuple(found)


def _stretch(start: datetime, end: datetime, active: set[tuple[int, int] | str]) -> Stretch:
    windows = frozenset(each for each in active if not isinstance(each, str))
    return Stretch(start, end, windows, frozenset(each for each in active if isinstance(each, str)))


def _horizon(windows: Iterable[Occurrences], spans: Iterable[Span], at: datetime) -> datetime:
    """Return until when recurring windows are counted: a period after `at`, the last one and every single date."""
    windows = tuple(windows)
    days = max(_LEAST_DAYS, lcm(*(each.period for each in windows)))
    dates = [each for window in windows for each in (window.start, window.end) if each]
    dates += [each for span in spans for each in span]
    latest = max([at, *(each.astimezone(UTC) for each in dates)])
    return latest + min(timedelta(days=days), EVER - latest)


@lru_cache(maxsize=256)
def overlap(windows: tuple[GuaranteeWindow, ...]) -> tuple[datetime, tuple[int, int]] | None:
    """Return the first instant at which two windows of one guarantee hold, and their positions (equal if one does)."""
    read = [read_window(window) for window in windows]
    horizon = _horizon(read, (), ALWAYS)
    spans = sorted((span, index) for index, each in enumerate(read) for span in each.between(ALWAYS, horizon))
    latest: tuple[datetime, int] = (ALWAYS, 0)
    for (start, end), index in spans:
        if start < latest[0]:
            return start, (latest[1], index)
        latest = max(latest, (end, index))
    return None


def boundaries(
    guarantees: Sequence[TimedGuarantee],
    reservations: Iterable[Reserved],
    after: datetime,
    until: datetime = ALWAYS,
) -> Iterator[Boundary]:
    """Yield each instant after another at which something changes, in order, and at least all until `until`."""
    before: Stretch | None = None
    for stretch in stretches(guarantees, reservations, after, until):
        if before is not None:
            changes = tuple(
                AmountChange(each, *amounts)
                for index, each in enumerate(guarantees)
                if len(set(amounts := (amount_in(before, each, index), amount_in(stretch, each, index)))) > 1
            )
            begins, ends = stretch.reserved - before.reserved, before.reserved - stretch.reserved
            if changes or begins or ends:
                yield Boundary(stretch.start, changes, tuple(sorted(begins)), tuple(sorted(ends)))
        before = stretch


def amount_in(stretch: Stretch, guarantee: TimedGuarantee, position: int) -> int:
    """Return how much is guaranteed in a stretch, of guarantees of which this one has a position."""
    held = (window.guaranteed for index, window in enumerate(guarantee.windows) if (position, index) in stretch.windows)
    return next(held, guarantee.other)


def last_change(guarantee: TimedGuarantee, until: datetime) -> tuple[datetime, int] | None:
    """Return the last boundary of a guarantee until an instant, and what was guaranteed before it."""
    found = [each for each in boundaries((guarantee,), (), ALWAYS, until) if each.at <= until]
    return (found[-1].at, found[-1].changes[0].before) if found else None


def format_moment(moment: datetime) -> str:
    """Return an instant for people: `2026-12-05 18:00 UTC`, with seconds where they are not zero."""
    return f"{moment:%Y-%m-%d %H:%M}{f':{moment:%S}' if moment.second else ''} UTC"


def moment_option(moment: datetime) -> str:
    """Return an instant as `--at` takes it: `2026-12-05`, or `2026-12-05T18:00:00Z`."""
    return (
        f"{moment:%Y-%m-%d}" if moment == moment.replace(hour=0, minute=0, second=0) else f"{moment:%Y-%m-%dT%H:%M:%SZ}"
    )
