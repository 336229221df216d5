"""One scheduling cycle: the head of every queue is looked at, then they are admitted one by one.

What an earlier head of the same cycle took is taken: a later one that no longer fits is skipped until the next cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct, field

from berth.simulator.scheduler.flavor_assignment import (
    Assignment,
    AssignmentCache,
    AssignmentMode,
    AssignmentOutcome,
    FlavorAssigner,
)
from berth.simulator.scheduler.model import ANY, ResourceFlavor
from berth.simulator.scheduler.preemption import (
    CachedVictims,
    PreemptionSearch,
    Victim,
    cached_preemption,
    preemptor_key,
    simulate_preemption,
)
from berth.simulator.scheduler.quota import QuotaState, add_usage, remove_usage
from berth.simulator.scheduler.state import SearchProgress, SimulatedWorkload
from berth.simulator.scheduler.tree import CohortTree


class Entry(Struct):
    """A head in one cycle. `again`: it stays in line; `hopeless`: nothing of its shape need be tried either.

    `start` is how far its search had come before the cycle.
    """

    workload: SimulatedWorkload
    search_start: object
    assignment: Assignment
    victims: list[Victim]
    stays_pending: bool = False
    shape_cannot_fit: bool = False
    admitted: bool = False


class CachedNomination(Struct):
    """What a cycle found for a head, of its queue's flavors at a version, with a search that began at `start`.

    `tried` is how far the search came, None where it came to the end.
    """

    version: int
    search_start: object
    assignment: Assignment
    victims: list[Victim]
    last_tried: list[dict[str, int]] | None


class CycleResult(Struct):
    """What a cycle did: whom it admitted, whom it pushed out and what for, how many it set aside.

    `searched`: how far the searches of all heads have come, if that is not where they began.
    """

    admitted: list[Entry] = field(default_factory=list[Entry])
    preempted: list[tuple[Victim, SimulatedWorkload]] = field(default_factory=list[tuple[Victim, SimulatedWorkload]])
    inadmissible_count: int = 0
    search_state: tuple[object, ...] | None = None

    def made_progress(self) -> bool:
        """Whether the next cycle would meet another state (other than how far searches came)."""
        return bool(self.admitted or self.preempted or self.inadmissible_count)


class SchedulingCycle:
    """One cycle over a tree; `admit` is called for each job that gets its place."""

    def __init__(
        self, tree: CohortTree, resource_flavors: Mapping[str, ResourceFlavor], on_admit: Callable[[Entry], None]
    ) -> None:
        self.tree = tree
        self.resource_flavors = resource_flavors
        self.on_admit = on_admit
        self.result = CycleResult()
        self.preempted: dict[int, SimulatedWorkload] = {}
        self.blocked_entries: list[Entry] = []
        self.journal: list[tuple[QuotaState, int]] = []
        self.preemptor_changed = False

    def run(self) -> CycleResult:
        """Run it."""
        self.tree.cycle += 1
        self.tree.blocked_heads = []
        heads = [line.head() for line in self.tree.active_queues if line.is_active()]
        entries = [self._nominate(work) for work in heads if work is not None]
        for entry in sorted(entries, key=_cycle_order) if len(entries) > 1 else entries:
            self._process(entry)
        for quota_state, before in reversed(self.journal):
            quota_state.usage = before
        for entry in self.result.admitted:
            self.on_admit(entry)
        for entry in entries:
            self._requeue(entry)
        if self.preemptor_changed or any(entry.search_start != _search_start(entry.workload) for entry in entries):
            self.result.search_state = tuple(_search_state(entry.workload) for entry in entries)
        return self.result

    def _nominate(self, workload: SimulatedWorkload) -> Entry:
        if workload.search_progress is not None and _is_outdated(workload, self.tree):
            workload.search_progress = None
        search_start, version = _search_start(workload), self.tree.version(workload.queue_state)
        cached = workload.cached_nomination
        if isinstance(cached, CachedNomination) and cached.version == version and cached.search_start == search_start:
            last_tried = cached.last_tried
            workload.search_progress = (
                None
                if last_tried is None
                else SearchProgress(last_tried, self.tree.cycle, workload.queue_state.generation)
            )
            return Entry(workload, search_start, cached.assignment, cached.victims)
        assignment, victims = self._assign(workload)
        workload.cached_nomination = CachedNomination(
            version,
            search_start,
            assignment,
            victims,
            workload.search_progress.last_tried if workload.search_progress else None,
        )
        return Entry(workload, search_start, assignment, victims)

    def _assign(
        self, workload: SimulatedWorkload, allowed_flavors: list[dict[str, str]] | None = None
    ) -> tuple[Assignment, list[Victim]]:
        """Find flavors and victims for a head. With `only`, in the midst of a cycle, where nothing is remembered."""
        oracle = self._cached_oracle if allowed_flavors is None else self._uncached_oracle
        cache = AssignmentCache(self.tree.flavor_cache, preemptor_key(workload)) if allowed_flavors is None else None
        assignment = FlavorAssigner(
            workload, self.tree.cycle, oracle, self.resource_flavors, allowed_flavors, cache
        ).assign()
        workload.search_progress = assignment.search_progress if assignment.search_progress.has_untried() else None
        return assignment, self._find_victims(
            workload, assignment, allowed_flavors is None
        ) if assignment.outcome == AssignmentOutcome.PREEMPT else []

    def _find_victims(self, workload: SimulatedWorkload, assignment: Assignment, use_cache: bool) -> list[Victim]:
        """Whom it would push out; remembered for jobs that take one flavor, which is nearly all."""
        requests = [ask for of_pods in workload.group_requests for ask in of_pods]
        if not use_cache or len(requests) > 1:
            return PreemptionSearch(
                self.tree, workload, assignment.usage, assignment.quotas_to_preempt()
            ).find_victims()
        flavor, _ = next(iter(assignment.usage)).flavor_resource
        cache, key = self.tree.flavor_cache(flavor), ("victims", *requests, preemptor_key(workload))
        cached = cache.get(key)
        if not isinstance(cached, CachedVictims):
            victims = PreemptionSearch(
                self.tree, workload, assignment.usage, assignment.quotas_to_preempt()
            ).find_victims()
            cached = cache[key] = CachedVictims(tuple(victims))
        return list(cached.victims)

    def _cached_oracle(
        self, workload: SimulatedWorkload, quota_state: QuotaState, amount: int
    ) -> tuple[AssignmentMode, int]:
        return cached_preemption(self.tree, workload, quota_state, amount)

    def _uncached_oracle(
        self, workload: SimulatedWorkload, quota_state: QuotaState, amount: int
    ) -> tuple[AssignmentMode, int]:
        return simulate_preemption(self.tree, workload, quota_state, amount)

    # --- one after the other ------------------------------------------------------------------------------------------

    def _process(self, entry: Entry) -> None:
        """Admit a head, let it push others out, or leave it."""
        if self.preempted and self._has_overlap(entry):
            self._reserve_for_blocked()
            self._reassign(entry)
        assignment = entry.assignment
        if assignment.outcome == AssignmentOutcome.NO_FIT:
            entry.shape_cannot_fit = True
        elif assignment.outcome == AssignmentOutcome.PREEMPT and not entry.victims:
            entry.shape_cannot_fit = True
            if entry.workload.queue_state.queue.preemption.reclaim_within_cohort != ANY:
                self.tree.blocked_heads.append(entry.workload)
                self.blocked_entries.append(entry)
        else:
            self._reserve_for_blocked()
            self._admit_or_preempt(entry)

    def _admit_or_preempt(self, entry: Entry) -> None:
        """Admit a head or let it push others out, if nobody before it in the cycle took what it needs."""
        if entry.assignment.outcome == AssignmentOutcome.DEFERRED:
            self._wait_for_victims(entry)
            self._reserve(entry.assignment.usage)
        elif self._has_overlap(entry) or not self._can_fit(entry):
            entry.stays_pending = True
        else:
            self._commit(entry)

    def _commit(self, entry: Entry) -> None:
        self._reserve(entry.assignment.usage)
        if entry.assignment.outcome == AssignmentOutcome.FIT:
            entry.admitted = True
            self.result.admitted.append(entry)
            return
        for victim in entry.victims:
            self.preempted[victim.workload.arrival_order] = victim.workload
            if not victim.workload.is_evicted:
                self.result.preempted.append((victim, entry.workload))
        self._wait_for_victims(entry)

    def _wait_for_victims(self, entry: Entry) -> None:
        workload = entry.workload
        self.preemptor_changed = self.preemptor_changed or workload.queue_state.preemptor is not workload
        entry.stays_pending = True
        workload.search_progress, workload.queue_state.preemptor = None, workload

    def _reserve_for_blocked(self) -> None:
        """Count what heads that can push nobody keep from others. Only those who might take it make it matter."""
        for entry in self.blocked_entries:
            self._reserve(_usage_to_reserve(entry))
        self.blocked_entries = []

    def _reserve(self, usage: dict[QuotaState, int]) -> None:
        """Count a usage for the rest of the cycle."""
        for quota_state in usage:
            ancestor: QuotaState | None = quota_state
            while ancestor is not None:
                self.journal.append((ancestor, ancestor.usage))
                ancestor = ancestor.parent
        add_usage(usage)

    def _has_overlap(self, entry: Entry) -> bool:
        """Whether somebody before it in the cycle pushes out one of those whom it would push out."""
        return any(victim.workload.arrival_order in self.preempted for victim in entry.victims)

    def _reassign(self, entry: Entry) -> None:
        """Find other victims, or that none are needed once those of others are gone; the flavors stay."""
        preempted = list(self.preempted.values())
        for workload in preempted:
            workload.queue_state.release_quota(workload)
        entry.workload.search_progress = None
        entry.assignment, entry.victims = self._assign(
            entry.workload, [dict(flavors) for flavors in entry.assignment.flavors]
        )
        for workload in preempted:
            workload.queue_state.hold_quota(workload)
        if entry.assignment.outcome == AssignmentOutcome.FIT:
            entry.assignment.outcome = AssignmentOutcome.DEFERRED

    def _can_fit(self, entry: Entry) -> bool:
        """Whether the head still fits beside what the cycle did so far, with all victims gone."""
        if not self.journal:
            return True
        leaving = self.preempted | {victim.workload.arrival_order: victim.workload for victim in entry.victims}
        for workload in leaving.values():
            remove_usage(workload.usage)
        fits = all(amount <= stock.available() for stock, amount in entry.assignment.usage.items())
        for workload in leaving.values():
            add_usage(workload.usage)
        return fits

    def _requeue(self, entry: Entry) -> None:
        """It stays in line, or is set aside until something changes."""
        workload = entry.workload
        if (
            entry.admitted
            or entry.stays_pending
            or workload.queue_state.queue.is_strict_fifo
            or workload.search_progress is not None
        ):
            return
        if workload.arrival_order in workload.queue_state.ready:
            workload.queue_state.set_inadmissible(workload, entry.shape_cannot_fit)
            self.result.inadmissible_count += 1


def _search_start(workload: SimulatedWorkload) -> object:
    """Where the search of a job begins: nowhere, or after the flavors it tried."""
    return workload.search_progress.as_key() if workload.search_progress is not None else ()


def _search_state(workload: SimulatedWorkload) -> object:
    """How far a head's search came, and whether it waits for victims: all that a cycle without progress may change."""
    return workload.arrival_order, workload.queue_state.preemptor is workload, _search_start(workload)


def _cycle_order(entry: Entry) -> tuple[int, int, int]:
    """Who comes first in a cycle: who borrows least, then the higher priority, then who came first."""
    return entry.assignment.borrowing_level, -entry.workload.priority, entry.workload.arrival_order


def _is_outdated(workload: SimulatedWorkload, tree: CohortTree) -> bool:
    progress = workload.search_progress
    assert progress is not None
    return tree.cycle - progress.cycle > 1 and workload.queue_state.generation > progress.generation


def _usage_to_reserve(entry: Entry) -> dict[QuotaState, int]:
    """What a head that cannot push anybody keeps others from taking: up to its limit if it borrows, else its quota."""
    borrows = entry.assignment.borrowing_level > 0
    return {stock: _amount_to_reserve(stock, amount, borrows) for stock, amount in entry.assignment.usage.items()}


def _amount_to_reserve(quota_state: QuotaState, amount: int, borrows: bool) -> int:
    if not borrows:
        return max(0, min(amount, quota_state.nominal - quota_state.usage))
    return (
        amount
        if quota_state.borrowing_limit is None
        else min(amount, quota_state.nominal + quota_state.borrowing_limit - quota_state.usage)
    )
