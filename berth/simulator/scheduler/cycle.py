"""One scheduling cycle: nominates the head of every queue, then admits heads one by one.

A head that no longer fits, because an earlier one in the cycle used the quota, is skipped until the next cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct, field

from berth.simulator.scheduler.fair_sharing import Contender, Tournament
from berth.simulator.scheduler.flavor_assignment import AssignmentOutcome
from berth.simulator.scheduler.model import ANY, SchedulerSetup
from berth.simulator.scheduler.nomination import Entry, Nominator, search_start
from berth.simulator.scheduler.pending_line import TakingTurns
from berth.simulator.scheduler.quota import QuotaState, add_usage, remove_usage
from berth.simulator.scheduler.resting import has_lasting_shortage
from berth.simulator.scheduler.state import SimulatedWorkload
from berth.simulator.scheduler.tree import CohortTree
from berth.simulator.scheduler.victims import Victim


class CycleResult(Struct):
    """The result of a cycle: admitted jobs, victims with their preemptors, and the number of inadmissible jobs.

    `searched`: the progress of the flavor searches of all heads, if it changed.
    """

    admitted: list[Entry] = field(default_factory=list[Entry])
    preempted: list[tuple[Victim, SimulatedWorkload]] = field(default_factory=list[tuple[Victim, SimulatedWorkload]])
    inadmissible_count: int = 0
    search_state: tuple[object, ...] | None = None

    def made_progress(self) -> bool:
        """Return whether the state changed, apart from the progress of searches."""
        return bool(self.admitted or self.preempted or self.inadmissible_count)


class SchedulingCycle:
    """One cycle over a tree; `admit` is called for each admitted job."""

    def __init__(self, tree: CohortTree, setup: SchedulerSetup, on_admit: Callable[[Entry], None]) -> None:
        self.tree = tree
        self.nominator = Nominator(tree, setup)
        self.on_admit = on_admit
        self.result = CycleResult()
        self.preempted: dict[int, SimulatedWorkload] = {}
        self.blocked_entries: list[Entry] = []
        self.journal: list[tuple[QuotaState, int]] = []

    def run(self) -> CycleResult:
        """Run the cycle."""
        self.tree.cycle += 1
        self.tree.blocked_heads = []
        heads = [line.head() for line in list(self.tree.active_queues) if line.is_active()]
        if self.tree.takes_turns:
            for work in filter(None, heads):
                _note_turn(work)
        entries = [self.nominator.nominate(work) for work in heads if work is not None and not self._set_aside(work)]
        for entry in self._in_order(entries) if len(entries) > 1 else entries:
            self._process(entry)
        for quota_state, before in reversed(self.journal):
            quota_state.usage = before
        for entry in self.result.admitted:
            self.on_admit(entry)
        for entry in entries:
            self._requeue(entry)
        if any(entry.search_start != search_start(entry.workload) for entry in entries):
            # All that changes in a cycle without progress: a head that waits for its victims stays the head.
            self.result.search_state = tuple(
                (entry.workload.arrival_order, search_start(entry.workload)) for entry in entries
            )
        return self.result

    def _in_order(self, entries: list[Entry]) -> Iterator[Entry]:
        """Yield the heads in the order in which Kueue considers them; under fair sharing it follows each decision."""
        if self.tree.fair_strategies is None:
            # Lower borrowing level, then higher priority, then earlier arrival.
            yield from sorted(
                entries,
                key=lambda each: (
                    each.assignment.borrowing_level,
                    -each.workload.priority,
                    each.workload.arrival_order,
                ),
            )
            return
        root = entries[0].workload.queue_state.node.root()
        waiting = {each.workload.arrival_order: each for each in entries}
        tournament, decided = None, -1
        while waiting:
            self._reserve_for_blocked()
            if tournament is None or decided != len(self.journal):
                contenders = [
                    Contender(
                        each.workload.queue_state.node,
                        each.assignment.usage,
                        each.workload.priority,
                        each.workload.arrival_order,
                    )
                    for each in waiting.values()
                ]
                tournament, decided = Tournament(contenders), len(self.journal)
            winner = tournament.winner(root)
            assert winner is not None
            del tournament.by_node[winner.node]
            yield waiting.pop(winner.arrival_order)

    def _set_aside(self, workload: SimulatedWorkload) -> bool:
        """Set aside a head that certainly cannot be admitted; return whether it was."""
        queue_state = workload.queue_state
        if self.tree.fair_strategies is not None or queue_state.queue.is_strict_fifo:
            return False
        if not has_lasting_shortage(workload):
            return False
        queue_state.set_inadmissible(workload)
        self.result.inadmissible_count += 1
        return True

    # --- processing heads ---------------------------------------------------------------------------------------------

    def _process(self, entry: Entry) -> None:
        """Admit a head, preempt its victims, or requeue it."""
        if self.preempted and self._has_overlap(entry):
            self._reserve_for_blocked()
            self._reassign(entry, list(self.preempted.values()))
        assignment = entry.assignment
        if assignment.outcome == AssignmentOutcome.NO_FIT:
            return
        if assignment.outcome == AssignmentOutcome.PREEMPT and not entry.victims:
            if entry.workload.queue_state.queue.preemption.reclaim_within_cohort != ANY:
                self.tree.blocked_heads.append(entry.workload)
                self.blocked_entries.append(entry)
        else:
            self._reserve_for_blocked()
            shortages = self._shortages(entry)
            if shortages and not any(stock.counts_quota for stock in shortages):
                self._reassign(entry, [])  # earlier heads of the cycle took the nodes, and it may get others
                shortages = self._shortages(entry)
            if shortages or entry.assignment.outcome == AssignmentOutcome.NO_FIT or self._has_overlap(entry):
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
        entry.stays_pending = True
        entry.workload.search_progress, entry.workload.queue_state.preemptor = None, entry.workload

    def _reserve_for_blocked(self) -> None:
        """Reserve quota for heads that cannot preempt; skipped if no other head could use it."""
        for entry in self.blocked_entries:
            borrows = entry.assignment.borrowing_level > 0
            self._reserve(
                {stock: _amount_to_reserve(stock, amount, borrows) for stock, amount in entry.assignment.usage.items()}
            )
        self.blocked_entries = []

    def _reserve(self, usage: dict[QuotaState, int]) -> None:
        """Count usage for the rest of the cycle."""
        for quota_state in usage:
            ancestor: QuotaState | None = quota_state
            while ancestor is not None:
                self.journal.append((ancestor, ancestor.usage))
                ancestor = ancestor.parent
        add_usage(usage)

    def _has_overlap(self, entry: Entry) -> bool:
        """Return whether an earlier head in the cycle preempts one of its victims."""
        return any(victim.workload.arrival_order in self.preempted for victim in entry.victims)

    def _reassign(self, entry: Entry, preempted: list[SimulatedWorkload]) -> None:
        """Find victims and nodes again, with the victims of earlier heads removed; flavors do not change."""
        for workload in preempted:
            workload.queue_state.release_quota(workload)
        entry.workload.search_progress = None
        entry.assignment, entry.victims = self.nominator.assign(
            entry.workload, [dict(flavors) for flavors in entry.assignment.flavors], entry.assignment.counts
        )
        for workload in preempted:
            workload.queue_state.hold_quota(workload)
        if preempted and entry.assignment.outcome == AssignmentOutcome.FIT:
            entry.assignment.outcome = AssignmentOutcome.DEFERRED

    def _shortages(self, entry: Entry) -> list[QuotaState]:
        """Return what a head lacks after the cycle's earlier decisions, with all victims removed."""
        if not self.journal:
            return []
        leaving = self.preempted | {victim.workload.arrival_order: victim.workload for victim in entry.victims}
        for workload in leaving.values():
            remove_usage(workload.usage)
        shortages = [stock for stock, amount in entry.assignment.usage.items() if amount > stock.available()]
        for workload in leaving.values():
            add_usage(workload.usage)
        return shortages

    def _requeue(self, entry: Entry) -> None:
        """Put the head back in line, or set aside all jobs of its shape as inadmissible."""
        workload = entry.workload
        if (
            entry.admitted
            or entry.stays_pending
            or workload.queue_state.queue.is_strict_fifo
            or workload.search_progress is not None
        ):
            return
        if workload.queue_state.line.contains(workload):
            workload.queue_state.set_inadmissible(workload)
            self.result.inadmissible_count += 1


def _note_turn(head: SimulatedWorkload) -> None:
    """Note in the ledger whether it was certain that this job, of those of several local queues, is the head."""
    ledger, line = head.queue_state.ledger, head.queue_state.line
    if ledger is not None and isinstance(line, TakingTurns):
        for other in line.firsts():
            if other.local_queue != head.local_queue:
                ledger.note_turn(head.local_queue, other.local_queue)


def _amount_to_reserve(quota_state: QuotaState, amount: int, borrows: bool) -> int:
    if not borrows:
        return max(0, min(amount, quota_state.nominal - quota_state.usage))
    return (
        amount
        if quota_state.borrowing_limit is None
        else min(amount, quota_state.nominal + quota_state.borrowing_limit - quota_state.usage)
    )
