"""Text for a simulated run: which quota a job uses, why it is pending, which job preempted it and by which rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from berth.diagnostics import join_words
from berth.jobs.quantities import format_quantity
from berth.placement.beside import Room
from berth.simulator.lenders import QuotaUse
from berth.simulator.occupancy import NodeRoom
from berth.simulator.pending_reasons import PendingCode, PendingReason, Shortage
from berth.simulator.scheduler.victims import (
    IN_CLUSTER_QUEUE,
    IN_COHORT_FAIR_SHARING,
    IN_COHORT_RECLAMATION,
    RECLAIM_WHILE_BORROWING,
)
from berth.simulator.story import (
    JobOutcome,
    JobStatus,
    Preemption,
    SimulationRun,
    StepResult,
)
from berth.text import pluralize

NOT_MODELLED = "Simulates quota and the room on nodes, without the preemption of pods."
MANAGER_NOTICE = "For workers, only checks whether one of them could run a job, not which one does, or when."

_STATUS_TEXT = {
    JobStatus.PENDING: "pending",
    JobStatus.NEVER_ADMITTED: "never admitted",
    JobStatus.RESERVED: "quota reserved",
    JobStatus.UNPLACED: "admitted, no nodes",
    JobStatus.PREEMPTED: "preempted",
    JobStatus.PREEMPTION_LOOP: "preemption loop",
}

_MAX_LISTED = 4
"""Maximum number of names in a cell; more are counted instead."""


def status_text(status: JobStatus) -> str:
    """Return the text for a job's status; JSON has the status itself."""
    return _STATUS_TEXT.get(status, status)


class RunFormatter:
    """Text for the rows of one step, with the names that jobs and queues have at that step."""

    def __init__(self, run: SimulationRun, step: StepResult | None = None) -> None:
        last_fleet = run.steps[-1].fleet if run.steps else run.fleet
        self.fleet = step.fleet if step else last_fleet
        self.display_names = run.display_names

    def job_name(self, name: str) -> str:
        """Return the name of a job as its owner wrote it."""
        return self.display_names.get(name, name)

    def queue_name(self, name: str) -> str:
        """Return the name of a queue as its team knows it."""
        return self.fleet.queue_display_names.get(name, name)

    def describe_outcome(self, outcome: JobOutcome) -> str:
        """Return the details of a row, after its status."""
        return "; ".join(part for part in self._parts(outcome) if part)

    def _parts(self, outcome: JobOutcome) -> Iterator[str]:
        drained = outcome.preempted_by is not None and outcome.preempted_by.preemptor is None
        if outcome.preempted_by is not None and not drained:
            yield self.preemption(outcome.preempted_by)
        if outcome.status == JobStatus.PREEMPTION_LOOP:
            yield "is admitted and preempted again, in an endless loop"
        if outcome.pods is not None:
            yield f"starts with {pluralize(outcome.pods, 'pod')}, because not all fit"
        if outcome.quota_uses:
            prefix = (
                "admitted again on "
                if outcome.preempted_by is not None and outcome.status in (JobStatus.ADMITTED, JobStatus.RESERVED)
                else ""
            )
            yield prefix + self.describe_uses(outcome.quota_uses, outcome.queue)
        if outcome.status == JobStatus.ADMITTED and outcome.checks_completed:
            yield "its admission checks are ready"
        if outcome.room is not None:
            yield self.describe_room(outcome.room)
        if outcome.pending_reason is not None:
            yield ("now " if outcome.preempted_by is not None and not drained else "") + self.pending_reason(
                outcome.pending_reason
            )
        if outcome.preempted:
            yield self.preemptions(outcome.preempted)

    def describe_uses(self, quota_uses: Sequence[QuotaUse], queue: str) -> str:
        """Return `v5e 24 (8 own, 16 borrowed from speech)` by flavor; cpu and memory only without accelerators."""
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
        owners, own = self.fleet.queue_owners, self.fleet.queue_owners.get(queue)
        # Quota of another team has the team's name; of the borrower's own team, that of the queue.
        lenders = self._join_names(
            self.queue_name(lender) if owners.get(lender, lender) == own else owners.get(lender, lender)
            for lender in quota_use.lenders
        )
        from_lenders = f" from {lenders}" if lenders else ""
        if not quota_use.guaranteed:
            return f"{text} (borrowed{from_lenders})"
        return (
            f"{text} ({format_quantity(resource, quota_use.guaranteed)} own, "
            f"{format_quantity(resource, quota_use.borrowed)} borrowed{from_lenders})"
        )

    def format_amount(self, flavor_resource: tuple[str, str], number: int) -> str:
        """Return `24 chips`, `4 L4` or `500m cpu`."""
        return (
            f"{format_quantity(flavor_resource[1], number)} "
            f"{self.fleet.accelerator_nouns.get(flavor_resource, flavor_resource[1])}"
        )

    def describe_room(self, room: NodeRoom) -> str:
        """Return why pods of an admitted job get no node, or may get none."""
        others = self._join_names(self.job_name(name) for name in room.beside)
        nodes = f"the nodes of {self._join_names(room.flavors)}"
        if room.room is Room.NONE:
            return f"{nodes} have no room for its {pluralize(room.count, 'pod')} beside {others}"
        number = f"more than {room.certain} of " if room.certain else ""
        pods = f"{number}its {pluralize(room.count, 'pod')}"
        return f"whether {nodes} have room for {pods} depends on where the pods of {others} are"

    def preemption(self, lost: Preemption) -> str:
        """Return which job preempted another, and by which rule."""
        return f"by {self.job_name(lost.preemptor or '')} ({self.describe_rule(lost)})"

    def preemptions(self, pushed: Sequence[Preemption]) -> str:
        """Return which jobs a job preempted, by rule."""
        preempted_by_rule: dict[str, list[str]] = {}
        for preemption in pushed:
            preempted_by_rule.setdefault(self.describe_rule(preemption), []).append(self.job_name(preemption.job))
        return "; ".join(f"preempts {self._join_names(jobs)} ({rule})" for rule, jobs in preempted_by_rule.items())

    def describe_rule(self, preemption: Preemption) -> str:
        """Return the rule of a preemption as text."""
        owner = self.fleet.queue_owners.get(preemption.preemptor_queue or "", preemption.preemptor_queue or "")
        if preemption.reason == IN_CLUSTER_QUEUE:
            return (
                "submitted earlier to the same queue"
                if preemption.same_priority
                else "higher priority in the same queue"
            )
        if preemption.reason == IN_COHORT_RECLAMATION:
            return f"{owner} reclaims its guarantee"
        if preemption.reason == IN_COHORT_FAIR_SHARING:
            return f"fair share of {owner}"
        return (
            f"higher priority, {owner} borrows" if preemption.reason == RECLAIM_WHILE_BORROWING else preemption.reason
        )

    def pending_reason(self, why: PendingReason) -> str:
        """Return why a job is pending."""
        other_jobs = self._join_names(self.job_name(name) for name in why.other_jobs)
        if why.code in _OF_NAMES:
            return _OF_NAMES[why.code].format(self._join_names(why.names) or "held")
        match why.code:
            case PendingCode.NEVER_FITS:
                return "larger than the queue's ceiling: " + self._describe_shortages(why.shortages)
            case PendingCode.NEVER_WORKER:
                return f"keeps its quota reserved forever, because no worker can run it ({self._describe_workers(why)})"
            case PendingCode.BEHIND_OTHER:
                return f"behind {other_jobs} (StrictFIFO)" + self._describe_free(why.free_now)
            case PendingCode.RESERVED_FOR_OTHERS:
                first = f"it is reserved for {other_jobs}" if other_jobs else "other jobs come first"
                return f"there is free quota, but {first}"
            case PendingCode.WAITS_FOR_VICTIMS:
                return f"waits until {other_jobs} {'are' if len(why.other_jobs) > 1 else 'is'} preempted"
            case _:
                return "not enough free quota for " + self._describe_shortages(why.shortages)

    def _describe_workers(self, pending_reason: PendingReason) -> str:
        """Return why each worker cannot run a job, grouped by reason."""
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
        return f", although {join_words(parts)} are free" if parts else ""

    def _describe_shortages(self, shortages: Sequence[Shortage]) -> str:
        """Return `4 L4: reserved 0 of 4 free, on-demand at most 2`.

        For a flavor that is short of accelerators, other resources are omitted.
        """
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


_OF_NAMES = {
    PendingCode.ADMISSION_CHECK: "waits for admission check {}",
    PendingCode.QUEUE_STOPPED: "its queue is {}",
    PendingCode.NEVER_COVERED: "its queue has no quota of {}",
    PendingCode.NEVER_NODES: "its node selector or tolerations exclude the nodes of {}",
    PendingCode.NO_ROOM_ON_NODES: "there is free quota, but no place in the topology of {}",
}
"""Reasons that consist of names."""
