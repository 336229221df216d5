"""docs/facts.md is written from the tables of facts and their sources, and what it says of a source is in the table."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from datetime import date

import pytest
from msgspec import Struct, ValidationError, convert, field

from berth.catalog import fact_tables
from berth.yaml_loader import load_table
from tests.stack_files import ROOT

PAGE = ROOT / "docs" / "facts.md"
HEAD = """\
# Where facts come from

Berth compares a stack file with tables of facts ([unknown.md](unknown.md) says what it does with a value that none of
them has). This page lists what each group of rows was read from, with the commit or copy and its day. Written by
`make golden` from `berth/catalog/tables.yaml` and `berth/catalog/sources.yaml`; the tables name the source of a single
row.

"""


class Source(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was read: the page or file, the commit or words by which the table names it, and its day."""

    read: str
    day: date
    seen: str = ""


class Rows(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A group of rows, and the names of its sources; `differ` says where they disagree and which one the table has."""

    of: str
    sources: tuple[str, ...] = field(name="from")
    differ: str = ""


class Origin(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The sources of one table, and its groups of rows."""

    sources: Mapping[str, Source]
    rows: tuple[Rows, ...]


ORIGINS = convert(load_table(ROOT / "berth/catalog/sources.yaml"), dict[str, Origin])


def page() -> str:
    """Return the page: what has two sources, where they disagree, and every table."""
    groups = [(key, rows) for key, origin in ORIGINS.items() for rows in origin.rows]
    several = [rows for _, rows in groups if len(rows.sources) > 1]
    lines = [
        f"{len(several)} of {len(groups)} groups of rows have two sources or more; the others rest on one.",
        *("", "## Where sources disagree", "", "| facts | what Berth has |", "| --- | --- |"),
        *(f"| {rows.of} | {rows.differ} |" for _, rows in groups if rows.differ),
    ]
    for key, table in fact_tables().items():
        lines += [
            *("", f"## {table.name[:1].upper()}{table.name[1:]}", ""),
            f"`{table.file}`, compared on {table.as_of}, which holds until {table.good_until}.",
            *("", "| rows | source | second source |", "| --- | --- | --- |"),
            *(_row(ORIGINS[key], rows) for rows in ORIGINS[key].rows),
        ]
    return HEAD + "\n".join(lines) + "\n"


def _row(origin: Origin, rows: Rows) -> str:
    first, *others = (_named(origin.sources[name]) for name in rows.sources)
    return f"| {rows.of} | {first} | {'; '.join(others) or 'none'} |"


def _named(source: Source) -> str:
    commit = f" at {source.seen}" if source.seen.isalnum() and any(map(str.isdigit, source.seen)) else ""
    return f"{source.read}{commit}, {source.day}"


def test_the_page_is_the_golden_page() -> None:
    if os.environ.get("BERTH_GOLDEN") == "write":
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_table_has_sources_and_every_source_has_rows() -> None:
    assert list(ORIGINS) == list(fact_tables())
    for key, origin in ORIGINS.items():
        used = [name for rows in origin.rows for name in rows.sources]
        assert set(used) == set(origin.sources), key
        assert all(len(set(rows.sources)) == len(rows.sources) > 0 for rows in origin.rows), key


@pytest.mark.parametrize("key", ORIGINS)
def test_a_table_names_what_the_page_says_was_seen(key: str) -> None:
    """The text of the table has the words or the commit; no source is newer than the comparison with it."""
    table = fact_tables()[key]
    text = " ".join((ROOT / table.file).read_text(encoding="utf-8").replace("\n#", "\n").split()).lower()
    for source in ORIGINS[key].sources.values():
        assert " ".join(source.seen.split()).lower() in text, source
        assert source.day <= table.as_of, source


def test_the_page_counts_the_groups_with_two_sources() -> None:
    """Counted again, in the tables of the page itself."""
    rows = [line.split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    kinds = Counter(row[2] != "none |" for row in rows if len(row) == 3 and row[0] not in ("| rows", "| ---"))
    assert f"{kinds[True]} of {kinds.total()} groups" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"sources": {"a": {"read": "x"}}, "rows": []}, "day"),
        ({"sources": {"a": {"day": date(2026, 1, 1)}}, "rows": []}, "read"),
        ({"sources": {"a": {"read": "x", "day": "soon"}}, "rows": []}, "day"),
        ({"sources": {}, "rows": [{"of": "x"}]}, "from"),
        ({"sources": {}, "rows": [{"from": ["a"]}]}, "of"),
        ({"sources": {}, "rows": [{"of": "x", "from": ["a"], "differs": "x"}]}, "differs"),
        ({"rows": []}, "sources"),
    ],
)
def test_a_wrong_row_of_sources_is_an_error_that_names_the_column(row: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        convert(row, Origin)
