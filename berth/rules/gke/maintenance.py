"""Rules on maintenance windows and exclusions: how much time GKE needs for maintenance.

GKE's rules of 2026-08 (google/skills, skills/cloud/gke-upgrades at 400e760, 2026-08-19): 48 hours in any 92 days, in
windows of at least 4 hours, at most three exclusions of all upgrades of at most 90 days each, better of 30. GKE's page
of 2025 asked for 48 hours in any 32 days, and its API refused less ("maintenance policy would go longer than 32d
without 48h maintenance availability"): what only the older rule refuses is a warning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

from berth.calendar.recurrence import parsed_rule, recurs
from berth.diagnostics import Severity, join_quoted

SHORTEST_WINDOW: Final = timedelta(hours=4)
"""The shortest window that counts."""

NEEDED: Final = timedelta(hours=48)
"""Time for maintenance within any `PERIOD`."""

PERIOD: Final = timedelta(days=92)

OLDER_PERIOD: Final = timedelta(days=32)

_TRIED: Final = 3 * 366
"""Days for which windows are counted: every pair of long and short months."""


def is_too_narrow(start: str, end: str, recurrence: str, period: timedelta = PERIOD) -> bool | None:
    """Return whether a window leaves GKE too little time in some `period`.

    None, which is unknown, for a recurrence with other parts than FREQ, INTERVAL, BYDAY and BYMONTHDAY. `start` and
    `end` are UTC times such as 2026-12-01T00:00:00Z, `recurrence` is an RFC 5545 rule.
    """
    first, length = datetime.fromisoformat(start), datetime.fromisoformat(end) - datetime.fromisoformat(start)
    if length < SHORTEST_WINDOW:
        return True
    if (rule := parsed_rule(recurrence)) is None:
        return None
    begins = [first + timedelta(days=n) for n in range(_TRIED) if recurs(rule, first.date(), n)]
    windows = -(-NEEDED // length)  # that add up to what GKE needs, the last of them in part
    rest = NEEDED - (windows - 1) * length
    waits = (begins[n + windows] + rest - (begins[n] + length) for n in range(len(begins) - windows))
    return len(begins) <= windows or any(wait > period for wait in waits)


_MOST_DAYS: Final = 90
_ADVISED_DAYS: Final = 30
_MOST_EXCLUSIONS: Final = 3
"""Of all upgrades; no source limits the other scopes in days or number, beyond the minor version's end of support."""


def exclusion_problems(
    exclusions: Iterable[tuple[int, str, str, str]],
) -> Iterator[tuple[int, Severity, str]]:
    """Yield (index, severity, message) of the exclusions of all upgrades that GKE may refuse.

    `exclusions` are (index, name, start, end) of those with the scope NO_UPGRADES. Exclusions that follow each other
    without a day between count as one: GKE needs its hours in any 92 days.
    """
    ordered = sorted(exclusions, key=lambda each: each[2:])
    run_start, run_end, names = "", "", list[str]()
    for position, (index, name, start, end) in enumerate(ordered):
        is_chained = bool(names) and _days(run_end, start) < 1
        run_start, run_end = (run_start, max(run_end, end)) if is_chained else (start, end)
        names = [*names, name] if is_chained else [name]
        if (days := _days(start, end)) > _MOST_DAYS:
            yield index, Severity.FAULT, f"'{end}' is {days} days after the start, and {_LIMIT}; {_REMEDY}"
        elif is_chained and (in_all := _days(run_start, run_end)) > _MOST_DAYS:
            chain = f"'{name}' follows {join_quoted(names[:-1])}: together they stop upgrades for {in_all} days"
            yield index, Severity.FAULT, f"{chain}, and {_LIMIT}; {_REMEDY}"
        elif days > _ADVISED_DAYS:
            advice = f"GKE advises at most {_ADVISED_DAYS} for scope: NO_UPGRADES, and accepts {_MOST_DAYS}"
            yield index, Severity.WARNING, f"'{end}' is {days} days after the start, and {advice}; {_REMEDY}"
        if position == _MOST_EXCLUSIONS:
            too_many = f"'{name}' is one of {len(ordered)} exclusions with scope: NO_UPGRADES, and GKE accepts"
            yield index, Severity.FAULT, f"{too_many} {_MOST_EXCLUSIONS}; remove it, or write scope: NO_MINOR_UPGRADES"


_LIMIT: Final = f"GKE accepts at most {_MOST_DAYS} days of scope: NO_UPGRADES, and needs 48 hours in any {PERIOD.days}"
_REMEDY: Final = "write an earlier end, or scope: NO_MINOR_UPGRADES"


def _days(start: str, end: str) -> int:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).days
