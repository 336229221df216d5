"""The result of `berth workload --acceptance`: one short job for each pool, which lint says runs."""

from __future__ import annotations

from msgspec import Struct

from berth.backends.interface import fleet_backend_of
from berth.diagnostics import Problem, Severity
from berth.evaluate import Evaluation
from berth.plan.fleet import FleetPlan
from berth.workloads.acceptance import acceptance_trials, missing_image
from berth.workloads.result import WorkloadResult


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
