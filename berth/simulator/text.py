"""A run in the words of people: what a job took and from whom, why it waits, who pushed it out and by what right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from berth.diagnostics import join_words
from berth.jobs.quantities import format_quantity
from berth.simulator.lenders import QuotaUse
from berth.simulator.pending_reasons import PendingCode, PendingReason, Shortage
from berth.simulator.scheduler.preemption import IN_CLUSTER_QUEUE, IN_COHORT_RECLAMATION, RECLAIM_WHILE_BORROWING
from berth.simulator.story import (
    JobOutcome,
    JobStatus,
    Preemption,
    SimulationRun,
    StepResult,
)

NOT_MODELLED = "Quota only: fair sharing, topology and the placing of pods on nodes are not modelled."
MANAGER_NOTICE = "Of workers only whether one could ever run a job: which one does, and when, is not modelled."

_MAX_LISTED = 4
"""More names than one reads in a cell."""


class RunFormatter:
    """Words for the rows of one moment: names as the fleet has them by then, and as the jobs' owners do."""

    def __init__(self, run: SimulationRun, step: StepResult | None = None) -> None:
        last_fleet = run.steps[-1].fleet if run.steps else run.fleet
        self.fleet = step.fleet if step else last_fleet
        self.display_names = run.display_names

    def job_name(self, name: str) -> str:
        """What to call a job."""
        return self.display_names.get(name, name)

    def queue_name(self, name: str) -> str:
        """What to call a queue."""
        return self.fleet.queue_display_names.get(name, name)

    def describe_outcome(self, outcome: JobOutcome) -> str:
        """All that is to be said of a row after its verdict."""
        return "; ".join(part for part in self._parts(outcome) if part)

    def _parts(self, outcome: JobOutcome) -> Iterator[str]:
        drained = outcome.preempted_by is not None and outcome.preempted_by.preemptor is None
        if outcome.preempted_by is not None and not drained:
            yield self.preemption(outcome.preempted_by)
        if outcome.status == JobStatus.PREEMPTION_LOOP:
            yield "gets back in and is pushed out again, without end"
        if outcome.quota_uses:
            prefix = (
                "back on "
                if outcome.preempted_by is not None and outcome.status in (JobStatus.ADMITTED, JobStatus.RESERVED)
                else ""
            )
            yield prefix + self.describe_uses(outcome.quota_uses, outcome.queue)
        if outcome.status == JobStatus.ADMITTED and not (outcome.quota_uses or outcome.preempted):
            yield "its checks are met"
        if outcome.pending_reason is not None:
            yield ("now " if outcome.preempted_by is not None and not drained else "") + self.pending_reason(
                outcome.pending_reason
            )
        if outcome.preempted:
            yield self.preemptions(outcome.preempted)

    def describe_uses(self, quota_uses: Sequence[QuotaUse], queue: str) -> str:
        """`v5e 24 (8 own, 16 borrowed from speech)`, flavor by flavor; only accelerators where there are any."""
        by_flavor: dict[str, list[QuotaUse]] = {}
        for quota_use in quota_uses:
            by_flavor.setdefault(quota_use.flavor_resource[0], []).append(quota_use)
        return ", ".join(f"{flavor} {self._describe_flavor(of, queue)}" for flavor, of in by_flavor.items())

    def _describe_flavor(self, quota_uses: list[QuotaUse], queue: str) -> str:
        relevant = [
            take for take in quota_uses if take.flavor_resource in self.fleet.accelerator_nouns and take.amount
        ] or quota_uses
        number_only = len(relevant) == 1 and relevant[0].flavor_resource in self.fleet.accelerator_nouns
        return " and ".join(self._describe_use(take, number_only, queue) for take in relevant)

    def _describe_use(self, quota_use: QuotaUse, number_only: bool, queue: str) -> str:
        resource = quota_use.flavor_resource[1]
        text = (
            format_quantity(resource, quota_use.amount)
            if number_only
            else self.format_amount(quota_use.flavor_resource, quota_use.amount)
        )
        if not quota_use.borrowed:
            return text
        lenders = self._join_names(self._lender_name(lender, queue) for lender in quota_use.lenders)
        from_lenders = f" from {lenders}" if lenders else ""
        if not quota_use.guaranteed:
            return f"{text} (borrowed{from_lenders})"
        return (
            f"{text} ({format_quantity(resource, quota_use.guaranteed)} own, "
            f"{format_quantity(resource, quota_use.borrowed)} borrowed{from_lenders})"
        )

    def _lender_name(self, lender: str, queue: str) -> str:
        """Whose idle quota it is: a team, or the queue where it is the borrower's own team."""
        owner = self.fleet.queue_owners.get(lender, lender)
        return self.queue_name(lender) if owner == self.fleet.queue_owners.get(queue) else owner

    def format_amount(self, flavor_resource: tuple[str, str], number: int) -> str:
        """`24 chips`, `4 L4`, `500m cpu`."""
        return (
            f"{format_quantity(flavor_resource[1], number)} "
            f"{self.fleet.accelerator_nouns.get(flavor_resource, flavor_resource[1])}"
        )

    def preemption(self, lost: Preemption) -> str:
        """By whom and by what right a place was lost."""
        return f"by {self.job_name(lost.preemptor or '')} ({self.describe_rule(lost)})"

    def preemptions(self, pushed: Sequence[Preemption]) -> str:
        """Whom a job pushed out, rule by rule."""
        preempted_by_rule: dict[str, list[str]] = {}
        for preemption in pushed:
            preempted_by_rule.setdefault(self.describe_rule(preemption), []).append(self.job_name(preemption.job))
        return "; ".join(f"pushes out {self._join_names(jobs)} ({right})" for right, jobs in preempted_by_rule.items())

    def describe_rule(self, preemption: Preemption) -> str:
        """The rule in words."""
        owner = self.fleet.queue_owners.get(preemption.preemptor_queue or "", preemption.preemptor_queue or "")
        if preemption.reason == IN_CLUSTER_QUEUE:
            return "it came first in their queue" if preemption.same_priority else "higher priority in their queue"
        if preemption.reason == IN_COHORT_RECLAMATION:
            return f"{owner} takes back what it is owed"
        return (
            f"higher priority, while {owner} borrows"
            if preemption.reason == RECLAIM_WHILE_BORROWING
            else preemption.reason
        )

    def pending_reason(self, why: PendingReason) -> str:
        """Why a job waits."""
        other_jobs = self._join_names(self.job_name(name) for name in why.other_jobs)
        names = self._join_names(why.names)
        match why.code:
            case PendingCode.ADMISSION_CHECK:
                return f"holds its quota, and waits for {names}"
            case PendingCode.QUEUE_STOPPED:
                return f"its queue is {names or 'held'}"
            case PendingCode.NEVER_COVERED:
                return f"its queue has no quota of {names}"
            case PendingCode.NEVER_NODES:
                return f"its pods do not accept the nodes of {names}"
            case PendingCode.NEVER_FITS:
                return "larger than its ceiling, " + self._describe_shortages(why.shortages)
            case PendingCode.NEVER_WORKER:
                return f"holds its quota for ever: no worker can run it ({self._describe_workers(why)})"
            case PendingCode.BEHIND_OTHER:
                return f"behind {other_jobs} (StrictFIFO)" + self._describe_free(why.free_now)
            case PendingCode.RESERVED_FOR_OTHERS:
                return (
                    f"there is room, but it is kept for {other_jobs}"
                    if other_jobs
                    else "there is room, but others come first"
                )
            case PendingCode.WAITS_FOR_VICTIMS:
                return f"waits until {other_jobs} {'have' if len(why.other_jobs) > 1 else 'has'} given way"
            case _:
                return "no room for " + self._describe_shortages(why.shortages)

    def _describe_workers(self, pending_reason: PendingReason) -> str:
        """Why each worker refuses, those with the same reason together."""
        by_reason: dict[str, list[str]] = {}
        for worker, reason in pending_reason.workers:
            by_reason.setdefault(self.pending_reason(reason), []).append(worker)
        return "; ".join(f"{self._join_names(workers)}: {reason}" for reason, workers in by_reason.items())

    def _describe_free(self, free: Sequence[Shortage]) -> str:
        relevant = [short for short in free if short.flavor_resource in self.fleet.accelerator_nouns] or list(free)
        parts = [
            f"{format_quantity(s.flavor_resource[1], s.free)} of {self.format_amount(s.flavor_resource, s.ceiling)}"
            for s in relevant
        ]
        return f", though {join_words(parts)} are free" if parts else ""

    def _describe_shortages(self, shortages: Sequence[Shortage]) -> str:
        """`4 L4: reserved 0 of 4 free, on-demand at most 2`; of a flavor only accelerators where these are short."""
        relevant = {
            short.flavor_resource[0] for short in shortages if short.flavor_resource in self.fleet.accelerator_nouns
        }
        parts: dict[str, list[str]] = {}
        for shortage in shortages:
            if shortage.flavor_resource in self.fleet.accelerator_nouns or shortage.flavor_resource[0] not in relevant:
                parts.setdefault(self.format_amount(shortage.flavor_resource, shortage.requested), []).append(
                    self._describe_shortage(shortage)
                )
        return "; ".join(f"{wants}: {', '.join(of)}" for wants, of in parts.items())

    def _describe_shortage(self, shortage: Shortage) -> str:
        (flavor, resource), ceiling = (
            shortage.flavor_resource,
            format_quantity(shortage.flavor_resource[1], shortage.ceiling),
        )
        if shortage.requested > shortage.ceiling:
            return f"{flavor} at most {ceiling}"
        return f"{flavor} {format_quantity(resource, shortage.free)} of {ceiling} free"

    def _join_names(self, names: Iterable[str]) -> str:
        unique = list(dict.fromkeys(names))
        omitted = len(unique) - _MAX_LISTED
        return join_words([*unique[:_MAX_LISTED], f"{omitted} more"] if omitted > 0 else unique)
