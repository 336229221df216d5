"""`berth admit`: who gets in, who waits and why, who is pushed out, before anybody submits."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from berth.cli.plan.fleet import problem
from berth.cli.tables import table
from berth.diagnostics import Problem
from berth.evaluate import of_stack, on_kueue
from berth.jobs.files import Document, documents, printed, yaml_files
from berth.jobs.values import as_mapping
from berth.loader.locate import locate, shown
from berth.simulator.agreement import differences, summary
from berth.simulator.as_json import differing, told
from berth.simulator.compare import Difference, compare
from berth.simulator.fleet import Book, not_modelled, of_plan
from berth.simulator.live import is_state, live_of
from berth.simulator.recorded_cases import Case, answered, read
from berth.simulator.scenario import FINISH, PROVISIONED, SUBMIT, Steps, scenario_says
from berth.simulator.story import ADMITTED, NEVER, RESERVED, Moment, Row, Story, tell
from berth.simulator.text import NOT_MODELLED, ON_A_MANAGER, Words


class Answer(Struct, frozen=True):
    """One story, or two to compare, and what is wrong; with a fault there is no story. `warnings` are worth a look."""

    stories: tuple[Story, ...]
    problems: tuple[Problem, ...]

    @property
    def faults(self) -> tuple[Problem, ...]:
        """What keeps the question from being answered."""
        return tuple(each for each in self.problems if each.severity == "fault")


def run(arguments: Sequence[str], live: Sequence[pathlib.Path], root: pathlib.Path) -> Answer:
    """Simulate. `arguments` are one or two stacks, then manifests, folders of them, or scenarios.

    A scenario that names its stack needs none before it. `live` are files that kubectl printed: the beginning. One
    among the arguments is known by what is in it.
    """
    stacks, jobs = _sorted_out(arguments, root)
    given, problems = _given(jobs, root)
    states = [document for document in given if is_state(document)]
    given = [document for document in given if not is_state(document)]
    if not stacks and not _faults(problems):
        stacks, faults = _stacks_of(given, jobs)
        problems += faults
    printouts, faults = _printed(live, root)
    problems += faults
    runs = [_Run(stack, root, given, [*printouts, *states]) for stack in stacks]
    stories = [one.story() for one in runs] if not _faults(problems) else []
    problems += [each for one in runs for each in one.problems]
    if not (jobs or live or _faults(problems)):
        problems.append(Problem("fault", "no-jobs", (), f"nothing happens; write berth admit {arguments[0]} JOBS..."))
    unique = tuple(dict.fromkeys(problems))
    return Answer(() if _faults(unique) else tuple(story for story in stories if story), unique)


class _Run:
    """One stack, with everything that is to happen to it."""

    def __init__(
        self, stack: str, root: pathlib.Path, given: Sequence[Document], printouts: Sequence[Document]
    ) -> None:
        self.stack = stack
        self.root = root
        self.given = given
        self.printouts = printouts
        self.problems: list[Problem] = []

    def story(self) -> Story | None:
        book, problems = self._book(self.stack)
        self.problems += problems
        if book is None:
            return None
        steps = Steps(book, self._book, self._manifests)
        live, problems = live_of(self.printouts, book)
        steps.begin_with({each.job.name: each.shown for each in live.workloads})
        steps.add(self.given)
        self.problems += [*problems, *steps.problems]
        if _faults(self.problems):
            return None
        return tell(book, steps.steps, live if self.printouts else None)

    def _book(self, stack: str) -> tuple[Book | None, list[Problem]]:
        verdict = on_kueue(of_stack(stack, self.root))
        if verdict.faults or verdict.plan is None:
            return None, list(verdict.faults)
        return of_plan(verdict.plan), not_modelled(verdict.plan)

    def _manifests(self, name: str) -> tuple[list[Document], list[Problem]]:
        return _given([name], self.root)


# --- what the words on the command line are ---------------------------------------------------------------------------


def _sorted_out(arguments: Sequence[str], root: pathlib.Path) -> tuple[list[str], list[str]]:
    """The stacks that the arguments begin with, two at the most, and the rest."""
    number = 0
    while number < min(2, len(arguments)) and _is_stack(arguments[number], root):
        number += 1
    return list(arguments[:number]), list(arguments[number:])


def _is_stack(argument: str, root: pathlib.Path) -> bool:
    """A stack's name, or a file with a `config` at its top."""
    located = locate(argument, root)
    if located.by_name:
        return located.file.is_file() or not pathlib.Path(argument).exists()
    if not located.file.is_file():
        return False
    found, _ = documents(located.file, located.shown)
    return any("config" in as_mapping(each.value) for each in found)


def _given(names: Iterable[str], root: pathlib.Path) -> tuple[list[Document], list[Problem]]:
    """The documents of files and folders, looked for from the current folder and then from the project's."""
    found: list[Document] = []
    problems: list[Problem] = []
    for name in names:
        path = pathlib.Path(name)
        if not path.is_absolute() and not path.exists():
            path = root / path
        files = yaml_files(path)
        if not files:
            problems.append(Problem("fault", "no-file", (), "no YAML files lie in this folder", shown(path, root)))
        for file in files:
            read_as = printed if file.suffix == ".json" else documents
            more, faults = read_as(file, shown(file, root))
            found += more
            problems += faults
    return found, problems


def _stacks_of(given: Iterable[Document], jobs: Sequence[str]) -> tuple[list[str], list[Problem]]:
    """The stack that the scenarios name."""
    said = list(scenario_says(given, "stack"))
    names = [str(at.value) for _, at in said]
    if len(set(names)) == 1:
        return names[:1], []
    if not names:
        what = f"'{jobs[0]}' is no stack" if jobs else "no stack is named"
        return [], [Problem("fault", "no-stack", (), f"{what}; write berth admit STACK JOBS...")]
    document, at = said[1]
    message = f"'{names[1]}', and another scenario names '{names[0]}'; name the stack on the command line"
    return [], document.placed([Problem("fault", "no-stack", at.path, message)])


def _printed(live: Iterable[pathlib.Path], root: pathlib.Path) -> tuple[list[Document], list[Problem]]:
    found: list[Document] = []
    problems: list[Problem] = []
    for path in live:
        state, faults = printed(path, shown(path, root))
        found += state
        problems += faults
    return found, problems


def _faults(problems: Iterable[Problem]) -> bool:
    return any(each.severity == "fault" for each in problems)


# --- for people -------------------------------------------------------------------------------------------------------


def text(answer: Answer) -> str:
    """The run as a table, or what differs between two; then the sum of it. Empty with a fault."""
    if not answer.stories:
        return ""
    if len(answer.stories) == 2:
        return _differences(*answer.stories)
    (story,) = answer.stories
    rows = [row for moment in story.moments for row in lines(moment, Words(story, moment))]
    head = ("t", "job", "queue", "verdict", "")
    return "\n\n".join(part for part in (_plain(head, rows), total(story), left_out(story)) if part)


def left_out(story: Story) -> str:
    """What the table does not know."""
    return f"{NOT_MODELLED}\n{ON_A_MANAGER}" if story.book.setup.workers else NOT_MODELLED


def lines(moment: Moment, words: Words) -> Iterator[tuple[str, ...]]:
    """A moment as rows of the table: step, job, queue, verdict and details."""
    number = str(moment.number)
    if moment.kind not in (SUBMIT, FINISH, PROVISIONED):
        yield number, moment.said, "", "", ""
        number = ""
    for row in moment.rows:
        yield number, words.job(row.job), words.queue(row.queue), row.verdict, words.details(row)
        number = ""


def _plain(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table without an indent: the first column is a number."""
    return "\n".join(line.removeprefix("  ") for line in table(("  " + head[0], *head[1:]), rows).splitlines())


def total(story: Story) -> str:
    """`4 jobs in the end: 2 admitted, 2 wait, 1 of them for ever`."""
    words = {ADMITTED: "admitted", RESERVED: "held by a check"}
    counts: dict[str, int] = {}
    for row in story.standing:
        word = words.get(row.verdict, "waiting for ever" if row.verdict == NEVER else "waiting")
        counts[word] = counts.get(word, 0) + 1
    lost = len({row.job for moment in story.moments for row in moment.rows if row.lost})
    parts = [f"{number} {word}" for word, number in sorted(counts.items())]
    standing = ", ".join(parts) if parts else "no job is left"
    return f"In the end: {standing}." + (f" {lost} lost a place on the way." if lost else "")


def _differences(old: Story, new: Story) -> str:
    found = list(compare(old, new))
    names = old.book.name, new.book.name
    if not found:
        return f"No job fares differently under {names[1]} than under {names[0]}."
    words = Words(old), Words(new)
    rows = [
        (str(d.number), words[0].job(d.job), _queue_of(d, words), _lot(d.old, words[0]), _lot(d.new, words[1]))
        for d in found
    ]
    return _plain(("t", "job", "queue", *names), rows) + f"\n\n{left_out(old)}"


def _queue_of(difference: Difference, words: tuple[Words, Words]) -> str:
    row = difference.new or difference.old
    return (words[1] if difference.new else words[0]).queue(row.queue) if row else ""


def _lot(row: Row | None, words: Words) -> str:
    return f"{row.verdict}: {words.details(row)}".removesuffix(": ") if row else "–"


# --- for machines -----------------------------------------------------------------------------------------------------


def as_json(answer: Answer) -> dict[str, Any]:
    """The run, or the differences between two, as docs/admission.md describes them."""
    problems = [problem(each) for each in answer.problems]
    if not answer.stories:
        return {"problems": problems}
    found = told(answer.stories[0]) if len(answer.stories) == 1 else differing(*answer.stories)
    return {**found, "problems": problems}


# --- recorded cases ---------------------------------------------------------------------------------------------------


def cases(path: pathlib.Path) -> tuple[list[Case], str, tuple[Problem, ...]]:
    """Recorded cases with the model's own `then`; in words, where it differs from the file's and how far it agrees."""
    found, problems = read(path)
    different = list(differences(found))
    lines = [line for each in different for line in each.lines()]
    return list(answered(found)), "\n".join([*lines, summary(found, different)]), tuple(problems)
