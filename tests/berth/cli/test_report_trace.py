"""`berth report --trace`: the page has the pictures of a simulation, whose figures are those of the jobs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from berth import evaluate as evaluation
from berth.cli import app
from tests.stack_files import ROOT

STACK, TRACE = "stacks/examples/batch-platform.yaml", "stacks/traces/batch-platform.csv"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(autouse=True)
def _in_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def run(*words: str) -> str:
    answer = CliRunner().invoke(app, list(words))
    assert answer.exit_code == 0, answer.output
    return answer.stdout


def test_the_page_draws_waiting_by_team_as_long_as_it_is(tmp_path: Path) -> None:
    """Bars are read back from the page, and compared with the percentiles of `berth simulate --json`."""
    run("report", STACK, "--trace", TRACE, "-o", str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    picture = re.search(r'<svg[^>]* class="waits".*?</svg>', page, flags=re.S)
    assert picture is not None
    (summary,) = json.loads(run("simulate", STACK, TRACE, "--json"))["stacks"]
    waits = [each for each in summary["waits"] if each["kind"] == "team"]
    longest = max(each["p95"] for each in waits)
    drawn = {}
    for group in ElementTree.fromstring(picture[0]).findall(f"{SVG}g"):
        bars = {bar.get("class"): float(bar.get("width", "0")) for bar in group.findall(f"{SVG}rect")}
        drawn[group.findtext(f"{SVG}text")] = (bars.get("median", 0), bars.get("late", 0))
    assert drawn == {
        each["name"]: pytest.approx((each["p50"] / longest * 420, each["p95"] / longest * 420), abs=0.06)
        for each in waits
    }
    assert '<section id="trace"' in page
    assert 'class="simulation"' in page


def test_the_page_evaluates_its_stack_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page, the jobs and the trace are of one evaluation, which takes most of the time of a large fleet."""
    evaluated: list[str] = []
    evaluate = evaluation._evaluate
    monkeypatch.setattr(evaluation, "_evaluate", lambda stack, *rest: evaluated.append(stack) or evaluate(stack, *rest))
    page = tmp_path / "page.html"
    run("report", "dev", "--trace", "stacks/traces/dev.csv", "--jobs", "stacks/jobs/train.yaml", "-o", str(page))
    assert evaluated == ["dev"]
    assert {'id="trace"', 'id="admission"'} <= set(re.findall(r'id="[a-z]+"', page.read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", ["batch-platform", "cpu-batch"])
def test_the_area_below_waiting_jobs_is_the_time_that_jobs_wait(name: str) -> None:
    """Mean queue length times the period is the sum of waits (Little's law): within what the percentiles leave open."""
    words = ("simulate", f"stacks/examples/{name}.yaml", f"stacks/traces/{name}.csv", "--json")
    (summary,) = json.loads(run(*words))["stacks"]
    areas = {each["team"]: sum(each["series"]) / len(each["series"]) * summary["seconds"] for each in summary["teams"]}
    rounding = 0.001 * summary["seconds"]
    for wait in (each for each in summary["waits"] if each["kind"] == "team"):
        p50, p90, p95, longest = (wait[each] * wait["jobs"] for each in ("p50", "p90", "p95", "longest"))
        least = 0.4 * p50 + 0.05 * p90 + 0.05 * p95
        most = 0.5 * p50 + 0.4 * p90 + 0.05 * p95 + 0.05 * longest + longest / wait["jobs"]
        assert least - rounding <= areas[wait["name"]] <= most + rounding


def test_a_broken_trace_is_no_page(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("nothing\n1\n", encoding="utf-8")
    answer = CliRunner().invoke(app, ["report", STACK, "--trace", str(tmp_path / "bad.csv")])
    assert answer.exit_code == 1
    assert "<html" not in answer.stdout
