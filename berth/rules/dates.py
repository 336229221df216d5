"""Times in a stack file compared with the day of `berth.clock`. What is past is a warning."""

from __future__ import annotations

from datetime import datetime

from berth.clock import as_of


def past(timestamp: str) -> str:
    """Return that a time in UTC is before the day, as the beginning of a message; empty for a later time."""
    day, today = datetime.fromisoformat(timestamp).date(), as_of()
    return f"'{timestamp}' is before {today}, the day that dates are compared with" if day < today else ""


def past_reservation(start: str, end: str, *, delivered: bool) -> tuple[str, str] | None:
    """Return the key and the warning of a future reservation whose time is over, or that should have begun."""
    if ended := past(end):
        return (
            "end",
            f"{ended}, so the reservation has ended; remove it with the pools that use it, or write a later end",
        )
    if not delivered and (begun := past(start)):
        message = f"{begun}, so the reservation should have begun; write delivered: true if Google has created it"
        return "start", f"{message}, or a later start"
    return None
