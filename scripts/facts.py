"""Fail if a table of facts is older than its life, and say what to read again: `make facts`.

    python scripts/facts.py [DATE]

The workflow Facts runs it every week. It reads tables.yaml and sources.yaml in berth/catalog, and no network;
CONTRIBUTING.md says what follows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import yaml

CATALOG = Path(__file__).parents[1] / "berth" / "catalog"


def old_tables(tables: str, sources: str, today: date) -> Iterator[str]:
    """Yield a line for each table whose life ended before today, the oldest first; both texts are YAML."""
    read = yaml.safe_load(sources)
    rows = yaml.safe_load(tables).items()
    for key, row in sorted(rows, key=lambda each: (each[1]["as_of"], each[1]["file"])):
        age = (today - row["as_of"]).days
        if age > row["life_days"]:
            again = "; ".join(source["read"] for source in read[key]["sources"].values())
            yield f"{row['file']}: of {row['as_of']}, {age} days old, good for {row['life_days']}; read again: {again}"


def read_catalog() -> tuple[str, str]:
    """Return the texts of tables.yaml and sources.yaml."""
    tables, sources = (CATALOG / name for name in ("tables.yaml", "sources.yaml"))
    return tables.read_text(encoding="utf-8"), sources.read_text(encoding="utf-8")


def main(words: list[str]) -> int:
    """Print the old tables; return 1 if there are any."""
    today = date.fromisoformat(words[0]) if words else datetime.now(UTC).date()
    lines = [*old_tables(*read_catalog(), today)]
    for line in lines:
        print(line)
    if not lines:
        print(f"every table of facts is within its life on {today}")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
