"""Every table of facts has its day and its life; a wrong entry is found here and not by a user."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec import ValidationError, convert

from berth.catalog import FactTable, fact_tables, releases
from berth.clock import as_of, on_day, parse_day
from berth.versions.standing import FOLDER, components
from berth.yaml_loader import load_table
from tests.stack_files import ROOT

NO_FACTS = {
    "berth/adopt/rest_fields.yaml",
    "berth/catalog/sources.yaml",
    "berth/catalog/tables.yaml",
    "berth/diagnostics/examples.yaml",
    "berth/diagnostics/faults.yaml",
    "berth/diagnostics/foreign_keys.yaml",
    "berth/diff/calm/harmless.yaml",
    "berth/diff/guard/protected_objects.yaml",
    "berth/diff/guard/safeguards.yaml",
    "berth/diff/kinds.yaml",
    "berth/diff/provider_inputs/defaults.yaml",
    "berth/diff/provider_inputs/effects.yaml",
    "berth/diff/provider_inputs/keeps.yaml",
    "berth/diff/provider_inputs/replaces.yaml",
    "berth/loader/placeholders.yaml",
    "berth/monitoring/alerts.yaml",
    "berth/monitoring/dashboards.yaml",
    "berth/monitoring/recordings.yaml",
    "berth/rules/backends.yaml",
    "berth/workloads/acceptance.yaml",
    "berth/why/words.yaml",
    "berth/workloads/kinds.yaml",
}
"""YAML files of Berth that are its own words and choices, or that follow the pinned provider or the pinned Kueue."""


def test_every_table_of_facts_has_its_day() -> None:
    """A new YAML file is a table of facts with a day, or is listed as none."""
    files = {str(file.relative_to(ROOT)) for file in (ROOT / "berth").rglob("*.yaml")}
    dated = [table.file for table in fact_tables().values()]
    assert len(set(dated)) == len(dated)
    assert sorted([*dated, *NO_FACTS]) == sorted(files)


@pytest.mark.parametrize("table", fact_tables().values(), ids=fact_tables())
def test_a_table_has_a_possible_day(table: FactTable) -> None:
    """A day in the future is a mistake: nothing was compared then. The day of the tests may be older than a table."""
    assert table.as_of <= datetime.now(UTC).date()
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


# --- rows -------------------------------------------------------------------------------------------------------------


class UniqueKeys(yaml.SafeLoader):
    """A loader that refuses two rows of one key, of which a parser keeps the last without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value if not key.tag.endswith(":merge")]
        twice = [str(key) for key in dict.fromkeys(keys) if keys.count(key) > 1]
        assert not twice, f"line {node.start_mark.line + 1}: two rows of {', '.join(twice)}"
        return super().construct_mapping(node, deep)


@pytest.mark.parametrize("table", fact_tables().values(), ids=fact_tables())
def test_no_table_has_two_rows_of_one_key(table: FactTable) -> None:
    with (ROOT / table.file).open(encoding="utf-8") as file:
        yaml.load(file, UniqueKeys)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('minors:\n  "1.35": {standard: 2027-04-11}\n  "1.36": {}\n  "1.35": {}\n', "line 2: two rows of 1.35"),
        ('kueue:\n  in: {"0.19.6": 1, "0.20.0": 2, "0.19.6": 3}\n', "line 2: two rows of 0.19.6"),
        ("a: 1\nb: 2\na: 3\nb: 4\n", "line 1: two rows of a, b"),
    ],
)
def test_two_rows_of_one_release_are_an_error_with_their_line(text: str, said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        yaml.load(text, UniqueKeys)


def gaps(minors: Iterable[str]) -> list[str]:
    """The minors that a list leaves out between its first and its last."""
    known = sorted(tuple(map(int, minor.split("."))) for minor in minors)
    (major, first), (_, last) = known[0], known[-1]
    return [f"{major}.{minor}" for minor in range(first, last + 1) if (major, minor) not in known]


RELEASES = {
    "GKE": [*releases().minors, *releases().without_dates],
    **{key: [*row.minors] for key, row in components().items()},
    "gates of Kueue": [*load_table(FOLDER / "kueue_gates.yaml")],
    **{f"CRDs of {key}": [*row["read"]] for key, row in load_table(FOLDER / "crds.yaml").items()},
}


@pytest.mark.parametrize("name", RELEASES)
def test_no_release_is_left_out_between_two_others(name: str) -> None:
    assert gaps(RELEASES[name]) == []


MERGED = ROOT / "berth/jobs/kinds.yaml"
"""The one table with merge keys, which PyYAML reads."""


@pytest.mark.parametrize("file", sorted(each for each in (ROOT / "berth").rglob("*.yaml") if each != MERGED))
def test_a_table_reads_as_pyyaml_reads_it_except_for_days(file: Path) -> None:
    """The reader of tables follows YAML 1.2, and people read them as the YAML of stack files: `on`, `010` or `<<`."""
    assert load_table(file) == yaml.load(file.read_text(encoding="utf-8"), _WithoutDays)


class _WithoutDays(yaml.CSafeLoader):
    """PyYAML's loader, to which a day is text."""


_WithoutDays.add_constructor("tag:yaml.org,2002:timestamp", yaml.CSafeLoader.construct_yaml_str)


def test_a_release_that_is_left_out_is_named() -> None:
    assert gaps(["1.33", "1.36"]) == ["1.34", "1.35"]
    assert gaps(["0.9", "0.10", "0.12"]) == ["0.11"]


def test_a_table_of_a_day_to_come_is_an_error() -> None:
    """The same comparison as for every table, with a day that it refuses."""
    late = FactTable(file="x", name="x", as_of=datetime.now(UTC).date() + timedelta(days=1), life_days=90)
    with pytest.raises(AssertionError):
        test_a_table_has_a_possible_day(late)


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
