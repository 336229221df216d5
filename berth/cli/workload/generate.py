"""The result of `berth workload`: a manifest ready to submit, or with --acceptance one short job for each pool."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from berth.backends.interface import fleet_backend_of
from berth.cli.render.output import yaml_document
from berth.diagnostics import Problem, Problems, Severity, did_you_mean
from berth.evaluate import Evaluation
from berth.jobs.files import read_documents
from berth.jobs.quantities import parse_quantity
from berth.plan.fleet import FleetPlan
from berth.spec.amounts import parse_seconds
from berth.workloads.acceptance import acceptance_trials, missing_image
from berth.workloads.options import KINDS, RESTART_STRATEGIES, WorkloadOptions, WorkloadResult
from berth.workloads.pod_templates import read_template

_EXAMPLES = {"cpu": "4 or 500m", "memory": "16Gi"}


def generate_workload(evaluation: Evaluation, team: str, queue: str, options: Mapping[str, Any]) -> WorkloadResult:
    """Return the workload for a team's queue, named as in the stack file or as in the cluster.

    `options` are the fields of `WorkloadOptions`, with cpu, memory and the run duration as typed text.
    """
    problems = Problems()
    workload_options = _parse_options(options, problems)
    if workload_options is None:
        return WorkloadResult((), (), tuple(problems.entries))
    backend = fleet_backend_of(evaluation)
    assert backend is not None
    return backend.workload(evaluation, team, queue, workload_options)


def _parse_options(options: Mapping[str, Any], problems: Problems) -> WorkloadOptions | None:
    given = {key: value for key, value in options.items() if value is not None and value != ()}
    for resource, example in _EXAMPLES.items():
        if resource in given:
            number = parse_quantity(resource, given[resource])
            if not number:
                _option_fault(problems, resource, given[resource], f"is not a quantity; write {example}")
            given[resource] = number
    if "max_run_duration" in given:
        try:
            given["max_run_seconds"] = parse_seconds(given.pop("max_run_duration"))
        except ValueError as error:
            problems.fault("bad-value", ("--max-run-duration",), str(error))
    if "template" in given:
        given["template"] = _read_template(given["template"], problems)
    for option, allowed in (("kind", KINDS), ("restart_strategy", RESTART_STRATEGIES)):
        if option in given and given[option] not in allowed:
            near = did_you_mean(given[option], allowed)
            _option_fault(
                problems, option.replace("_", "-"), given[option], f"is not one of {', '.join(allowed)}{near}"
            )
    return None if problems.has_faults() else WorkloadOptions(**given)


def _read_template(path: str, problems: Problems) -> Mapping[str, object] | None:
    """Return the pod template of a file; None after a fault."""
    documents, file_problems = read_documents(pathlib.Path(path), path)
    problems.entries += file_problems
    if len(documents) == 1:
        return read_template(documents[0].value, problems)
    if not file_problems:
        message = f"'{path}' has {len(documents)} documents; write one pod template"
        problems.fault("not-a-template", ("--template",), message)
    return None


def _option_fault(problems: Problems, option: str, value: str, message: str) -> None:
    problems.fault("bad-value", (f"--{option}",), f"'{value}' {message}")


def workload_text(result: WorkloadResult) -> str:
    """Return the objects as YAML, with comments above them."""
    notes = "".join(f"# {note}\n" for note in result.notes)
    return (notes + "".join(map(yaml_document, result.objects))).rstrip("\n")


def workload_as_json(result: WorkloadResult) -> dict[str, Any]:
    """Return the result as JSON values."""
    return {
        "objects": list(result.objects),
        "notes": list(result.notes),
        "verdict": result.verdict,
        "problems": [each.as_json() for each in result.problems],
    }


class AcceptanceJobs(Struct, frozen=True):
    """The jobs by pool, and a problem for each pool without one."""

    results: tuple[tuple[str, WorkloadResult], ...]
    problems: tuple[Problem, ...]


def acceptance_jobs(evaluation: Evaluation, plan: FleetPlan, team: str | None, queue: str | None) -> AcceptanceJobs:
    """Return one job for each pool that a queue can reach, limited to a team's queues, or to one queue."""
    backend = fleet_backend_of(evaluation)
    assert backend is not None
    results: list[tuple[str, WorkloadResult]] = []
    problems: list[Problem] = []
    for pool in plan.pools:
        refused: list[Problem] = []
        for trial in acceptance_trials(plan, pool, team, queue):
            result = backend.workload(evaluation, trial.team, trial.queue, trial.options)
            if not result.faults:
                results.append((pool.name, result))
                break
            refused = [*refused, *result.faults]
        else:
            why = refused[0].message if refused else missing_image(plan, pool)
            reason = f": {why}" if why else ""
            message = f"no queue{f' of {team}' if team else ''} has a job that runs on pool '{pool.name}'{reason}"
            problems.append(Problem(Severity.WARNING, "no-acceptance", (), message))
    return AcceptanceJobs(tuple(results), tuple(problems))
