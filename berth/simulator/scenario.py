"""Scenario files, and plain manifests, as steps.

```yaml
stack: stacks/examples/multislice.yaml   # the queues to begin with, unless the command names others
steps:
  - submit: {name: a, queue: vision/train, pods: 2, requests: {google.com/tpu: 4}, priority: high}
  - submit: jobs/train.yaml              # manifests, each of them a step of its own
  - finish: a
  - hold: vision/train                   # drain: those it admitted lose their place too; resume: it admits again
  - provisioned: a                       # an admission check that held it is met
  - change: stacks/examples/other.yaml   # the stack file becomes this one
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count

from msgspec import Struct, field
from msgspec.structs import replace

from berth.diagnostics import Problem, Problems, near_miss
from berth.jobs.files import Document
from berth.jobs.pod_set import PodSet
from berth.jobs.quantities import amount
from berth.jobs.values import At, as_mapping, deep, shown
from berth.simulator.arrivals import Arrival, arrivals, counted
from berth.simulator.fleet import Book
from berth.simulator.scheduler.model import Job

SUBMIT, FINISH, HOLD, DRAIN, RESUME, PROVISIONED, CHANGE = KINDS = (
    "submit",
    "finish",
    "hold",
    "drain",
    "resume",
    "provisioned",
    "change",
)

OpenBook = Callable[[str], tuple[Book | None, list[Problem]]]
"""The book of a stack file that a scenario names, and what is wrong with it."""

OpenManifests = Callable[[str], tuple[list[Document], list[Problem]]]
"""The documents of a file or folder that a scenario names."""


class Step(Struct, frozen=True):
    """One step. `name` is a job's or a cluster queue's name, or the stack file; `said` is the step in words."""

    kind: str
    name: str
    said: str
    arrival: Arrival | None = None
    book: Book | None = None


class Steps(Struct):
    """Steps in the making: manifests and scenarios of one run, in the order in which they are given.

    `there` are the unfinished jobs, each with the name that its owner calls it by.
    """

    book: Book
    open_book: OpenBook
    open_manifests: OpenManifests
    steps: list[Step] = field(default_factory=list[Step])
    problems: list[Problem] = field(default_factory=list[Problem])
    there: dict[str, str] = field(default_factory=dict[str, str])
    _meant: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    _queues: dict[str, str | None] = field(default_factory=dict[str, str | None])
    _taken: dict[str, int] = field(default_factory=dict[str, int])
    """Of a `generateName` a number up to which none is free."""

    def begin_with(self, jobs: Mapping[str, str]) -> None:
        """Jobs that are there before the first step, with what they are called."""
        for name, called in jobs.items():
            self._is_there(name, called)

    def _is_there(self, name: str, called: str) -> None:
        self.there[name] = called
        for each in (name, called):
            self._meant.setdefault(each, set()).add(name)

    def add(self, documents: Iterable[Document]) -> None:
        """The documents' steps."""
        for document in documents:
            problems = Problems()
            at = document.at(problems)
            if is_scenario(document):
                self._scenario(at)
            else:
                self._manifest(at)
            self.problems += document.placed(problems.found)

    def _manifest(self, at: At) -> None:
        for arrival in arrivals(at, self.book):
            self._arrives(at, self._one_of_its_own(arrival))

    def _one_of_its_own(self, arrival: Arrival) -> Arrival:
        """A further job of one `generateName`, which ends in a dash: Kubernetes makes names up, and here they count."""
        name = arrival.job.name
        if name not in self.there or not name.endswith("-"):
            return arrival
        number = next(n for n in count(self._taken.get(name, 2)) if f"{name}{n}" not in self.there)
        self._taken[name] = number
        return Arrival(replace(arrival.job, name=f"{name}{number}"), f"{arrival.shown}{number}")

    def _arrives(self, at: At, arrival: Arrival) -> None:
        name = arrival.job.name
        if name in self.there:
            at.fault("twice", f"job '{name}' is there already; finish it first, or write another name")
            return
        self._is_there(name, arrival.shown)
        self.steps.append(Step(SUBMIT, name, f"submit {arrival.shown}", arrival=arrival))

    def _scenario(self, at: At) -> None:
        found = at.keys(("steps",), ("stack",))
        for step in (found["steps"].items("a list of steps") if found else None) or ():
            said = step.keys((), KINDS)
            if said is None:
                continue
            if len(said) != 1:
                step.fault("bad-step", f"a step does one thing; write one of {', '.join(KINDS)}")
                continue
            kind, of = next(iter(said.items()))
            if kind in KINDS:
                self._step(kind, of)

    def _step(self, kind: str, of: At) -> None:
        if kind == SUBMIT:
            self._submit(of)
        elif kind in (FINISH, PROVISIONED):
            self._of_job(kind, of)
        elif kind == CHANGE:
            self._change(of)
        elif (name := of.text("a queue's name")) is not None:
            queue = self._queue(of, name)
            if queue is not None:
                self.steps.append(Step(kind, queue, f"{kind} {name}"))

    def _submit(self, of: At) -> None:
        if isinstance(of.value, str):
            documents, problems = self.open_manifests(of.value)
            self._passed_on(of, problems)
            for document in documents:
                if is_scenario(document):
                    of.fault("bad-step", f"'{of.value}' is a scenario; a step submits manifests")
                    return
            self.add(documents)
            return
        arrival = _described(of, self.book, self._queue)
        if arrival is not None:
            self._arrives(of, arrival)

    def _of_job(self, kind: str, of: At) -> None:
        name = of.text("a job's name")
        if name is None:
            return
        meant = sorted(self._meant.get(name, ()))
        if len(meant) != 1:
            known = [*self.there, *self.there.values()]
            message = f"no job '{name}' is there{near_miss(name, known)}"
            if meant:
                message = f"'{name}' may be any of {', '.join(meant)}; write one of these"
            of.fault("no-job", message)
            return
        self.steps.append(Step(kind, meant[0], f"{kind} {name}"))
        if kind == FINISH:
            for each in (meant[0], self.there.pop(meant[0])):
                self._meant[each].discard(meant[0])
            self._taken.clear()

    def _change(self, of: At) -> None:
        name = of.text("a stack file")
        if name is None:
            return
        book, problems = self.open_book(name)
        self._passed_on(of, problems)
        if book is not None:
            self.book, self._queues = book, {}
            self.steps.append(Step(CHANGE, name, f"change to {name}", book=book))

    def _passed_on(self, of: At, problems: Iterable[Problem]) -> None:
        """What is wrong with a file that is named here; what has no place of its own is wrong here."""
        for problem in problems:
            if problem.place or problem.severity == "warning":
                self.problems.append(problem)
            else:
                of.fault(problem.code, problem.message)

    def _queue(self, of: At, name: str) -> str | None:
        if name not in self._queues:
            self._queues[name] = self.book.queue_named(name)
        queue = self._queues[name]
        if queue is None:
            known = self.book.queue_names()
            there = near_miss(name, known) or f"; there is {', '.join(known[:6])}" if known else ""
            of.fault("no-queue", f"no queue '{name}'{there}")
        return queue


def is_scenario(document: Document) -> bool:
    """Whether a document is a scenario: it has steps, and is no Kubernetes object."""
    value = document.value
    return "steps" in as_mapping(value) and "kind" not in as_mapping(value)


def scenario_says(documents: Iterable[Document], key: str) -> Iterator[tuple[Document, At]]:
    """What scenarios say under a key of their top."""
    for document in documents:
        if is_scenario(document) and (said := deep(document.value, key)) is not None:
            yield document, document.at(Problems()).under(key, said)


def _described(of: At, book: Book, queue_named: Callable[[At, str], str | None]) -> Arrival | None:
    """A job as a scenario describes it: pods of one kind."""
    found = of.keys(("name", "queue", "requests"), ("pods", "priority"))
    if found is None:
        return None
    name, called = found["name"].text("a job's name"), found["queue"].text("a queue's name")
    queue = queue_named(found["queue"], called) if called else None
    pods = found["pods"].whole("a whole number of pods from 0", 0) if "pods" in found else 1
    priority = _priority(found["priority"], book) if "priority" in found else book.default
    requests = _requests(found["requests"])
    if name is None or queue is None or pods is None or priority is None or requests is None:
        return None
    sets = counted(PodSet(name="main", count=pods, requests=requests))
    return Arrival(Job(name=name, queue=queue, priority=priority, pod_sets=(sets,)), name)


def _priority(of: At, book: Book) -> int | None:
    """A priority by its value or its name."""
    if isinstance(of.value, int):
        return of.whole("a priority's value or name", -(2**31), 2**31 - 1)
    name = of.text("a priority's value or name")
    if name is None or name in book.priorities:
        return None if name is None else book.priorities[name]
    known = list(book.priorities)
    there = near_miss(name, known) or (f"; there is {', '.join(known)}" if known else "")
    of.fault("no-priority", f"no priority '{name}'{there}")
    return None


def _requests(of: At) -> dict[str, int] | None:
    found: dict[str, int] = {}
    entries = of.entries("a mapping of resources to quantities")
    for resource, written in (entries or {}).items():
        number = amount(resource, written.value)
        if number is None:
            written.fault("bad-quantity", f"{shown(written.value)} is no quantity; write one such as 4, 500m or 16Gi")
            return None
        found[resource] = number
    return None if entries is None else found
