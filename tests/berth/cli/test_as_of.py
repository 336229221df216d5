"""`--as-of`: one day for all warnings about dates; plans, faults and exit codes do not depend on it."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from berth.catalog import fact_tables
from berth.cli import VERBS, app
from berth.clock import on_day
from berth.evaluate import evaluate_stack
from tests.small_fleets import fleet_with
from tests.stack_files import ALL_STACKS, ROOT

DAYS = (date(2020, 2, 29), date(2026, 11, 25), date(2041, 1, 1))


@pytest.mark.parametrize("stack", ALL_STACKS)
def test_plans_and_faults_are_those_of_every_day(stack: str) -> None:
    """Only warnings differ, and each that does names the day, or the end of support."""
    seen = []
    for day in DAYS:
        with on_day(day):
            seen.append(evaluate_stack(str(ALL_STACKS[stack]), ROOT))
    first, *others = seen
    assert all((each.plan, each.faults, each.notes) == (first.plan, first.faults, first.notes) for each in others)
    for day, each in zip(DAYS, seen, strict=True):
        dated = [p for p in each.warnings if p.code in ("date-past", "tables-old")]
        assert all(str(day) in problem.message for problem in dated)
        other = {p for p in each.warnings if p not in first.warnings} - {*dated}
        assert {p.code for p in other} <= {"version-unsupported"}


def test_old_tables_are_one_warning_that_lists_every_old_one() -> None:
    last = max(table.good_until for table in fact_tables().values())
    for day in (last, date(2041, 1, 1)):
        with on_day(day):
            found = [p for p in evaluate_stack("dev", ROOT).warnings if p.code == "tables-old"]
        old = [table for table in fact_tables().values() if table.good_until < day]
        assert len(found) == bool(old)
        assert all(table.dated_name in found[0].message for table in old)


def test_a_verb_takes_the_day_and_refuses_what_is_none(tmp_path: Path) -> None:
    stack = tmp_path / "Pulumi.x.yaml"
    stack.write_text(yaml.safe_dump({"config": {"berth:fleet": fleet_with()}}), encoding="utf-8")
    later = CliRunner().invoke(app, ["check", str(stack), "--as-of", "2027-02-01"])
    assert (later.exit_code, "[date-past]" in later.stdout, "2027-02-01" in later.stdout) == (0, True, True)
    now = CliRunner().invoke(app, ["check", str(stack)])
    assert (now.exit_code, "[date-past]" in now.stdout) == (0, False)
    wrong = CliRunner().invoke(app, ["check", str(stack), "--as-of", "tomorrow"])
    assert (wrong.exit_code, "'tomorrow' is not a date; write one such as 2026-11-25" in wrong.output) == (2, True)


def test_a_wrong_day_is_named_by_what_it_was_written_in(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("--at", "--as-of"):
        wrong = CliRunner().invoke(app, ["check", "dev", name, "tomorrow"])
        assert "Invalid value for --at (--as-of): 'tomorrow' is not a date" in wrong.output
    monkeypatch.setenv("BERTH_AS_OF", "yesterday")
    wrong = CliRunner().invoke(app, ["check", "dev"])
    assert (wrong.exit_code, "Invalid value for BERTH_AS_OF: 'yesterday' is not a date" in wrong.output) == (2, True)


def test_both_sides_of_a_diff_have_one_day(tmp_path: Path) -> None:
    """What is past on that day is past in both, so it is no new warning."""
    for name in ("old", "new"):
        fleet = fleet_with({"kueue": {"version": "0.19.2"}} if name == "new" else {})
        (tmp_path / f"Pulumi.{name}.yaml").write_text(yaml.safe_dump({"config": {"berth:fleet": fleet}}))
    words = ["diff", str(tmp_path / "Pulumi.old.yaml"), str(tmp_path / "Pulumi.new.yaml"), "--as-of", "2041-01-01"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert "New warnings" not in result.stdout


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_that_reads_a_stack_has_the_option(verb: str) -> None:
    text = CliRunner().invoke(app, [verb, "--help"]).stdout
    assert ("--as-of, --at DATE" in text) == (verb not in ("explain", "mcp", "schema"))


@pytest.mark.parametrize("version", ["1.27", "1.45"])
def test_an_existing_cluster_gets_the_version_warnings_of_a_created_one(version: str, tmp_path: Path) -> None:
    codes = []
    for existing in ({}, {"existing": {"name": "c", "location": "us-central1", "project": "acme-ml-dev"}}):
        place = {"project": "acme-ml-dev", "region": "us-central1"} if not existing else {}
        fleet = {
            **place,
            "cluster": {**existing, "version": version},
            "priorities": {"low": {"value": 1, "default": True}},
        }
        file = tmp_path / f"Pulumi.s{len(codes)}.yaml"
        file.write_text(yaml.safe_dump({"config": {"berth:fleet": fleet}}), encoding="utf-8")
        problems = evaluate_stack(str(file), tmp_path).problems
        codes.append({p.code for p in problems if p.path == ("cluster", "version") and p.severity == "warning"})
    assert codes[0] == codes[1]
    assert codes[0] & {"version-unsupported", "version-unknown"}
