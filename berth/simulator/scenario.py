"""The steps of a simulation, from scenario files and manifests.

```yaml
stack: stacks/examples/multislice.yaml   # the initial stack, unless the command names another
steps:
  - submit: {name: a, queue: vision/train, pods: 2, requests: {google.com/tpu: 4}, priority: high}
  - submit: jobs/train.yaml              # manifests, one step each
  - finish: a
  - hold: vision/train                   # drain: also evicts its jobs; resume: admits jobs again
  - provisioned: a                       # its admission checks succeed
  - change: stacks/examples/other.yaml   # replaces the stack
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from itertools import count

from msgspec import Struct, field
from msgspec.structs import replace

from berth.diagnostics import Problem, Problems, Severity, did_you_mean
from berth.jobs.files import ManifestDocument
from berth.jobs.pod_groups import PodGroups
from berth.jobs.pod_set import PodSet
from berth.jobs.pods import parse_amount
from berth.jobs.values import SourceValue, get_nested
from berth.manifests.workloads.values import as_mapping
from berth.simulator.arrivals import Arrival, already_submitted, read_arrivals, without_excluded
from berth.simulator.fleet import SimulatedFleet
from berth.simulator.scheduler.model import Job


class StepKind(StrEnum):
    """What a step does; values are keys of a scenario."""

    START = "start"
    """The state before the first step. Not a key of a scenario."""
    SUBMIT = "submit"
    """A job is submitted."""
    FINISH = "finish"
    """A job finishes, and releases its quota."""
    HOLD = "hold"
    """A queue admits no more jobs."""
    DRAIN = "drain"
    """A queue admits no more jobs, and evicts those it admitted."""
    RESUME = "resume"
    """A held or drained queue admits jobs again."""
    PROVISIONED = "provisioned"
    """The admission checks of a job pass."""
    CHANGE = "change"
    """Another stack file takes effect."""


_STEP_KEYS = tuple(kind for kind in StepKind if kind is not StepKind.START)

BarFlavors = Callable[[SimulatedFleet, Job], Job]
"""Returns a job with the flavors on whose topology Kueue finds no room for its pods."""
LoadFleet = Callable[[str], tuple[SimulatedFleet | None, list[Problem]]]
"""Loads a stack file by name: the simulated fleet, and its problems."""

LoadManifests = Callable[[str], tuple[list[ManifestDocument], list[Problem]]]
"""Loads the documents of a file or folder by name, and their problems."""


class ScenarioStep(Struct, frozen=True):
    """One step. `name` is the name of a job, a cluster queue or a stack file; `text` is shown to users."""

    kind: StepKind
    name: str
    text: str
    arrival: Arrival | None = None
    fleet: SimulatedFleet | None = None


class Submission(Struct, frozen=True):
    """Manifests that are submitted together, and the fleet at that time."""

    fleet: SimulatedFleet
    documents: list[ManifestDocument]


class ScenarioReader(Struct):
    """Collects the steps of one run from manifests and scenarios, in order.

    Also keeps the unfinished jobs with their display names, and the manifests that were submitted together to a fleet.
    `problems` are those of scenarios and steps, `manifest_problems` those of manifests. `bar_flavors` completes each
    submitted job.
    """

    fleet: SimulatedFleet
    load_fleet: LoadFleet
    load_manifests: LoadManifests
    bar_flavors: BarFlavors = lambda _, job: job
    steps: list[ScenarioStep] = field(default_factory=list[ScenarioStep])
    problems: list[Problem] = field(default_factory=list[Problem])
    manifest_problems: list[Problem] = field(default_factory=list[Problem])
    submissions: list[Submission] = field(default_factory=list["Submission"])
    unfinished: dict[str, str] = field(default_factory=dict[str, str])
    _ids_by_name: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    _queues: dict[str, str | None] = field(default_factory=dict[str, str | None])
    _next_numbers: dict[str, int] = field(default_factory=dict[str, int])
    """`generateName` → the last number given to a job of that name."""

    def add_existing(self, jobs: Mapping[str, str]) -> None:
        """Add jobs that exist before the first step, with their display names."""
        for name, display_name in jobs.items():
            self._register(name, display_name)

    def _register(self, name: str, display_name: str) -> None:
        self.unfinished[name] = display_name
        for alias in (name, display_name):
            self._ids_by_name.setdefault(alias, set()).add(name)

    def add(self, documents: Iterable[ManifestDocument]) -> None:
        """Add the steps of documents."""
        documents = list(documents)
        groups, claims = PodGroups(documents, self.fleet.namespaces), self.fleet.claims.with_documents(documents)
        submission = Submission(self.fleet, [])
        for document in documents:
            problems = Problems()
            if is_scenario(document):
                self._add_scenario(document.root_value(problems))
            else:
                if submission.fleet is not self.fleet or not submission.documents:
                    submission = Submission(self.fleet, [])
                    self.submissions.append(submission)
                submission.documents.append(document)
                source = document.root_value(problems)
                arrivals = list(read_arrivals(source, self.fleet, groups, claims))
                self.manifest_problems += document.locate_problems(problems.entries)
                problems.entries.clear()
                for arrival in arrivals:
                    self._add_arrival(source, self._with_generated_name(arrival))
            self.problems += document.locate_problems(problems.entries)

    def _with_generated_name(self, arrival: Arrival) -> Arrival:
        """Number a repeated job with `generateName`, where Kubernetes would append a random suffix."""
        name = arrival.job.name
        if name not in self.unfinished or not name.endswith("-"):
            return arrival
        number = next(n for n in count(self._next_numbers.get(name, 2)) if f"{name}{n}" not in self.unfinished)
        self._next_numbers[name] = number
        return Arrival(replace(arrival.job, name=f"{name}{number}"), f"{arrival.display_name}{number}")

    def _add_arrival(self, source: SourceValue, arrival: Arrival) -> None:
        name = arrival.job.name
        if name in self.unfinished:
            source.fault("twice", already_submitted(name))
            return
        self._register(name, arrival.display_name)
        arrival = replace(arrival, job=self.bar_flavors(self.fleet, arrival.job))
        self.steps.append(ScenarioStep(StepKind.SUBMIT, name, f"submit {arrival.display_name}", arrival=arrival))

    def _add_scenario(self, source: SourceValue) -> None:
        fields = source.known_fields(("steps",), ("stack",))
        for step in (fields["steps"].sequence("a list of steps") if fields else None) or ():
            action = step.known_fields((), _STEP_KEYS)
            if action is None:
                continue
            if len(action) != 1:
                step.fault("bad-step", f"a step has exactly one key; write one of {', '.join(_STEP_KEYS)}")
                continue
            kind, action_value = next(iter(action.items()))
            if kind in _STEP_KEYS:
                self._add_step(StepKind(kind), action_value)

    def _add_step(self, kind: StepKind, source: SourceValue) -> None:
        if kind == StepKind.SUBMIT:
            self._add_submit(source)
        elif kind in (StepKind.FINISH, StepKind.PROVISIONED):
            self._add_job_step(kind, source)
        elif kind == StepKind.CHANGE:
            self._add_change(source)
        elif (name := source.text("a queue's name")) is not None:
            queue = self._resolve_queue(source, name)
            if queue is not None:
                self.steps.append(ScenarioStep(kind, queue, f"{kind} {name}"))

    def _add_submit(self, source: SourceValue) -> None:
        if isinstance(source.value, str):
            documents, problems = self.load_manifests(source.value)
            self._forward_problems(source, problems)
            for document in documents:
                if is_scenario(document):
                    source.fault("bad-step", f"'{source.value}' is a scenario; a step submits manifests")
                    return
            self.add(documents)
            return
        arrival = _inline_job(source, self.fleet, self._resolve_queue)
        if arrival is not None:
            self._add_arrival(source, arrival)

    def _add_job_step(self, kind: StepKind, source: SourceValue) -> None:
        name = source.text("a job's name")
        if name is None:
            return
        ids = sorted(self._ids_by_name.get(name, ()))
        if len(ids) != 1:
            known = [*self.unfinished, *self.unfinished.values()]
            message = f"no unfinished job '{name}'{did_you_mean(name, known)}"
            if ids:
                message = f"'{name}' is ambiguous; write one of {', '.join(ids)}"
            source.fault("no-job", message)
            return
        self.steps.append(ScenarioStep(kind, ids[0], f"{kind} {name}"))
        if kind == StepKind.FINISH:
            for alias in (ids[0], self.unfinished.pop(ids[0])):
                self._ids_by_name[alias].discard(ids[0])
            self._next_numbers.clear()

    def _add_change(self, source: SourceValue) -> None:
        name = source.text("a stack file")
        if name is None:
            return
        fleet, problems = self.load_fleet(name)
        self._forward_problems(source, problems)
        if fleet is not None:
            self.fleet, self._queues = fleet, {}
            self.steps.append(ScenarioStep(StepKind.CHANGE, name, f"change to {name}", fleet=fleet))

    def _forward_problems(self, source: SourceValue, problems: Iterable[Problem]) -> None:
        """Add the problems of a file that a step names; those without a place get the step's place."""
        for problem in problems:
            if problem.place or problem.severity == Severity.WARNING:
                self.problems.append(problem)
            else:
                source.fault(problem.code, problem.message)

    def _resolve_queue(self, source: SourceValue, name: str) -> str | None:
        if name not in self._queues:
            self._queues[name] = self.fleet.find_queue(name)
        queue = self._queues[name]
        if queue is None:
            known = self.fleet.queue_names()
            suggestion = did_you_mean(name, known) or f"; queues: {', '.join(known[:6])}" if known else ""
            source.fault("no-queue", f"no queue '{name}'{suggestion}")
        return queue


def is_scenario(document: ManifestDocument) -> bool:
    """Return whether a document is a scenario: it has `steps` and is not a Kubernetes object."""
    value = document.value
    return "steps" in as_mapping(value) and "kind" not in as_mapping(value)


def scenario_values(documents: Iterable[ManifestDocument], key: str) -> Iterator[tuple[ManifestDocument, SourceValue]]:
    """Yield the values of a top-level key in scenarios, each with its document."""
    for document in documents:
        if is_scenario(document) and (value := get_nested(document.value, key)) is not None:
            yield document, document.root_value(Problems()).child(key, value)


def _inline_job(
    source: SourceValue, fleet: SimulatedFleet, resolve_queue: Callable[[SourceValue, str], str | None]
) -> Arrival | None:
    """Return a job that a scenario describes inline, with one pod set."""
    fields = source.known_fields(("name", "queue", "requests"), ("pods", "priority"))
    if fields is None:
        return None
    name, queue_name = fields["name"].text("a job's name"), fields["queue"].text("a queue's name")
    queue = resolve_queue(fields["queue"], queue_name) if queue_name else None
    pods = fields["pods"].integer("a whole number of pods from 0", 0) if "pods" in fields else 1
    priority = _resolve_priority(fields["priority"], fleet) if "priority" in fields else fleet.default_priority
    requests = _parse_requests(fields["requests"])
    if name is None or queue is None or pods is None or priority is None or requests is None:
        return None
    pod_set = without_excluded(PodSet(name="main", count=pods, requests=requests))
    local_queue = fleet.find_local_queue(queue_name or "", queue)
    job = Job(name=name, queue=queue, priority=priority, pod_sets=(pod_set,), local_queue=local_queue)
    return Arrival(job, name)


def _resolve_priority(source: SourceValue, fleet: SimulatedFleet) -> int | None:
    """Return a priority given by value or by name."""
    if isinstance(source.value, int):
        return source.integer("a priority's value or name", -(2**31), 2**31 - 1)
    name = source.text("a priority's value or name")
    if name is None or name in fleet.priorities:
        return None if name is None else fleet.priorities[name]
    known = list(fleet.priorities)
    suggestion = did_you_mean(name, known) or (f"; priorities: {', '.join(known)}" if known else "")
    source.fault("no-priority", f"no priority '{name}'{suggestion}")
    return None


def _parse_requests(source: SourceValue) -> dict[str, int] | None:
    requests: dict[str, int] = {}
    entries = source.mapping("a mapping of resources to quantities")
    for resource, quantity in (entries or {}).items():
        number = parse_amount(resource, quantity)
        if number is None:
            return None
        requests[resource] = number
    return None if entries is None else requests
