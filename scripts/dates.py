"""Move the dates of the examples, and the day of the tests, on to a day: `make dates`.

    python scripts/dates.py [DATE]

Maintenance exclusions and future reservations of the examples begin after that day; all of a file move by the same
number of months, so that they keep their lengths and order, but for days that a shorter month lacks. Recurring windows
stay. Run `make golden` afterwards.
"""

from __future__ import annotations

import re
import sys
from calendar import monthrange
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES: Sequence[Path] = (*sorted((ROOT / "stacks" / "examples").glob("*.yaml")), ROOT / "Pulumi.dev.yaml")
DAY_OF_TESTS = ROOT / "tests" / "conftest.py"
_SPAN = re.compile(
    r'(start: ")(?P<start>\d{4}-\d\d-\d\d)(T[\d:]+Z", end: "?)(?P<end>\d{4}-\d\d-\d\d)?(?!.*recurrence)', re.MULTILINE
)
_DAY = re.compile(r'(os\.environ\["BERTH_AS_OF"\] = ")\d{4}-\d\d-\d\d(")')


def moved(text: str, day: date) -> str:
    """Return the text of a stack file whose first span begins in the month after the day, and the others with it."""
    starts = [_months(date.fromisoformat(match["start"])) for match in _SPAN.finditer(text)]
    if not starts:
        return text
    shift = _months(day) + 1 - min(starts)
    return _SPAN.sub(lambda match: _shifted(match, shift), text)


def _shifted(match: re.Match[str], shift: int) -> str:
    end = _later(match["end"], shift) if match["end"] else ""
    return f"{match[1]}{_later(match['start'], shift)}{match[3]}{end}"


def _months(day: date) -> int:
    return day.year * 12 + day.month - 1


def _later(text: str, months: int) -> date:
    """Return the same day so many months later, or the last one of a month that is shorter."""
    day = date.fromisoformat(text)
    year, month = divmod(_months(day) + months, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def main(words: list[str]) -> None:
    """Rewrite the files."""
    day = date.fromisoformat(words[0]) if words else datetime.now(UTC).date()
    for file in FILES:
        file.write_text(moved(file.read_text(encoding="utf-8"), day), encoding="utf-8")
    text = DAY_OF_TESTS.read_text(encoding="utf-8")
    DAY_OF_TESTS.write_text(_DAY.sub(rf"\g<1>{day}\g<2>", text), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
