"""One window of a guarantee: its written times as instants, and why they cannot be read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Final

from msgspec import Struct

from berth.calendar.recurrence import parsed_rule, period_days, recurs
from berth.plan.capacity import GuaranteeWindow

ALWAYS: Final = datetime.min.replace(tzinfo=UTC)
EVER: Final = datetime.max.replace(tzinfo=UTC)

_UNTIL: Final = re.compile(r";UNTIL=(\d{4})(\d{2})(\d{2})(?:T\d{6}Z?)?")
_ZONED: Final = re.compile(r"(Z|[+-]\d\d:\d\d)$")


class WindowError(Exception):
    """A window that cannot be read: the `key` and what is wrong, with what to write."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key, self.message = key, message


class Occurrences(Struct, frozen=True):
    """A window that was read: its first time in its own zone, and its rule, if it recurs until the day `last`."""

    start: datetime | None
    end: datetime | None
    rule: dict[str, str] | None
    last: date

    @property
    def period(self) -> int:
        """Days after which a recurring window is the same again; 1 for a single one."""
        return 1 if self.rule is None else period_days(self.rule)

    def between(self, first: datetime, last: datetime) -> Iterator[tuple[datetime, datetime]]:
        """Yield begin and end, in UTC, of each time that is not over before `first` and begins until `last`."""
        start, end = self.start, self.end
        if self.rule is None or start is None or end is None:
            yield start.astimezone(UTC) if start else ALWAYS, end.astimezone(UTC) if end else EVER
            return
        length = end.replace(tzinfo=None) - start.replace(tzinfo=None)
        skipped = max(0, (first - start).days - length.days - 2) if first > ALWAYS else 0
        latest = min(last, EVER - length - timedelta(days=4))  # no time after EVER can be counted
        final = min(self.last, (latest + timedelta(days=2)).date())
        for days in range(skipped, (final - start.date()).days + 1):
            if recurs(self.rule, start.date(), days):
                begin = start + timedelta(days=days)  # clock time: the zone's offset may differ
                begins, ends = begin.astimezone(UTC), (begin + length).astimezone(UTC)
                if begins < ends and ends > first and begins <= last:
                    yield begins, ends

    def holds_at(self, moment: datetime) -> bool:
        """Return whether an instant is in the window: the begin is, the end is not."""
        return any(begin <= moment < end for begin, end in self.between(moment, moment))


@lru_cache(maxsize=1024)
def read_window(window: GuaranteeWindow) -> Occurrences:
    """Return when a window is. Raises WindowError that says what to write."""
    zone = _zone(window.time_zone)
    start = _moment("from", window.start, zone) if window.start else None
    end = _moment("until", window.end, zone) if window.end else None
    if start is None and end is None:
        raise WindowError("", "has neither from nor until; write one of them, or change guaranteed")
    if start and end and end <= start:
        raise WindowError("until", f"'{window.end}' is not after from, '{window.start}'; write a later until")
    if window.recurrence is None:
        return Occurrences(start, end, None, date.max)
    if start is None or end is None:
        missing = "from" if start is None else "until"
        raise WindowError("recurrence", f"'{window.recurrence}' needs {missing}, of the first window; write {missing}")
    rule, last = _rule(window.recurrence)
    if not recurs(rule, start.date(), 0):
        day = f"{start:%A}"
        raise WindowError("from", f"'{window.start}' is a {day}, which BYDAY does not have; write the first day it has")
    if last < start.date():
        raise WindowError("recurrence", f"'{window.recurrence}' ends before from; write a later UNTIL, or remove it")
    return Occurrences(start, end, rule, last)


def _rule(recurrence: str) -> tuple[dict[str, str], date]:
    """Return the rule and the last day on which a window begins."""
    last = date.max
    if match := _UNTIL.search(recurrence):
        try:
            last = date(*map(int, match.groups()))
        except ValueError:
            message = f"'{recurrence}' has no valid day after UNTIL; write one such as UNTIL=20270331"
            raise WindowError("recurrence", message) from None
    rule = parsed_rule(_UNTIL.sub("", recurrence))
    if rule is None or rule["FREQ"] == "MONTHLY":
        message = f"'{recurrence}' cannot be counted; write FREQ=DAILY or FREQ=WEEKLY, with BYDAY, INTERVAL, UNTIL only"
        raise WindowError("recurrence", message)
    return rule, last


def _zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    from zoneinfo import ZoneInfo  # few stacks have zones, and every verb loads this module

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # a folder of the database is an OSError
        pass
    try:
        ZoneInfo("Europe/Berlin")
    except KeyError:
        message = f"'{name}' cannot be read without a database of time zones; install tzdata, or write UTC"
        raise WindowError("timeZone", message) from None
    raise WindowError("timeZone", f"'{name}' is no time zone; write one such as Europe/Berlin, or UTC")


def _moment(key: str, written: str, zone: tzinfo) -> datetime:
    """Return a written time in its zone."""
    if "T24:" in written:
        message = f"'{written}' is no time of day; write the beginning of the next day{_day_after(written)}"
        raise WindowError(key, message)
    try:
        moment = datetime.fromisoformat(written)
    except ValueError:
        example = "write one such as 2026-12-05 or 2026-12-05T18:00"
        raise WindowError(key, f"'{written}' is not a valid date and time; {example}") from None
    if _ZONED.search(written[len("2026-12-05") :]):
        if zone is not UTC:
            raise WindowError(key, f"'{written}' has a zone beside timeZone; write it without, or remove timeZone")
        return moment
    local = moment.replace(tzinfo=zone)
    offsets = [local.replace(fold=fold).utcoffset() for fold in (0, 1)]
    if offsets[0] != offsets[1]:
        is_gap = local.astimezone(UTC).astimezone(zone).replace(tzinfo=None) != moment
        happens = "is skipped" if is_gap else "comes twice"
        remedy = f"write a time before or after it, or {local.astimezone(UTC):%Y-%m-%dT%H:%MZ}, without timeZone"
        raise WindowError(key, f"'{written}' {happens} in {zone}, when its clocks change; {remedy}")
    return local


def _day_after(written: str) -> str:
    try:
        return f", '{date.fromisoformat(written[: len('2026-12-05')]) + timedelta(days=1)}'"
    except ValueError:
        return ""
