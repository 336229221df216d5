"""The one time that warnings compare dates with, and at which guarantees hold: `--at`, BERTH_AS_OF, or now."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, date, datetime, time
from typing import Final

AS_OF: Final = "BERTH_AS_OF"
"""Environment variable with the day or time, as `--as-of` takes it."""

_CHOSEN: ContextVar[datetime | None] = ContextVar("as_of", default=None)
_OTHER_INSTANT: ContextVar[datetime | None] = ContextVar("instant", default=None)


def as_of() -> date:
    """Return the day that warnings compare dates with. No exit code depends on it.

    Raises ValueError if BERTH_AS_OF is not a date.
    """
    return _chosen().date()


def instant() -> datetime:
    """Return the time at which the plan has the guarantees that hold then; a day is its beginning in UTC."""
    return _OTHER_INSTANT.get() or _chosen()


def _chosen() -> datetime:
    if (chosen := _CHOSEN.get()) is not None:
        return chosen
    written = os.environ.get(AS_OF)
    return parse_moment(written) if written else datetime.now(UTC)


@contextmanager
def on_day(day: date | None) -> Generator[None]:
    """Have `as_of` return this day in the block (`instant` its time); None for that of the environment, or today."""
    moment = day if isinstance(day, datetime) or day is None else datetime.combine(day, time(), UTC)
    token = _CHOSEN.set(moment)
    try:
        yield
    finally:
        _CHOSEN.reset(token)


@contextmanager
def at_instant(moment: datetime) -> Generator[None]:
    """Have only `instant` return this time in the block: warnings still compare dates with the same day."""
    token = _OTHER_INSTANT.set(moment)
    try:
        yield
    finally:
        _OTHER_INSTANT.reset(token)


def parse_day(text: str) -> date:
    """Return the day of a text such as 2026-11-25. Raises ValueError that says what to write."""
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).date()
    except ValueError:
        raise ValueError(f"'{text}' is not a date; write one such as 2026-11-25") from None


def parse_moment(text: str) -> datetime:
    """Return the time of a text such as 2026-11-25 or 2026-11-25T18:00Z, in UTC without a zone of its own.

    Raises ValueError that says what to write.
    """
    if "T" not in text:
        return datetime.combine(parse_day(text), time(), UTC)
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):  # the first and last hours of the calendar have no UTC
        raise ValueError(f"'{text}' is not a time; write one such as 2026-11-25T18:00Z") from None
