"""Maintenance windows that GKE refuses, and ones that it accepts (reported by its users, and in its own examples)."""

from __future__ import annotations

import pytest

from berth.rules.gke.maintenance import is_too_narrow


@pytest.mark.parametrize(
    ("hours", "recurrence", "refused"),
    [
        (4, "FREQ=DAILY", False),
        (3, "FREQ=DAILY", True),
        (4, "FREQ=DAILY;INTERVAL=2", False),
        (4, "FREQ=DAILY;INTERVAL=3", True),
        (4, "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", False),
        (4, "FREQ=WEEKLY;BYDAY=SU", True),
        (4, "FREQ=WEEKLY", True),
        (4, "FREQ=WEEKLY;BYDAY=SA,SU", True),
        (6, "FREQ=WEEKLY;BYDAY=SA,SU", False),
        (8, "FREQ=WEEKLY;BYDAY=SA,SU", False),
        (12, "FREQ=WEEKLY;BYDAY=SA", False),
        (11, "FREQ=WEEKLY;BYDAY=SA", True),
        (12, "FREQ=WEEKLY;INTERVAL=2;BYDAY=SA", True),
        (23, "FREQ=MONTHLY;BYDAY=1SA,3SA", True),
        (12, "FREQ=MONTHLY;BYDAY=1SA", True),
        (12, "FREQ=MONTHLY;BYSETPOS=1;BYDAY=SA", False),
    ],
)
def test_windows(hours: int, recurrence: str, refused: bool) -> None:
    assert is_too_narrow("2026-01-03T00:00:00Z", f"2026-01-03T{hours:02}:00:00Z", recurrence) is refused
