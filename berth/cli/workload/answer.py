"""`berth workload`: a manifest that is ready to be submitted to a team's queue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from berth.cli.plan.fleet import problem
from berth.cli.render.documents import document
from berth.diagnostics import Problem, Problems, near_miss
from berth.evaluate import Verdict
from berth.jobs.files import Document
from berth.jobs.quantities import amount
from berth.lint.findings import lint
from berth.lint.fleet import Fleet
from berth.lint.provisioning_requests import NO_QUOTA
from berth.manifests.ack import training_job
from berth.manifests.workloads import Manifest, manifests
from berth.spec.amounts import seconds
from berth.workloads.ack import on_ack
from berth.workloads.derive import workload
from berth.workloads.names import local_queue
from berth.workloads.options import KINDS, RESTART_STRATEGIES, Asked

_EXAMPLES = {"cpu": "4 or 500m", "memory": "16Gi"}


class Answer(Struct, frozen=True):
    """The objects and what is to be said about them; none where something is wrong."""

    objects: tuple[Manifest, ...]
    notes: tuple[str, ...]
    problems: tuple[Problem, ...]

    @property
    def faults(self) -> tuple[Problem, ...]:
        """What keeps the workload from being one."""
        return tuple(each for each in self.problems if each.severity == "fault")


def run(verdict: Verdict, team: str, queue: str, options: Mapping[str, Any]) -> Answer:
    """The workload for a team's queue, by the name that the stack file or the cluster has for it.

    `options` are the fields of `Asked`, with cpu, memory and the run duration as they were typed.
    """
    problems = Problems()
    asked = _asked(options, problems)
    if asked is None:
        return Answer((), (), tuple(problems.found))
    if verdict.ack is not None:
        found = on_ack(verdict.ack, team, queue, asked)
        return Answer((training_job(found.job),) if found.job else (), found.notes, found.problems)
    assert verdict.plan is not None
    draft = workload(verdict.plan, team, local_queue(verdict.file and verdict.file.fleet, team, queue), asked)
    objects = manifests(draft.workload) if draft.workload is not None else []
    return _linted(Answer(tuple(objects), draft.notes, draft.problems), Fleet(verdict.plan))


def _linted(answer: Answer, fleet: Fleet) -> Answer:
    """The answer, or what `berth lint` would say against it."""
    findings = lint([Document("", each) for each in answer.objects], fleet)
    found = [replace(each, path=()) for finding in findings for each in finding.problems if each.code != NO_QUOTA]
    refused = any(each.severity == "fault" for each in found)
    return replace(answer, objects=() if refused else answer.objects, problems=(*answer.problems, *found))


def _asked(options: Mapping[str, Any], problems: Problems) -> Asked | None:
    given = {key: value for key, value in options.items() if value is not None and value != ()}
    for resource, example in _EXAMPLES.items():
        if resource in given:
            number = amount(resource, given[resource])
            if not number:
                _wrong(problems, resource, given[resource], f"is no quantity; write one such as {example}")
            given[resource] = number
    if "max_run_duration" in given:
        try:
            given["max_run_seconds"] = seconds(given.pop("max_run_duration"))
        except ValueError as error:
            problems.fault("bad-value", ("--max-run-duration",), str(error))
    for option, words in (("kind", KINDS), ("restart_strategy", RESTART_STRATEGIES)):
        if option in given and given[option] not in words:
            near = near_miss(given[option], words)
            _wrong(problems, option.replace("_", "-"), given[option], f"is not one of {', '.join(words)}{near}")
    return None if problems.refused() else Asked(**given)


def _wrong(problems: Problems, option: str, value: str, message: str) -> None:
    problems.fault("bad-value", (f"--{option}",), f"'{value}' {message}")


def text(answer: Answer) -> str:
    """The objects as YAML, and above them, as comments, what is to be said."""
    notes = "".join(f"# {note}\n" for note in answer.notes)
    return (notes + "".join(map(document, answer.objects))).rstrip("\n")


def as_json(answer: Answer) -> dict[str, Any]:
    """The same as data."""
    return {
        "objects": list(answer.objects),
        "notes": list(answer.notes),
        "problems": [problem(each) for each in answer.problems],
    }
