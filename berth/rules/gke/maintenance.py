"""Rules on maintenance windows: how much time GKE needs for maintenance.

GKE's page on maintenance windows and exclusions (August 2026) states both figures. GKE refuses a window that gives it
less: "maintenance policy would go longer than 32d without 48h maintenance availability".
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from typing import Final

SHORTEST_WINDOW: Final = timedelta(hours=4)
"""The shortest window that counts."""

NEEDED: Final = timedelta(hours=48)
"""Time for maintenance within any `PERIOD`."""

PERIOD: Final = timedelta(days=32)

_DAYS: Final = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_TRIED: Final = 3 * 366
"""Days for which windows are counted: every pair of long and short months."""


def is_too_narrow(start: str, end: str, recurrence: str) -> bool:
    """Return whether a window leaves GKE too little time; False for a recurrence with other parts than the usual.

    `start` and `end` are UTC times such as 2026-12-01T00:00:00Z, `recurrence` is an RFC 5545 rule.
    """
    first, length = datetime.fromisoformat(start), datetime.fromisoformat(end) - datetime.fromisoformat(start)
    if length < SHORTEST_WINDOW:
        return True
    if (rule := _parsed(recurrence)) is None:
        return False
    begins = [first + timedelta(days=n) for n in range(_TRIED) if _recurs(rule, first.date(), n)]
    windows = -(-NEEDED // length)  # that add up to what GKE needs, the last of them in part
    rest = NEEDED - (windows - 1) * length
    waits = (begins[n + windows] + rest - (begins[n] + length) for n in range(len(begins) - windows))
    return any(wait > PERIOD for wait in waits)


def _parsed(recurrence: str) -> dict[str, str] | None:
    """Return the parts of a rule by name, or None for one whose days are not counted here."""
    parts = {name: value for name, _, value in (part.partition("=") for part in recurrence.split(";"))}
    day = rf"{'[1-4]' if parts['FREQ'] == 'MONTHLY' else ''}({'|'.join(_DAYS)})"
    known = {"FREQ": ".+", "INTERVAL": "[1-9]", "BYDAY": f"{day}(,{day})*", "WKST": ".+"}
    usual = all(name in known and re.fullmatch(known[name], value) for name, value in parts.items())
    return parts if usual and (parts["FREQ"] != "MONTHLY" or "BYDAY" in parts) else None


def _recurs(rule: dict[str, str], first: date, days: int) -> bool:
    """Return whether a window begins this many days after the first."""
    today, interval = first + timedelta(days=days), int(rule.get("INTERVAL", "1"))
    weekday = _DAYS[today.weekday()]
    if rule["FREQ"] == "MONTHLY":
        months = (today.year - first.year) * 12 + today.month - first.month
        return months % interval == 0 and f"{(today.day + 6) // 7}{weekday}" in rule["BYDAY"].split(",")
    if rule["FREQ"] == "WEEKLY":
        weeks = (days + first.weekday()) // 7
        return weeks % interval == 0 and weekday in rule.get("BYDAY", _DAYS[first.weekday()]).split(",")
    return days % interval == 0 and weekday in rule.get("BYDAY", weekday).split(",")


_MOST_DAYS: Final = 30
"""Days of an exclusion of all upgrades, by Google's own sample of 2025-02
(terraform-google-modules/terraform-docs-samples, gke/standard/zonal/no-channel-to-release-channel); public modules
of 2026 allow 90. No source limits the other scopes in
days: the same sample has one of 314, until the end of support."""


def long_exclusion(start: str, end: str, scope: str) -> str:
    """Return the warning for an exclusion that is longer than GKE may allow; empty for any other."""
    days = (datetime.fromisoformat(end) - datetime.fromisoformat(start)).days
    if scope != "NO_UPGRADES" or days <= _MOST_DAYS:
        return ""
    return (
        f"'{end}' is {days} days after the start, and Google's samples limit scope: {scope} to {_MOST_DAYS}; write an "
        "earlier end, or compare it with GKE's page on maintenance exclusions"
    )
