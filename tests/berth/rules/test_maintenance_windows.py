"""Maintenance windows that GKE refuses, and ones that it accepts (reported by its users, and in its own examples)."""

from __future__ import annotations

import pytest

from berth.rules.gke.maintenance import OLDER_PERIOD, exclusion_problems, is_too_narrow


@pytest.mark.parametrize(
    ("hours", "recurrence", "in_92_days", "in_32_days"),
    [
        (4, "FREQ=DAILY", False, False),
        (3, "FREQ=DAILY", True, True),
        (4, "FREQ=DAILY;INTERVAL=2", False, False),
        (4, "FREQ=DAILY;INTERVAL=3", False, True),
        (4, "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", False, False),
        (4, "FREQ=WEEKLY;BYDAY=SU", False, True),
        (4, "FREQ=WEEKLY", False, True),
        (4, "FREQ=WEEKLY;INTERVAL=2", True, True),
        (4, "FREQ=WEEKLY;BYDAY=SA,SU", False, True),
        (6, "FREQ=WEEKLY;BYDAY=SA,SU", False, False),
        (8, "FREQ=WEEKLY;BYDAY=SA,SU", False, False),
        (12, "FREQ=WEEKLY;BYDAY=SA", False, False),
        (11, "FREQ=WEEKLY;BYDAY=SA", False, True),
        (12, "FREQ=WEEKLY;INTERVAL=2;BYDAY=SA", False, True),
        (23, "FREQ=MONTHLY;BYDAY=1SA,3SA", False, True),
        (12, "FREQ=MONTHLY;BYDAY=1SA", True, True),
        (4, "FREQ=MONTHLY", True, True),
        (23, "FREQ=MONTHLY", False, True),
        (16, "FREQ=MONTHLY;BYMONTHDAY=1,11,21", False, False),
        (12, "FREQ=MONTHLY;BYMONTHDAY=31", True, True),
        (4, "FREQ=MONTHLY;INTERVAL=9;BYDAY=1SA", True, True),
        (12, "FREQ=MONTHLY;BYSETPOS=1;BYDAY=SA", None, None),
        (12, "FREQ=MONTHLY;BYMONTHDAY=1;BYDAY=1SA", None, None),
        (12, "FREQ=WEEKLY;COUNT=3", None, None),
    ],
)
def test_windows(hours: int, recurrence: str, in_92_days: bool | None, in_32_days: bool | None) -> None:
    """The newer rule of GKE, and the older one."""
    window = ("2026-01-03T00:00:00Z", f"2026-01-03T{hours:02}:00:00Z", recurrence)
    assert is_too_narrow(*window) is in_92_days
    assert is_too_narrow(*window, OLDER_PERIOD) is in_32_days


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([("01-01", "01-31")], []),
        ([("01-01", "02-15")], ["0 WARNING"]),
        ([("01-01", "04-01")], ["0 WARNING"]),
        ([("01-01", "04-02")], ["0 FAULT"]),
        # A third one at once after the second makes more than 90 days; a week later it does not.
        ([("01-01", "01-30"), ("03-02", "03-31"), ("01-30", "03-01")], []),
        ([("01-01", "01-30"), ("03-01", "03-31"), ("01-30", "03-01")], []),
        ([("01-01", "01-31"), ("03-01", "04-04"), ("01-31", "03-01")], ["1 FAULT"]),
        ([("01-01", "01-30"), ("03-08", "04-07"), ("01-30", "03-01")], []),
        ([(f"0{month}-01", f"0{month}-09") for month in (1, 3, 5, 7)], ["3 FAULT"]),
    ],
)
def test_exclusions_of_all_upgrades(spans: list[tuple[str, str]], expected: list[str]) -> None:
    """At most three, of 90 days each, and of 90 days where they follow each other."""
    given = [(n, f"e{n}", f"2027-{start}T00:00:00Z", f"2027-{end}T00:00:00Z") for n, (start, end) in enumerate(spans)]
    assert [f"{index} {severity.name}" for index, severity, _ in exclusion_problems(given)] == expected
