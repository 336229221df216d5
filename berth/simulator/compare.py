"""Comparison of two runs of the same jobs: jobs whose result differs, and from which step on."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from msgspec import Struct

from berth.simulator.lenders import QuotaUse
from berth.simulator.story import JobOutcome, JobStatus, SimulationRun, StepResult


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
