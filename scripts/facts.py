"""Fail if a table of facts is older than its life, and say what to read again: `make facts`.

    python scripts/facts.py [DATE]

The workflow Facts runs it every week. It reads berth/catalog/tables.yaml and no network; CONTRIBUTING.md says what
follows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import yaml

TABLES = Path(__file__).parents[1] / "berth" / "catalog" / "tables.yaml"


def old_tables(text: str, today: date) -> Iterator[str]:
    """Yield a line for each table whose life ended before today, the oldest first."""
    rows = yaml.safe_load(text).values()
    for row in sorted(rows, key=lambda row: (row["as_of"], row["file"])):
        age = (today - row["as_of"]).days
        if age > row["life_days"]:
            again = "; ".join(row["read"])
            yield f"{row['file']}: of {row['as_of']}, {age} days old, good for {row['life_days']}; read again: {again}"


def main(words: list[str]) -> int:
    """Print the old tables; return 1 if there are any."""
    today = date.fromisoformat(words[0]) if words else datetime.now(UTC).date()
    lines = [*old_tables(TABLES.read_text(encoding="utf-8"), today)]
    for line in lines:
        print(line)
    if not lines:
        print(f"every table of facts is within its life on {today}")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
