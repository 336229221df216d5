"""Verdicts of `berth lint` and `berth admit` on random jobs, compared with what became of them on a real cluster.

`recorded/*.yaml` says how the cases were recorded. No case that Berth says runs stays pending or unadmitted.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from berth.cli.admit import simulate
from berth.diagnostics import Severity
from berth.evaluate import evaluate_stack
from berth.jobs.files import ManifestDocument
from berth.lint.findings import Finding, Verdict, combined_verdict, lint_documents
from berth.lint.fleet import LintContext
from berth.lint.trial import try_pod_sets
from berth.simulator.scenario import ScenarioReader
from berth.simulator.story import JobStatus, run_steps
from berth.yaml_loader import load_yaml

FILES = sorted((Path(__file__).parent / "recorded").glob("*.yaml"))
HOST, SLICE, SHARED = "part of a TPU host", "part of a slice", "more than one of a shared GPU"
ROOM, POLICY = "room of GKE's own pods", "a policy that is newer than the recording"
BESIDES_PLACEMENT = {
    HOST: r"in a multi-host slice it must request all|a node of ct\S+ has",
    SLICE: r"not a whole number of \S+ slices",
    SHARED: r"a pod requests \d+ L4, but a node of \S+ has 1",
    ROOM: r"but pods can use \S+ of each",
    POLICY: r"\(policy berth-",
}
"""Why jobs that run on simulated nodes are refused, by the words of the fault. These nodes have no device plugin, which
refuses the first three; older recordings have none of GKE's own pods, and a policy may have come later."""
SET_APART: dict[str, dict[str, int]] = {
    "seed_34001": {HOST: 9, SLICE: 2, SHARED: 1, POLICY: 2},
    "seed_340128": {HOST: 7, SHARED: 2, ROOM: 3},
    "seed_350129": {HOST: 17, SLICE: 2, SHARED: 1},
    "seed_51177": {HOST: 1, SHARED: 1},
    "seed_55077": {HOST: 11, SHARED: 1, ROOM: 1},
    "seed_71103": {HOST: 7, SLICE: 2, ROOM: 2},
    "seed_88217": {HOST: 10, ROOM: 4},
}
"""How many cases of each file ran, and are not compared for one of these reasons."""


@cache
def recording(file: Path) -> dict[str, Any]:
    return load_yaml(file.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return a project for each file, with its stacks."""
    found: dict[str, Path] = {}
    for file in FILES:
        folder = found[file.stem] = tmp_path_factory.mktemp(file.stem)
        (folder / "Pulumi.yaml").write_text("name: berth\nruntime: python\n")
        for name, text in recording(file)["stacks"].items():
            (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return found


@pytest.fixture(scope="module")
def contexts(folders: dict[str, Path]) -> dict[tuple[str, str], LintContext]:
    """Return the fleet of each stack of each file."""
    found: dict[tuple[str, str], LintContext] = {}
    for file in FILES:
        for name in recording(file)["stacks"]:
            evaluation = evaluate_stack(str(folders[file.stem] / f"{name}.yaml"), folders[file.stem])
            assert evaluation.fleet_plan is not None, evaluation.faults
            found[file.stem, name] = LintContext(evaluation.fleet_plan)
    return found


def documents(case: dict[str, Any]) -> list[ManifestDocument]:
    return [ManifestDocument(f"{index}.yaml", each) for index, each in enumerate(case["docs"])]


def refused_besides(findings: list[Finding]) -> str | None:
    """Return why a job is refused that runs on simulated nodes; None for any other fault."""
    messages = [each.message for finding in findings for each in finding.faults]
    return next(
        (why for why, words in BESIDES_PLACEMENT.items() if any(re.search(words, one) for one in messages)), None
    )


Judged = tuple[Counter[Verdict], list[str], Counter[str]]
"""How often lint gave each answer, its wrong ones, and how many cases are not compared, by reason."""


@pytest.fixture(scope="module")
def judge(contexts: dict[tuple[str, str], LintContext]) -> Callable[[Path], Judged]:
    """Return a function that asks lint about each case of a file, once."""

    @cache
    def of_file(file: Path) -> Judged:
        answers: Counter[Verdict] = Counter()
        wrong: list[str] = []
        apart: Counter[str] = Counter()
        for case in recording(file)["cases"]:
            findings = list(lint_documents(documents(case), contexts[file.stem, case["stack"]]))
            said, ran = combined_verdict(findings), case["real"]["outcome"] == "runs"
            if ran and (why := refused_besides(findings)):
                apart[why] += 1
                continue
            answers[said] += 1
            if said is not Verdict.UNKNOWN and (said is Verdict.RUNS) != ran:
                messages = [each.message for finding in findings for each in finding.problems]
                wrong.append(f"{case['case']}: {said}, but {case['real']}: {case['why']} {messages}")
        return answers, wrong, apart

    return of_file


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_lint_says_what_became_of_each_job(file: Path, judge: Callable[[Path], Judged]) -> None:
    answers, wrong, apart = judge(file)
    assert wrong == []
    assert apart == SET_APART[file.stem]
    assert answers[Verdict.UNKNOWN] <= max(3, 0.03 * answers.total())  # of fewer than 100, three
    assert answers[Verdict.RUNS] >= 20
    assert answers[Verdict.NEVER] >= 30


def test_little_is_left_open(judge: Callable[[Path], Judged]) -> None:
    answers = sum((judge(file)[0] for file in FILES), Counter[Verdict]())
    assert answers.total() >= 1200
    assert answers[Verdict.UNKNOWN] <= 0.02 * answers.total()


Simulated = Callable[[Path, dict[str, Any]], simulate.SimulationResult]
"""Submits a case of a file to `berth admit`."""


@pytest.fixture
def simulated(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Simulated:
    """Return a function that submits a case to `berth admit` as a file, on the empty fleet of its stack."""
    monkeypatch.setattr(simulate, "evaluate_stack", cache(evaluate_stack))
    job = tmp_path / "job.yaml"

    def submit(file: Path, case: dict[str, Any]) -> simulate.SimulationResult:
        job.write_text("\n---\n".join(map(json.dumps, case["docs"])), encoding="utf-8")
        folder = folders[file.stem]
        return simulate.run_stacks([str(folder / f"{case['stack']}.yaml")], [str(job)], [], folder)

    return submit


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_admit_says_what_became_of_each_job(
    file: Path, contexts: dict[tuple[str, str], LintContext], simulated: Simulated
) -> None:
    """Its verdict is lint's, and its table and exit status say the same."""
    answers: Counter[Verdict] = Counter()
    for case in recording(file)["cases"]:
        findings = list(lint_documents(documents(case), contexts[file.stem, case["stack"]]))
        result, outcome = simulated(file, case), case["real"]["outcome"]
        said = combined_verdict(finding for _, finding in result.findings)
        assert said is combined_verdict(findings), case["case"]
        rows = [row for story in result.stories for step in story.steps for row in step.outcomes]
        has_quota = {row.status for row in rows} <= {JobStatus.ADMITTED, JobStatus.RESERVED}
        if said is Verdict.RUNS:
            assert rows, case["case"]
        if said is not Verdict.UNKNOWN:
            assert (bool(rows) and has_quota and not result.faults) is (said is Verdict.RUNS), case["case"]
        if outcome == "runs" and refused_besides(findings):
            continue
        answers[said] += 1
        assert said is Verdict.UNKNOWN or (said is Verdict.RUNS) is (outcome == "runs"), case["case"]
    assert answers[Verdict.UNKNOWN] <= max(3, 0.03 * answers.total())


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_admit_assigns_the_flavor_that_kueue_assigned(file: Path, contexts: dict[tuple[str, str], LintContext]) -> None:
    """Of jobs that Kueue admitted, whatever became of their pods; refused by a webhook, a job is not simulated."""
    compared = 0
    for case in recording(file)["cases"]:
        if case["real"]["outcome"] not in ("runs", "pending"):
            continue
        context = contexts[file.stem, case["stack"]]
        reader = ScenarioReader(context.simulated, _no_fleet, _no_manifests, lambda _, job, c=context: _barred(c, job))
        reader.add(documents(case))
        assert [each for each in reader.manifest_problems if each.severity == Severity.FAULT] == []
        (outcome,) = [each for step in run_steps(context.simulated, reader.steps, None).steps for each in step.outcomes]
        assert outcome.status in (JobStatus.ADMITTED, JobStatus.RESERVED), case["case"]
        resources = {use.flavor_resource[1] for use in outcome.quota_uses}
        accelerators = {each for each in resources if "/" in each} or resources
        flavors = {use.flavor_resource[0] for use in outcome.quota_uses if use.flavor_resource[1] in accelerators}
        assert sorted(flavors) == case["real"].get("flavor", []), case["case"]
        compared += 1
    assert compared >= 30


def test_a_split_queue_was_split_in_reality(tmp_path: Path) -> None:
    """`berth check` says that no job can use both flavors of this queue; Kueue gave each form of job its own."""
    (tmp_path / "Pulumi.yaml").write_text("name: berth\nruntime: python\n")
    flavors: dict[bool, set[str]] = {True: set(), False: set()}
    for file in FILES:
        for case in recording(file)["cases"] if "behind" in recording(file)["stacks"] else ():
            if case["stack"] == "behind" and case["real"].get("flavor"):
                flavors["kueue.x-k8s.io/podset-" in str(case["docs"])] |= set(case["real"]["flavor"])
        if "behind" in recording(file)["stacks"]:
            (tmp_path / "stack.yaml").write_text(recording(file)["stacks"]["behind"], encoding="utf-8")
            warnings = evaluate_stack(str(tmp_path / "stack.yaml"), tmp_path).warnings
            assert "split-queue" in {each.code for each in warnings}
    assert flavors == {True: {"v6e"}, False: {"v6e-spot"}}


def _barred(context: LintContext, job: Any) -> Any:
    return replace(job, barred=try_pod_sets(context, job.queue, job.pod_sets).barred_flavors)


def _no_fleet(name: str) -> Any:
    raise AssertionError(name)


def _no_manifests(name: str) -> Any:
    raise AssertionError(name)


def test_the_recordings_are_large_and_of_every_kind() -> None:
    outcomes = Counter(case["real"]["outcome"] for file in FILES for case in recording(file)["cases"])
    kinds = Counter(case["docs"][0]["kind"] for file in FILES for case in recording(file)["cases"])
    assert set(outcomes) == {"runs", "pending", "never", "refused"}
    assert outcomes.total() >= 400
    assert min(kinds[each] for each in ("Job", "JobSet", "Pod")) >= 15
