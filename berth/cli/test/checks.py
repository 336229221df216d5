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
```
"""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from berth.cli.admit.simulate import simulate_document
from berth.cli.simulate.answer import Request, load_run, simulate_evaluation
from berth.cli.simulate.output import format_time
from berth.diagnostics import Problem, Problems, Severity
from berth.evaluate import Evaluation
from berth.jobs.files import ManifestDocument, read_documents
from berth.jobs.values import SourceValue
from berth.loader.locate import display_path, locate
from berth.loader.positions import NO_MARKS
from berth.simulator.story import JobOutcome, JobStatus, SimulationRun
from berth.simulator.timed.durations import parse_duration
from berth.simulator.timed.summary import TraceSummary, WaitSummary

ASSERTIONS = "assertions"
"""The folder beside a stack file in which its tests are, in a file with its name."""
_PERCENTILES = ("p50", "p90", "p95", "longest")
_STATUSES = {
    "admitted": frozenset({JobStatus.ADMITTED, JobStatus.UNPLACED}),
    "pending": frozenset({JobStatus.PENDING, JobStatus.PREEMPTED, JobStatus.DRAINED}),
    "reserved": frozenset({JobStatus.RESERVED}),
    "never": frozenset({JobStatus.NEVER_ADMITTED}),
}
_AT_END = (*_STATUSES, "preempted", "preemptions", "use", "flavors")
_OF_TRACE = ("wait", "unfinished", "evictions", "lostHours")


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
        self._summaries: dict[pathlib.Path, TraceSummary | None] = {}

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
            expect = SourceValue(fields["expect"].value, fields["expect"].path, problems)
            checks = (
                self._trace_checks(fields, expect) if "trace" in fields else self._step_checks(document, fields, expect)
            )
            for key, text, holds, found in checks:
                place = document.location((*expect.path, key))
                self.outcomes.append(AssertionOutcome(name, text, holds, found, place))
            self.problems += document.locate_problems(problems.entries)

    def _read(self, test: SourceValue) -> tuple[str, dict[str, SourceValue]] | None:
        """Return the name and the keys of a test, after checking its form."""
        fields = test.known_fields(("name", "expect"), ("steps", "scenario", "trace"))
        if fields is None:
            return None
        name = fields["name"].text("a name")
        subjects = [key for key in ("steps", "scenario", "trace") if key in fields]
        if len(subjects) != 1:
            test.fault("bad-test", "a test is about one thing; write one of steps, scenario or trace")
            return None
        if subjects[0] != "steps":
            fields[subjects[0]].text("a file")
        expected = fields["expect"].known_fields((), _OF_TRACE if subjects[0] == "trace" else _AT_END)
        if expected is not None and not expected:
            fields["expect"].fault("bad-test", "expects nothing, so it always passes; write what must be")
        for key, value in (expected or {}).items():
            _check_expected(key, value)
        return (name, fields) if name is not None else None

    # --- simulations --------------------------------------------------------------------------------------------------

    def _step_checks(
        self, document: ManifestDocument, fields: Mapping[str, SourceValue], expect: SourceValue
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
                yield from _check_run(run, expect)

    def _trace_checks(
        self, fields: Mapping[str, SourceValue], expect: SourceValue
    ) -> Iterator[tuple[str, str, bool, str]]:
        trace = _existing(str(fields["trace"].value), self.root)
        if trace not in self._summaries:
            request = Request(stacks=(self.evaluation.stack,), trace=trace)
            self._summaries[trace] = simulate_evaluation(self.evaluation, request, self.root, self.problems)
        summary = self._summaries[trace]
        if summary is not None:
            yield from _check_summary(summary, expect)


def _existing(name: str, root: pathlib.Path) -> pathlib.Path:
    """Return a file relative to the current directory, or else to the project's."""
    path = pathlib.Path(name)
    return path if path.exists() else root / path


# --- assertions -------------------------------------------------------------------------------------------------------


def _check_expected(key: str, value: SourceValue) -> None:
    """Add a fault if the expected value has another form."""
    if key in ("preemptions", "unfinished", "evictions", "lostHours"):
        value.integer("the largest number that is allowed", 0)
    elif key == "use":
        for amount in (value.mapping("a mapping of queues to accelerators") or {}).values():
            amount.integer("the least number of accelerators", 0)
    elif key == "flavors":
        for flavor in (value.mapping("a mapping of jobs to their flavors") or {}).values():
            flavor.text("a flavor's name")
    elif key == "wait":
        _check_limits(value)
    else:
        for name in value.sequence("a list of jobs") or ():
            name.text("a job's name")


def _check_limits(value: SourceValue) -> None:
    fields = value.known_fields((), (*_PERCENTILES, "team", "queue")) or {}
    for figure, longest in fields.items():
        if figure in _PERCENTILES and parse_duration(longest.value) is None:
            longest.fault("bad-value", f"'{longest.value}' is not a duration; write one such as 4h")
    if fields and not fields.keys() & set(_PERCENTILES):
        value.fault("bad-test", f"expects nothing; write one of {', '.join(_PERCENTILES)}")


def _check_run(run: SimulationRun, expect: SourceValue) -> Iterator[tuple[str, str, bool, str]]:
    """Yield key, text, result and what was found for each assertion about the end of a scenario."""
    expected = expect.mapping("assertions") or {}
    status = {run.display_names.get(each.job, each.job): each.status for each in run.unfinished}
    lost = [row.preempted_by.job for moment in run.steps for row in moment.outcomes if row.preempted_by]
    preempted = sorted({run.display_names.get(job, job) for job in lost})
    for key, value in expected.items():
        if key in _STATUSES:
            for name in map(str, _items(value)):
                found = status.get(name)
                yield key, f"{name} is {key}", found in _STATUSES[key], str(found or "finished, or no such job")
        elif key == "preempted":
            names = sorted(map(str, _items(value)))
            yield key, f"preempted: {', '.join(names) or 'none'}", preempted == names, ", ".join(preempted) or "none"
        elif key == "preemptions":
            yield key, f"at most {value.value} preemptions", len(lost) <= _number(value), str(len(lost))
        elif key == "flavors":
            chosen = {run.display_names.get(each.job, each.job): set(each.flavors.values()) for each in run.unfinished}
            for name, flavor in (value.mapping("jobs") or {}).items():
                found = chosen.get(name, set())
                yield key, f"{name} uses {flavor.value}", found == {flavor.value}, ", ".join(sorted(found)) or "none"
        else:
            for queue, least in (value.mapping("queues") or {}).items():
                amount = _amount_in_use(run, queue)
                text = f"{queue} uses at least {least.value}"
                if amount is None:
                    yield key, text, False, "no such queue"
                else:
                    yield key, text, amount >= _number(least), str(amount)


def _check_summary(summary: TraceSummary, expect: SourceValue) -> Iterator[tuple[str, str, bool, str]]:
    """Yield key, text, result and what was found for each assertion about a trace."""
    numbers: dict[str, tuple[str, Callable[[], float]]] = {
        "unfinished": ("unfinished jobs", lambda: len(summary.unfinished)),
        "evictions": ("evictions", lambda: sum(each.evictions for each in summary.evictions)),
        "lostHours": ("lost accelerator hours", lambda: sum(each.lost_hours for each in summary.flavors)),
    }
    for key, value in (expect.mapping("assertions") or {}).items():
        if key in numbers:
            noun, count = numbers[key]
            yield key, f"at most {value.value} {noun}", count() <= _number(value), f"{count():g}"
            continue
        fields = {name: each.value for name, each in (value.mapping("limits") or {}).items()}
        kind = next((kind for kind in ("queue", "team") if kind in fields), None)
        groups = [each for each in summary.waits if each.kind == (kind or "team")]
        if kind is not None:
            groups = [each for each in groups if each.name == fields[kind]]
        of = f" in {kind} {fields[kind]}" if kind else " in every team"
        for figure in _PERCENTILES:
            if figure in fields:
                yield (key, *_check_wait(groups, figure, parse_duration(fields[figure]) or 0, of))


def _check_wait(groups: Sequence[WaitSummary], figure: str, limit: int, of: str) -> tuple[str, bool, str]:
    """Compare a percentile of each group with a limit; jobs that never start wait longer than any limit."""
    text = f"wait {figure} at most {format_time(limit)}{of}"
    waits = [wait for each in groups if (wait := getattr(each, figure)) is not None]
    if not waits or any(each.never for each in groups):
        return text, False, "jobs that never start" if groups else "no such jobs"
    return text, max(waits) <= limit, format_time(max(waits))


def _amount_in_use(run: SimulationRun, name: str) -> int | None:
    """Return the accelerators that the jobs of a queue hold at the end; None without such a queue."""
    fleet = run.steps[-1].fleet if run.steps else run.fleet
    queue = fleet.find_queue(name)
    last: dict[str, JobOutcome] = {}
    uses: dict[str, int] = {}
    for outcome in (row for moment in run.steps for row in moment.outcomes):
        last[outcome.job] = outcome
        if outcome.quota_uses:
            counted = [use for use in outcome.quota_uses if use.flavor_resource in fleet.accelerator_nouns]
            uses[outcome.job] = sum(use.amount for use in counted)
    holding = _STATUSES["admitted"] | _STATUSES["reserved"]
    if queue is None:
        return None
    return sum(uses.get(job, 0) for job, each in last.items() if each.queue == queue and each.status in holding)


def _items(value: SourceValue) -> list[object]:
    return [each.value for each in value.sequence("a list") or ()]


def _number(value: SourceValue) -> int:
    return value.value if isinstance(value.value, int) else 0
