"""scripts/facts.py and scripts/dates.py: tables older than their life, and dates of the examples, without a network."""

from __future__ import annotations

import importlib.util
import re
from datetime import date, timedelta
from types import ModuleType

import pytest
import yaml

from berth.catalog import fact_tables
from tests.stack_files import ROOT


def script(name: str) -> ModuleType:
    """A script as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


facts, dates = script("facts"), script("dates")
TABLE = """
zones: {file: zones.yaml, name: Zones, as_of: 2026-01-10, life_days: 30}
versions: {file: versions.yaml, name: Versions, as_of: 2026-01-01, life_days: 365}
"""
SOURCES = """
zones: {sources: {one: {read: page one}, two: {read: page two}}}
versions: {sources: {notes: {read: notes}}}
"""


@pytest.mark.parametrize(("day", "old"), [("2026-02-08", 0), ("2026-02-09", 0), ("2026-02-10", 1), ("2027-02-01", 2)])
def test_a_table_is_old_on_the_day_after_its_life(day: str, old: int) -> None:
    lines = [*facts.old_tables(TABLE, SOURCES, date.fromisoformat(day))]
    assert len(lines) == old
    if old == 1:
        assert lines == ["zones.yaml: of 2026-01-10, 31 days old, good for 30; read again: page one; page two"]


def test_the_script_and_the_warning_agree_on_every_table() -> None:
    """On the last day of a table's life, and on the day after it."""
    texts = facts.read_catalog()
    for table in fact_tables().values():
        files = [line.partition(":")[0] for line in facts.old_tables(*texts, table.good_until)]
        later = [line.partition(":")[0] for line in facts.old_tables(*texts, table.good_until + timedelta(days=1))]
        assert table.file not in files
        assert table.file in later


def test_the_script_ends_with_1_if_a_table_is_old(capsys: pytest.CaptureFixture[str]) -> None:
    assert facts.main(["2099-01-01"]) == 1
    assert "berth/catalog/zones.yaml: of" in capsys.readouterr().out
    assert facts.main([max(table.as_of for table in fact_tables().values()).isoformat()]) == 0


def test_the_workflow_runs_the_script_every_week() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/facts.yml").read_text(encoding="utf-8"))
    (schedule,) = workflow[True]["schedule"]  # YAML reads the key `on` as true
    assert schedule["cron"].split()[4] == "1"
    assert {"run": "make facts"} in workflow["jobs"]["facts"]["steps"]


STACK = """
        window: {start: "2026-01-03T03:00:00Z", end: "2026-01-03T09:00:00Z", recurrence: "FREQ=WEEKLY;BYDAY=SA"}
          - {name: run, start: "2026-12-01T00:00:00Z", end: "2027-01-10T00:00:00Z"}
          - {name: long, start: "2027-02-15T00:00:00Z", end: end-of-support}
"""


def test_spans_begin_in_the_month_after_the_day_and_windows_stay() -> None:
    """All move by the same number of months; a second run changes nothing."""
    moved = dates.moved(STACK, date(2027, 11, 30))
    assert re.findall(r"20\d\d-\d\d-\d\d", moved) == [
        *("2026-01-03", "2026-01-03"), *("2027-12-01", "2028-01-10"), "2028-02-15"
    ]  # fmt: skip
    assert dates.moved(moved, date(2027, 11, 1)) == moved
    assert dates.moved("pools: {}\n", date(2027, 11, 30)) == "pools: {}\n"


def test_a_day_that_the_new_month_lacks_is_its_last() -> None:
    text = '{name: run, start: "2026-12-31T00:00:00Z", end: "2027-01-31T00:00:00Z"}'
    moved = dates.moved(text, date(2027, 1, 15))
    assert moved == '{name: run, start: "2027-02-28T00:00:00Z", end: "2027-03-31T00:00:00Z"}'
    assert "2028-02-29" in dates.moved(text, date(2028, 1, 31))


def test_the_examples_are_as_the_script_writes_them() -> None:
    """On the day of the tests."""
    found = re.search(r'BERTH_AS_OF"\] = "(.+?)"', dates.DAY_OF_TESTS.read_text(encoding="utf-8"))
    assert found is not None
    for file in dates.FILES:
        text = file.read_text(encoding="utf-8")
        assert dates.moved(text, date.fromisoformat(found[1])) == text, file
