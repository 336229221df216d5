"""`berth test`: assertions that hold, that fail, and that are not in the form."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from berth.cli import app
from berth.cli.test.expectations import check_summary
from berth.diagnostics import Problems
from berth.jobs.values import SourceValue
from berth.simulator.timed.summary import FlavorSummary, TraceSummary
from tests.bench.assertion_mutations import assertion_file, judge, mutations
from tests.stack_files import ROOT, evaluation

FILES = [ROOT / "assertions" / "dev.yaml", *sorted((ROOT / "stacks" / "examples" / "assertions").glob("*.yaml"))]
STEPS = """
tests:
  - name: speech
    steps:
      - submit: {name: big, queue: vision/train, pods: 6, requests: {google.com/tpu: 4}}
      - submit: {name: own, queue: speech/train, pods: 2, requests: {google.com/tpu: 4}}
    expect: EXPECT
"""
TRACE = """
tests:
  - name: day
    trace: stacks/traces/dev.csv
    expect: EXPECT
"""


@pytest.fixture(autouse=True)
def _in_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def _stack(name: str) -> str:
    return name if name == "dev" else f"stacks/examples/{name}.yaml"


def asserted(tmp_path: Path, text: str) -> tuple[int, list[dict[str, object]], str]:
    """Exit status, assertions and stderr of a file of tests for the dev stack."""
    path = tmp_path / "tests.yaml"
    path.write_text(text, encoding="utf-8")
    answer = CliRunner().invoke(app, ["test", "dev", str(path), "--json"])
    return answer.exit_code, json.loads(answer.stdout)["assertions"] if answer.stdout else [], answer.stderr


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_assertions_of_an_example_hold(file: Path) -> None:
    answer = CliRunner().invoke(app, ["test", _stack(file.stem), "--json"])
    assert answer.exit_code == 0, answer.output
    assert all(each["holds"] for each in json.loads(answer.stdout)["assertions"])


def test_every_example_with_a_trace_ships_assertions() -> None:
    assert {file.stem for file in FILES} == {file.stem for file in (ROOT / "stacks" / "traces").glob("*.csv")}


@pytest.mark.parametrize(
    ("text", "expect", "holds", "found"),
    [
        (STEPS, "{admitted: [own]}", True, "admitted"),
        (STEPS, "{admitted: [big]}", False, "pending"),
        (STEPS, "{pending: [big]}", True, "pending"),
        (STEPS, "{never: [nobody]}", False, "finished, or no such job"),
        (STEPS, "{preempted: [big]}", True, "big"),
        (STEPS, "{preempted: []}", False, "big"),
        (STEPS, "{preemptions: 0}", False, "1"),
        (STEPS, "{preemptions: 1}", True, "1"),
        (STEPS, "{use: {speech/train: 8}}", True, "8"),
        (STEPS, "{use: {speech/train: 9}}", False, "8"),
        (STEPS, "{use: {vision/train: 1}}", False, "0"),
        (STEPS, "{use: {vision/trian: 1}}", False, "no such queue"),
        (STEPS, "{flavors: {own: v5e}}", True, "v5e"),
        (STEPS, "{flavors: {own: l4-spot}}", False, "v5e"),
        (STEPS, "{flavors: {big: v5e}}", False, "none"),
        (TRACE, "{unfinished: 0}", True, "0"),
        (TRACE, "{evictions: 0}", False, "5"),
        (TRACE, "{lostHours: 0}", False, "7.942"),
        (TRACE, "{wait: {longest: 9h}}", False, "9.7h"),
        (TRACE, "{wait: {longest: 10h}}", True, "9.7h"),
        (TRACE, "{wait: {team: vision, longest: 23m}}", False, "23m"),
        (TRACE, "{wait: {queue: speech/serve, longest: 0s}}", True, "0s"),
        (TRACE, "{wait: {queue: speech/sevre, longest: 0s}}", False, "no such jobs"),
    ],
)
def test_an_assertion_holds_or_fails(tmp_path: Path, text: str, expect: str, holds: bool, found: str) -> None:
    status, (outcome,), _ = asserted(tmp_path, text.replace("EXPECT", expect))
    assert (outcome["holds"], outcome["found"], status) == (holds, found, 0 if holds else 1)
    line = next(number for number, row in enumerate(text.splitlines(), 1) if "EXPECT" in row)
    assert str(outcome["place"]).endswith(f"tests.yaml:{line}")


@pytest.mark.parametrize(
    ("hours", "most", "found"),
    [([0.1, 2.7, 0.2], 3, (True, "3")), ([1_234_567.25, 1.0], 1_234_568, (False, "1234568.25"))],
)
def test_lost_hours_are_added_as_they_are_written(hours: list[float], most: int, found: tuple[bool, str]) -> None:
    """Whatever a sum of such numbers is in binary, and whatever its size."""
    flavors = [FlavorSummary("f", "GPUs", 1, 0.0, 0.0, each, 0.0, []) for each in hours]
    summary = TraceSummary("s", 1, 0, 0, [], flavors, [], [], [], [], [])
    ((_, _, *answer),) = check_summary(summary, SourceValue({"lostHours": most}, (), Problems()))
    assert tuple(answer) == found


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("tests: []", "has no tests; write a list of them below tests"),
        ("tests: 5", "'5' is not a list of tests"),
        ("test: []", "unknown key 'test'; write one of tests"),
        (STEPS.replace("EXPECT", "{}"), "expects nothing, so it always passes"),
        (STEPS.replace("EXPECT", "{wait: {p95: 4h}}"), "unknown key 'wait'"),
        (TRACE.replace("EXPECT", "{preempted: [a]}"), "unknown key 'preempted'"),
        (TRACE.replace("EXPECT", "{wait: {p95: soon}}"), "'soon' is not a duration; write one such as 4h"),
        (TRACE.replace("EXPECT", "{wait: {team: vision}}"), "expects nothing; write one of p50, p90, p95, longest"),
        (TRACE.replace("EXPECT", "{evictions: -1}"), "'-1' is not the largest number that is allowed"),
        (TRACE.replace("EXPECT", "{evictions: few}"), "'few' is not the largest number that is allowed"),
        (STEPS.replace("EXPECT", "{use: [8]}"), "is not a mapping of queues to accelerators"),
        (STEPS.replace("EXPECT", "{flavors: [v5e]}"), "is not a mapping of jobs to their flavors"),
        (STEPS.replace("EXPECT", "{flavors: {own: 5}}"), "'5' is not a flavor's name"),
        (TRACE.replace("EXPECT", "{unfinished: 0}").replace("dev.csv", "dav.csv"), "dav.csv"),
        (TRACE.replace("EXPECT", "{unfinished: 0}") + "    steps: []\n", "a test is about one thing"),
        ("tests: [{name: a, expect: {admitted: [a]}}]", "a test is about one thing"),
        (
            STEPS.replace("EXPECT", "{admitted: [own]}").replace("speech/train", "speech/trian"),
            "no queue 'speech/trian'",
        ),
    ],
)
def test_a_file_in_another_form_is_refused(tmp_path: Path, text: str, line: str) -> None:
    status, outcomes, errors = asserted(tmp_path, text)
    assert status == 1
    assert outcomes == []
    assert line in errors
    assert "tests.yaml" in errors or "dav.csv" in errors


def test_a_misspelt_key_hides_nothing_and_is_not_missing(tmp_path: Path) -> None:
    text = TRACE.replace("trace:", "tracee:").replace("expect: EXPECT", "expext: {wait: {p95: soon}, evictions: -3}")
    status, _, shown = asserted(tmp_path, text)
    assert status == 1
    assert [line.split(": error: ")[1].partition(";")[0] for line in shown.splitlines()[:-1]] == [
        "tests[0].tracee: unknown key 'tracee'",
        "tests[0].expext: unknown key 'expext'",
        "tests[0].expext.wait.p95: 'soon' is not a duration",
        "tests[0].expext.evictions: '-3' is not the largest number that is allowed [bad-value]",
    ]


@pytest.mark.parametrize("stack", ["dev", "inference"])
def test_a_change_of_the_stack_makes_a_shipped_assertion_fail(stack: str) -> None:
    """Of a sample; `tests.bench.assertion_mutations` judges all of them."""
    base = evaluation(stack)
    sample = list(mutations(base))[::11]
    judged = {each.title: judge(base, each, assertion_file(stack)) for each in sample}
    assert [title for title, word in judged.items() if word == "survived"] == []
    assert sum(word == "caught" for word in judged.values()) >= 5


def test_a_file_without_the_assertions_of_preemption_lets_changes_survive(tmp_path: Path) -> None:
    path = tmp_path / "tests.yaml"
    path.write_text(STEPS.replace("EXPECT", "{admitted: [own]}"), encoding="utf-8")
    base = evaluation("dev")
    found = {each.title: judge(base, each, path) for each in mutations(base) if each.subject.startswith("speech-train")}
    assert found["speech-train: reclaimWithinCohort Any → Never"] == "caught"
    assert found["speech-train: reclaimWithinCohort Any → LowerPriority"] == "caught"
    assert found["speech-train: withinClusterQueue LowerPriority → Never"] == "survived"
    assert found["speech-train: lend of v5e None → 8"] == "alike"
    assert found["speech-train: guaranteed of v5e 8 → 16"] == "refused"


def test_the_page_and_the_module_show_a_file_that_passes(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "simulate.md").read_text(encoding="utf-8")
    text = page.split("```yaml\n")[1].split("```")[0]
    assert len(yaml.safe_load(text)["tests"]) == 2
    status, outcomes, errors = asserted(tmp_path, text)
    assert (status, errors) == (0, "")
    assert len(outcomes) == 5
