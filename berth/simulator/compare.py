"""Two runs of the same jobs compared, and runs as JSON values (docs/admission.md)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from msgspec import Struct

from berth.simulator.lenders import QuotaUse
from berth.simulator.pending_reasons import PendingReason
from berth.simulator.story import JobOutcome, JobStatus, Preemption, SimulationRun, StepResult
from berth.simulator.text import RunFormatter


class JobDifference(Struct, frozen=True):
    """A job whose result differs from a step on. A row is None if the job does not exist under that stack."""

    step_number: int
    step_text: str
    job: str
    old: JobOutcome | None
    new: JobOutcome | None


def compare_runs(old: SimulationRun, new: SimulationRun) -> Iterator[JobDifference]:
    """Yield every job whose result differs after a step in a way in which it did not differ before."""
    old_jobs, new_jobs = _JobStatuses(), _JobStatuses()
    reported: dict[str, object] = {}
    for old_step, new_step in zip_longest(old.steps, new.steps):
        changed_jobs = list(dict.fromkeys([*old_jobs.apply(old_step), *new_jobs.apply(new_step)]))
        step = old_step or new_step
        for job in changed_jobs:
            statuses = old_jobs.status(job), new_jobs.status(job)
            if statuses[0] != statuses[1] and reported.get(job) != statuses:
                yield JobDifference(step.number, step.text, job, old_jobs.outcomes.get(job), new_jobs.outcomes.get(job))
            reported[job] = statuses


class _JobStatuses:
    """The current status of each job: its last row, with its quota while it holds any."""

    def __init__(self) -> None:
        self.outcomes: dict[str, JobOutcome] = {}
        self.quota_uses: dict[str, tuple[QuotaUse, ...]] = {}

    def apply(self, step: StepResult | None) -> list[str]:
        """Apply a step, and return the jobs that it changes."""
        for outcome in step.outcomes if step else ():
            if outcome.status == JobStatus.FINISHED:
                self.outcomes.pop(outcome.job, None)
                continue
            self.outcomes[outcome.job] = outcome
            if outcome.quota_uses:
                self.quota_uses[outcome.job] = outcome.quota_uses
        return [row.job for row in step.outcomes] if step else []

    def status(self, job: str) -> object:
        """Return what is compared of a job: its status, its flavors, and whether it was preempted."""
        outcome = self.outcomes.get(job)
        if outcome is None:
            return None
        uses = self.quota_uses.get(job, ()) if outcome.pending_reason is None else ()
        return outcome.status, tuple(take.flavor_resource for take in uses), outcome.preempted_by is not None


def run_to_json(run: SimulationRun) -> dict[str, Any]:
    """Return a run: every step with its changes, and the status of every unfinished job at the end."""
    steps: list[dict[str, Any]] = []
    for step in run.steps:
        formatter = RunFormatter(run, step)
        changes = [_outcome_to_json(row, formatter) for row in step.outcomes]
        steps.append({"step": step.number, "kind": step.kind, "text": step.text, "changes": changes})
    return {
        "stack": run.fleet.name,
        "steps": steps,
        "unfinished": [_outcome_to_json(row, RunFormatter(run)) for row in run.unfinished],
    }


def comparison_to_json(old: SimulationRun, new: SimulationRun) -> dict[str, Any]:
    """Return the differences between two runs of the same jobs."""
    differences = [_difference_to_json(each, RunFormatter(old), RunFormatter(new)) for each in compare_runs(old, new)]
    return {"old": old.fleet.name, "new": new.fleet.name, "differences": differences}


def _outcome_to_json(outcome: JobOutcome, formatter: RunFormatter) -> dict[str, Any]:
    entry: dict[str, Any] = {"job": formatter.job_name(outcome.job), "queue": outcome.queue, "status": outcome.status}
    entry |= {"text": formatter.describe_outcome(outcome)}
    if outcome.quota_uses:
        entry["quotaUses"] = [_use_to_json(use) for use in outcome.quota_uses]
    if outcome.preempted_by is not None:
        entry["preemptedBy"] = _preemption_to_json(outcome.preempted_by, formatter)
    if outcome.preempted:
        entry["preempted"] = [_preemption_to_json(loss, formatter) for loss in outcome.preempted]
    if outcome.room is not None:
        entry["room"] = {
            "nodes": outcome.room.room,
            "certainPods": outcome.room.certain,
            "pods": outcome.room.count,
            "flavors": list(outcome.room.flavors),
            "otherJobs": [formatter.job_name(name) for name in outcome.room.beside],
        }
    if outcome.pending_reason is not None:
        entry["pendingReason"] = _reason_to_json(outcome.pending_reason, formatter)
    return entry


def _use_to_json(quota_use: QuotaUse) -> dict[str, Any]:
    flavor, resource = quota_use.flavor_resource
    amounts = {
        "amount": quota_use.amount,
        "guaranteed": quota_use.guaranteed,
        "borrowed": quota_use.borrowed,
        "lenders": list(quota_use.lenders),
    }
    return {"flavor": flavor, "resource": resource, **amounts}


def _preemption_to_json(preemption: Preemption, formatter: RunFormatter) -> dict[str, Any]:
    preemptor = formatter.job_name(preemption.preemptor) if preemption.preemptor else None
    return {
        "job": formatter.job_name(preemption.job),
        "preemptor": preemptor,
        "preemptorQueue": preemption.preemptor_queue,
        "reason": preemption.reason,
    }


def _reason_to_json(pending_reason: PendingReason, formatter: RunFormatter) -> dict[str, Any]:
    shortages = [
        {
            "flavor": s.flavor_resource[0],
            "resource": s.flavor_resource[1],
            "requested": s.requested,
            "free": s.free,
            "ceiling": s.ceiling,
        }
        for s in pending_reason.shortages
    ]
    other_jobs = [formatter.job_name(name) for name in pending_reason.other_jobs]
    entry: dict[str, Any] = {"code": pending_reason.code, "shortages": shortages, "otherJobs": other_jobs}
    entry |= {"names": list(pending_reason.names)}
    workers = [{"worker": name, **_reason_to_json(reason, formatter)} for name, reason in pending_reason.workers]
    return entry | ({"workers": workers} if workers else {})


def _difference_to_json(difference: JobDifference, old: RunFormatter, new: RunFormatter) -> dict[str, Any]:
    return {
        "step": difference.step_number,
        "text": difference.step_text,
        "job": old.job_name(difference.job),
        "old": _outcome_to_json(difference.old, old) if difference.old else None,
        "new": _outcome_to_json(difference.new, new) if difference.new else None,
    }
