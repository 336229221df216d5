"""Every table of facts has its day and its life; a wrong entry is found here and not by a user."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest
from msgspec import ValidationError, convert

from berth.catalog import FactTable, fact_tables
from berth.clock import as_of, on_day, parse_day
from tests.stack_files import ROOT

NO_FACTS = {
    "berth/adopt/rest_fields.yaml",
    "berth/catalog/sources.yaml",
    "berth/catalog/tables.yaml",
    "berth/diagnostics/examples.yaml",
    "berth/diagnostics/faults.yaml",
    "berth/diff/calm/harmless.yaml",
    "berth/diff/guard/protected_objects.yaml",
    "berth/diff/guard/safeguards.yaml",
    "berth/diff/kinds.yaml",
    "berth/diff/provider_inputs/effects.yaml",
    "berth/diff/provider_inputs/keeps.yaml",
    "berth/diff/provider_inputs/replaces.yaml",
    "berth/loader/placeholders.yaml",
    "berth/monitoring/alerts.yaml",
    "berth/monitoring/dashboards.yaml",
    "berth/monitoring/recordings.yaml",
    "berth/rules/backends.yaml",
    "berth/workloads/acceptance.yaml",
    "berth/workloads/kinds.yaml",
}
"""YAML files of Berth that are its own words and choices, or that follow the pinned provider."""


def test_every_table_of_facts_has_its_day() -> None:
    """A new YAML file is a table of facts with a day, or is listed as none."""
    files = {str(file.relative_to(ROOT)) for file in (ROOT / "berth").rglob("*.yaml")}
    dated = [table.file for table in fact_tables().values()]
    assert len(set(dated)) == len(dated)
    assert sorted([*dated, *NO_FACTS]) == sorted(files)


@pytest.mark.parametrize("table", fact_tables().values(), ids=fact_tables())
def test_a_table_has_a_possible_day(table: FactTable) -> None:
    """A day in the future is a mistake: nothing was compared then."""
    assert table.as_of <= as_of()
    assert 30 <= table.life_days <= 366
    assert table.good_until == table.as_of + timedelta(days=table.life_days)
    assert "as_of" not in Path(ROOT / table.file).read_text(encoding="utf-8")


def test_the_names_of_tables_differ() -> None:
    names = [table.name for table in fact_tables().values()]
    assert len(set(names)) == len(names)


def test_an_unknown_value_is_named_with_its_table_and_what_is_not_checked() -> None:
    table = FactTable(file="zones.yaml", name="Berth's table of zones", as_of=date(2026, 3, 1), life_days=90)
    assert table.unknown("'mars-1a'", "whether it exists is") == (
        "'mars-1a' is unknown: it is not in Berth's table of zones of 2026-03-01, so whether it exists is not checked"
    )


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"name": "x", "as_of": date(2026, 1, 1), "life_days": 90}, "file"),
        ({"file": "x", "name": "x", "life_days": 90}, "as_of"),
        ({"file": "x", "name": "x", "as_of": "soon", "life_days": 90}, "as_of"),
        ({"file": "x", "name": "x", "as_of": date(2026, 1, 1), "life_days": "long"}, "life_days"),
        ({"file": "x", "name": "x", "as_of": date(2026, 1, 1), "life": 90, "life_days": 9}, "life"),
    ],
)
def test_a_wrong_row_is_an_error_that_names_the_column(row: dict[str, object], said: str) -> None:
    """It is found here: every table is loaded by the tests."""
    with pytest.raises(ValidationError, match=f"`.*{said}.*`"):
        convert(row, FactTable)


# --- the day ----------------------------------------------------------------------------------------------------------


def test_the_day_is_chosen_for_a_block_and_else_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BERTH_AS_OF", "2027-01-02")
    with on_day(date(2028, 2, 29)):
        assert as_of() == date(2028, 2, 29)
    assert as_of() == date(2027, 1, 2)


@pytest.mark.parametrize(
    "text", ["", "today", "2026-13-01", "20261125", "2026-W48-3", "2026-11-25T00:00:00Z", "25.11."]
)
def test_a_text_that_is_not_a_day_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="write one such as 2026-11-25"):
        parse_day(text)
