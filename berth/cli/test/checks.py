"""The tests of a stack: reads assertions, simulates what they are about, and compares.

```yaml
tests:
  - name: the guarantee of speech is taken back from vision
    steps:                          # or scenario: FILE; as in docs/admission.md
      - submit: {name: big, queue: vision/train, pods: 6, requests: {google.com/tpu: 4}}
      - submit: {name: own, queue: speech/train, pods: 2, requests: {google.com/tpu: 4}}
    expect: {admitted: [own], preempted: [big], use: {speech/train: 8}}
  - name: nobody waits longer than 4 h at p95
    trace: stacks/traces/dev.csv
    expect: {wait: {p95: 4h}, unfinished: 0}
  - name: a lost zone stops no queue for a day
    trace: stacks/traces/dev.csv
    lose: [zone=us-central1-a at 8h for 6h]
    expect: {wait: {longest: 1d}}
  - name: a lost zone breaks no guarantee but those of slices
    lose: [zone=us-central1-a]
    expect: {breaks: [language/train, speech/train, vision/train]}
```
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from berth.cli.admit.simulate import simulate_document
from berth.cli.simulate.answer import Request, load_run, simulate_evaluation
from berth.cli.test.expectations import (
    AT_END,
    OF_LOSS,
    OF_TRACE,
    check_expected,
    check_losses,
    check_run,
    check_summary,
)
from berth.diagnostics import Problem, Problems, Severity
from berth.document import Block, Note, Table
from berth.evaluate import Evaluation
from berth.jobs.files import ManifestDocument, read_documents
from berth.jobs.values import SourceValue
from berth.loader.locate import display_path, locate
from berth.loader.positions import NO_MARKS
from berth.overview.losses import LossError, losses_of
from berth.simulator.fleet import build_simulated_fleet
from berth.simulator.timed.summary import TraceSummary
from berth.text import pluralize

ASSERTIONS = "assertions"
"""The folder beside a stack file in which its tests are, in a file with its name."""


class AssertionOutcome(Struct, frozen=True):
    """An assertion, what was found instead or as expected, and its place."""

    test: str
    assertion: str
    holds: bool
    found: str
    place: str


class TestResult(Struct, frozen=True):
    """The outcomes of all assertions of a stack, and the problems of files and simulations."""

    stack: str
    outcomes: tuple[AssertionOutcome, ...]
    problems: tuple[Problem, ...]


def run_tests(stack: str, files: Sequence[pathlib.Path], root: pathlib.Path) -> TestResult:
    """Run the tests of the files, or of the file beside the stack file."""
    evaluation, problems = load_run(stack, root)
    if evaluation is None:
        return TestResult(stack, (), tuple(problems))
    stack_file = locate(stack, root).file
    shipped = stack_file.parent / ASSERTIONS / f"{stack_file.stem.removeprefix('Pulumi.')}.yaml"
    result = check_evaluation(evaluation, files or [shipped], root)
    return TestResult(stack, result.outcomes, tuple(dict.fromkeys([*problems, *result.problems])))


def check_evaluation(evaluation: Evaluation, files: Sequence[pathlib.Path], root: pathlib.Path) -> TestResult:
    """Run the tests of the files on a stack without faults."""
    runner = _Runner(evaluation, root)
    for file in files:
        shown = display_path(file, root)
        documents, problems = read_documents(file, shown)
        runner.problems += problems
        for document in documents:
            runner.run(document)
        if not documents and not problems:
            runner.problems.append(Problem(Severity.FAULT, "no-tests", (), "has no tests; write tests", shown))
    return TestResult(evaluation.stack, tuple(runner.outcomes), tuple(dict.fromkeys(runner.problems)))


class _Runner:
    def __init__(self, evaluation: Evaluation, root: pathlib.Path) -> None:
        self.evaluation, self.root = evaluation, root
        self.outcomes: list[AssertionOutcome] = []
        self.problems: list[Problem] = []
        self._summaries: dict[tuple[pathlib.Path, tuple[str, ...]], TraceSummary | None] = {}

    def run(self, document: ManifestDocument) -> None:
        """Run the tests of a document; none with a fault in their form."""
        problems = Problems()
        fields = document.root_value(problems).known_fields(("tests",))
        tests = [self._read(each) for each in (fields["tests"].sequence("a list of tests") if fields else None) or ()]
        self.problems += document.locate_problems(problems.entries)
        if problems.has_faults():
            return
        if not tests:
            message = "has no tests; write a list of them below tests"
            self.problems.append(Problem(Severity.FAULT, "no-tests", (), message, document.file))
        for test in tests:
            assert test is not None
            name, fields = test
            problems = Problems()
            fields = {key: SourceValue(each.value, each.path, problems) for key, each in fields.items()}
            if "trace" in fields:
                checks = self._trace_checks(fields)
            elif "lose" in fields:
                checks = self._loss_checks(fields)
            else:
                checks = self._step_checks(document, fields)
            for key, text, holds, found in checks:
                place = document.location((*fields["expect"].path, key))
                self.outcomes.append(AssertionOutcome(name, text, holds, found, place))
            self.problems += document.locate_problems(problems.entries)

    def _read(self, test: SourceValue) -> tuple[str, dict[str, SourceValue]] | None:
        """Return the name and the keys of a test, after checking its form."""
        fields = test.known_fields(("name", "expect"), ("steps", "scenario", "trace", "lose"))
        if fields is None:
            return None
        name = fields["name"].text("a name")
        subjects = [key for key in ("steps", "scenario", "trace") if key in fields] or [*{"lose"} & fields.keys()]
        if len(subjects) != 1:
            test.fault("bad-test", "a test is about one thing; write one of steps, scenario, trace or lose")
            return None
        if subjects[0] in ("scenario", "trace"):
            fields[subjects[0]].text("a file")
        if "lose" in fields:
            losses = fields["lose"].sequence("a list of losses")
            if losses is not None and not losses:
                fields["lose"].fault("bad-test", "loses nothing; write such as [zone=us-central1-a]")
            for each in losses or ():
                each.text("a loss")
            if subjects[0] not in ("trace", "lose"):
                fields["lose"].fault("bad-test", "machines fail over time; write lose beside trace, or alone")
        allowed = {"trace": OF_TRACE, "lose": OF_LOSS}.get(subjects[0], AT_END)
        expected = fields["expect"].known_fields((), allowed)
        if expected is not None and not expected:
            fields["expect"].fault("bad-test", "expects nothing, so it always passes; write what must be")
        for key, value in (expected or {}).items():
            check_expected(key, value)
        return (name, fields) if name is not None else None

    # --- simulations --------------------------------------------------------------------------------------------------

    def _step_checks(
        self, document: ManifestDocument, fields: Mapping[str, SourceValue]
    ) -> Iterator[tuple[str, str, bool, str]]:
        if "steps" in fields:
            marks = document.marks
            for step in fields["steps"].path[:-1]:
                marks = marks[step].inner_marks if step in marks else NO_MARKS
            steps = {"steps": fields["steps"].value}
            documents = [ManifestDocument(document.file, steps, {key: marks[key] for key in marks if key == "steps"})]
        else:
            shown = str(fields["scenario"].value)
            documents, problems = read_documents(_existing(shown, self.root), shown)
            self.problems += problems
        for steps_document in documents:
            result = simulate_document(self.evaluation, steps_document, self.root)
            self.problems += result.problems
            for run in result.stories:
                yield from check_run(run, fields["expect"])

    def _trace_checks(self, fields: Mapping[str, SourceValue]) -> Iterator[tuple[str, str, bool, str]]:
        trace = _existing(str(fields["trace"].value), self.root)
        lose = _texts(fields["lose"]) if "lose" in fields else ()
        if (trace, lose) not in self._summaries:
            request, problems = Request(stacks=(self.evaluation.stack,), trace=trace, lose=lose), list[Problem]()
            self._summaries[trace, lose] = simulate_evaluation(self.evaluation, request, self.root, problems)
            for each in problems:
                if each.path == ("--lose",):
                    fields["lose"].fault(each.code, each.message)
                else:
                    self.problems.append(each)
        summary = self._summaries[trace, lose]
        if summary is not None:
            yield from check_summary(summary, fields["expect"])

    def _loss_checks(self, fields: Mapping[str, SourceValue]) -> Iterator[tuple[str, str, bool, str]]:
        plan = self.evaluation.fleet
        try:
            losses = losses_of(plan, _texts(fields["lose"]))
        except LossError as error:
            fields["lose"].fault("bad-loss", str(error))
        else:
            yield from check_losses(losses, build_simulated_fleet(plan), fields["expect"])


def _texts(value: SourceValue) -> tuple[str, ...]:
    return tuple(str(each.value) for each in value.sequence("a list of losses") or ())


def _existing(name: str, root: pathlib.Path) -> pathlib.Path:
    """Return a file relative to the current directory, or else to the project's."""
    path = pathlib.Path(name)
    return path if path.exists() else root / path


VERSION = 1
"""Version of the JSON of `berth test`."""


def outcomes_document(result: TestResult) -> Iterator[Block]:
    """Yield a row for each assertion, and the total."""
    rows = [
        [each.test, each.assertion, "ok" if each.holds else "FAILED", each.found, "" if each.holds else each.place]
        for each in result.outcomes
    ]
    yield Table("Tests", ("test", "assertion", "result", "found", ""), rows, once=(0,))
    failed = sum(not each.holds for each in result.outcomes)
    yield Note([f"{result.stack}: {pluralize(len(rows), 'assertion')}, {failed} failed"])


def outcomes_as_json(result: TestResult) -> dict[str, Any]:
    """Return the JSON values of a result (docs/simulate.md)."""
    return {
        "version": VERSION,
        "stack": result.stack,
        "assertions": [
            {
                "test": each.test,
                "assertion": each.assertion,
                "holds": each.holds,
                "found": each.found,
                "place": each.place,
            }
            for each in result.outcomes
        ],
        "problems": [each.as_json() for each in result.problems],
    }
