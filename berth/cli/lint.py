"""`berth lint`: whether what a team wrote can ever be admitted, and why not."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from berth.cli.plan.fleet import problem
from berth.diagnostics import Problem, dotted, near_miss, quoted
from berth.evaluate import Verdict
from berth.jobs.files import documents, yaml_files
from berth.lint.findings import Finding, lint
from berth.lint.fleet import Fleet
from berth.loader.locate import shown

_READERS = {"missing-key", "bad-value", "bad-quantity", "unknown-key", "no-kind"}
"""Faults of the manifest itself, whose path says what they mean."""


class Answer(Struct, frozen=True):
    """What was found, object by object; `problems` are those of files and of the question."""

    findings: tuple[Finding, ...]
    problems: tuple[Problem, ...]

    @property
    def refused(self) -> bool:
        """Whether something cannot run, or could not be read."""
        return any(each.severity == "fault" for each in (*self.problems, *self._of_findings()))

    def _of_findings(self) -> Iterator[Problem]:
        for finding in self.findings:
            yield from finding.problems


def run(verdict: Verdict, files: Sequence[str], team: str | None, root: pathlib.Path) -> Answer:
    """Read the files (folders: those in them) and judge each object."""
    assert verdict.plan is not None
    fleet = Fleet(verdict.plan)
    teams = {each.name: each for each in verdict.plan.teams}
    if team is not None and team not in teams:
        there = near_miss(team, teams) or f"; there is {quoted(teams)}"
        return Answer((), (Problem("fault", "unknown-name", ("--team",), f"no team '{team}'{there}"),))
    findings: list[Finding] = []
    problems: list[Problem] = []
    for file in _files(files, root, problems):
        name = shown(file, root)
        read, faults = documents(file, name)
        problems += faults
        found = list(lint(read, fleet, teams.get(team or "")))
        if not found and not faults:
            message = "holds no Job, JobSet, PyTorchJob, Pod or ProvisioningRequest"
            problems.append(Problem("fault", "no-job", (), message, name))
        findings += found
    return Answer(tuple(findings), tuple(problems))


def _files(names: Iterable[str], root: pathlib.Path, problems: list[Problem]) -> Iterator[pathlib.Path]:
    for name in names:
        path = pathlib.Path(name)
        if not path.is_absolute() and not path.exists():
            path = root / path
        found = yaml_files(path)
        if not found:
            problems.append(Problem("fault", "no-file", (), "no YAML files lie in this folder", shown(path, root)))
        yield from found


def lines(answer: Answer) -> Iterator[Problem | str]:
    """Problems, and a sentence for each object that has no fault, in the order of the files."""
    yield from answer.problems
    for finding in answer.findings:
        called = "/".join(filter(None, (finding.kind, finding.name)))
        for each in finding.problems:
            path = f"{dotted(each.path)}: " if each.code in _READERS and each.path else ""
            yield replace(each, path=(), message=f"{called}: {path}{each.message}")
        if not finding.faults and finding.takes:
            where = f"{finding.queue} can admit it" if finding.queue else "can be requested"
            yield f"{finding.place}: {called}: {where}, {finding.takes}"


def as_json(answer: Answer) -> dict[str, Any]:
    """The same as data: `objects` with their problems, and the problems of files."""
    return {
        "objects": [
            {
                "kind": each.kind,
                "name": each.name,
                "namespace": each.namespace,
                "place": each.place,
                "queue": each.queue or None,
                "takes": each.takes or None,
                "sound": not each.faults,
                "problems": [problem(found) for found in each.problems],
            }
            for each in answer.findings
        ],
        "problems": [problem(each) for each in answer.problems],
    }
