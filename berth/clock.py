"""The one day that warnings compare dates with: `--as-of`, the variable BERTH_AS_OF, or today."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, date, datetime
from typing import Final

AS_OF: Final = "BERTH_AS_OF"
"""Environment variable with the day, as `--as-of` takes it."""

_CHOSEN: ContextVar[date | None] = ContextVar("as_of", default=None)


def as_of() -> date:
    """Return the day that warnings compare dates with. No exit code and no plan depends on it.

    Raises ValueError if BERTH_AS_OF is not a date.
    """
    if (chosen := _CHOSEN.get()) is not None:
        return chosen
    written = os.environ.get(AS_OF)
    return parse_day(written) if written else datetime.now(UTC).date()


@contextmanager
def on_day(day: date | None) -> Generator[None]:
    """Have `as_of` return this day in the block; None for that of the environment, or today."""
    token = _CHOSEN.set(day)
    try:
        yield
    finally:
        _CHOSEN.reset(token)


def parse_day(text: str) -> date:
    """Return the day of a text such as 2026-11-25. Raises ValueError that says what to write."""
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).date()
    except ValueError:
        raise ValueError(f"'{text}' is not a date; write one such as 2026-11-25") from None
