"""Preemption: the candidates, their order, and the smallest sufficient set of victims."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct

from berth.simulator.scheduler.fair_preemption import FairPreemptionSearch
from berth.simulator.scheduler.flavor_assignment import AssignmentMode
from berth.simulator.scheduler.model import LOWER_OR_NEWER_EQUAL, NEVER
from berth.simulator.scheduler.quota import (
    QuotaState,
    QuotaTreeNode,
    add_usage,
    find_borrowing_level,
    remove_usage,
    split_by_quota,
)
from berth.simulator.scheduler.state import QueueState, SimulatedWorkload
from berth.simulator.scheduler.tree import CohortTree
from berth.simulator.scheduler.victims import (
    IN_CLUSTER_QUEUE,
    IN_COHORT_RECLAMATION,
    RECLAIM_WHILE_BORROWING,
    ReclaimableAmounts,
    Victim,
    sort_candidates,
)


class PreemptionPossibility(Struct):
    """The result of preemption for one quota, the job's borrowing level afterwards, and the victims."""

    mode: AssignmentMode
    borrowing_level: int
    victims: tuple[Victim, ...]


_Candidate = tuple[tuple[int, int, int], SimulatedWorkload, QuotaTreeNode | None]
"""A job that may be preempted with its rank, and the lowest common cohort of both queues, None within one queue."""


class _Candidates(Struct):
    same_queue: list[_Candidate]
    hierarchical: list[_Candidate]
    by_priority: list[_Candidate]


class PreemptionSearch:
    """The search for victims of one job, for its usage and the quotas that are too small.

    `cache` is that of the one flavor of all of these quotas; it must not be used in the middle of a cycle. `has_room`
    tells whether nodes of a topology have room for the job now.
    """

    def __init__(
        self,
        tree: CohortTree,
        workload: SimulatedWorkload,
        usage: dict[QuotaState, int],
        quotas_short: Iterable[QuotaState],
        cache: dict[object, object] | None = None,
        has_room: Callable[[], bool] = lambda: True,
    ) -> None:
        self.tree = tree
        self.has_room = has_room
        self.workload = workload
        self.queue_state = workload.queue_state
        self.policy = workload.queue_state.queue.preemption
        self.usage = usage
        self.quotas_short = tuple(quotas_short)
        self.flavor_resources = frozenset(stock.flavor_resource for stock in self.quotas_short)
        self.cache: dict[object, object] = {} if cache is None else cache
        self.branches = self._find_branches()

    def find_victims(self) -> list[Victim]:
        """Return the victims that make the job fit; empty if no set of victims does."""
        # A fast negative test: not even the preemption of every candidate would suffice.
        if not all(
            amount <= stock.available() or self._upper_bound(stock) >= amount for stock, amount in self.usage.items()
        ):
            return []
        if self.tree.fair_strategies is not None:
            search = FairPreemptionSearch(self.tree, self.workload, self.usage, self.flavor_resources, self.has_room)
            return search.find_victims(self.tree.fair_strategies)
        ordered = self._order_candidates(candidates := self._find_candidates())
        for allow_borrowing in self._borrowing_attempts(candidates):
            victims = self._preempt_until_fit(ordered, allow_borrowing)
            if victims:
                return victims
        return []

    def _upper_bound(self, quota_state: QuotaState) -> int:
        """Return an upper bound of what preemption can free of one quota."""
        flavor_resource, priority = quota_state.flavor_resource, self.workload.priority
        bound = quota_state.available() + self.queue_state.preemptible_amount(
            priority, self.policy.within_cluster_queue, flavor_resource
        )
        if not self.branches:
            return bound
        # The amounts of all queues that borrow, once for the whole tree, so that a search costs the same in each queue.
        key = ("reclaimable", self.flavor_resources, flavor_resource, priority, self.policy.reclaim_within_cohort)
        reclaimable = self.cache.get(key)
        if not isinstance(reclaimable, ReclaimableAmounts):
            amounts = {
                other: other.preemptible_amount(priority, self.policy.reclaim_within_cohort, flavor_resource)
                for other in self.tree.queue_states
                if other.is_active() and not other.node.is_within_nominal(self.flavor_resources)
            }
            reclaimable = self.cache[key] = ReclaimableAmounts(amounts, sum(amounts.values()))
        return bound + reclaimable.total - reclaimable.by_queue.get(self.queue_state, 0)

    def _must_not_borrow(self) -> bool:
        """Return whether the job may only take back quota: it must not preempt others while it borrows, and would."""
        return self.policy.borrow_within_cohort in (None, NEVER) and not all(
            stock.usage < stock.nominal for stock in self.quotas_short
        )

    def _borrowing_attempts(self, candidates: _Candidates) -> tuple[bool, ...]:
        """Return the values of `allow_borrowing` to try, in order."""
        if (not candidates.hierarchical and not candidates.by_priority) or self._must_not_borrow():
            return (True,)
        is_forbidden = self.policy.borrow_within_cohort in (None, NEVER)
        return (False, True) if is_forbidden and not candidates.hierarchical else (True, False)

    def _preempt_until_fit(self, candidates: list[tuple[bool, _Candidate]], allow_borrowing: bool) -> list[Victim]:
        """Preempt candidates one by one until the job fits, then restore those that are not needed."""
        preempted: list[Victim] = []
        try:
            for within_nominal, (_, other, common_cohort) in candidates:
                victim = self._make_victim(other, common_cohort, within_nominal)
                if not self._is_still_valid(victim, allow_borrowing):
                    continue
                remove_usage(victim.workload.usage)
                preempted.append(victim)
                if self._can_fit(allow_borrowing):
                    self._fill_back(preempted, allow_borrowing)
                    return list(preempted)
            return []
        finally:
            for victim in preempted:
                add_usage(victim.workload.usage)

    def _fill_back(self, preempted: list[Victim], allow_borrowing: bool) -> None:
        for index in range(len(preempted) - 2, -1, -1):
            add_usage(preempted[index].workload.usage)
            if self._can_fit(allow_borrowing):
                preempted[index] = preempted[-1]
                preempted.pop()
            else:
                remove_usage(preempted[index].workload.usage)

    def _can_fit(self, allow_borrowing: bool) -> bool:
        for quota_state, amount in self.usage.items():
            if (not allow_borrowing and quota_state.is_borrowing_with(amount)) or amount > quota_state.available():
                return False
        return self.has_room()

    def _is_still_valid(self, victim: Victim, allow_borrowing: bool) -> bool:
        """Return whether the victim's queue, and each cohort below the common one, still borrows."""
        if victim.common_cohort is None:
            return True
        if allow_borrowing and victim.only_within_nominal:
            return False
        node: QuotaTreeNode | None = victim.workload.queue_state.node
        while node is not None and node is not victim.common_cohort:
            if node.is_within_nominal(self.flavor_resources):
                return False
            node = node.parent
        return True

    def _find_candidates(self) -> _Candidates:
        candidates = _Candidates([], [], [])
        if self.policy.within_cluster_queue != NEVER:
            candidates.same_queue = self._queue_candidates(self.queue_state, None)
        for cohort, branch, within_nominal in self.branches:
            found = candidates.hierarchical if within_nominal else candidates.by_priority
            self._collect_candidates(cohort, cohort, branch, found)
        return candidates

    def _find_branches(self) -> list[tuple[QuotaTreeNode, QuotaTreeNode, bool]]:
        """Return the cohorts whose jobs may be preempted, each with the child that the job is in, nearest first.

        The flag is whether that child's quota covers the job. A cohort is left out if none of its jobs can be a victim.
        """
        if self.queue_state.node.parent is None or self.policy.reclaim_within_cohort == NEVER:
            return []
        branches: list[tuple[QuotaTreeNode, QuotaTreeNode, bool]] = []
        only_covered = self.tree.fair_strategies is None and self._must_not_borrow()
        within_nominal, remainder = False, self.usage
        branch: QuotaTreeNode = self.queue_state.node
        for cohort in self.queue_state.node.ancestors():
            covers, remainder = split_by_quota(remainder)
            within_nominal = within_nominal or covers
            if within_nominal or not only_covered:
                branches.append((cohort, branch, within_nominal))
            branch = cohort
        return branches

    def _collect_candidates(
        self, cohort: QuotaTreeNode, common_cohort: QuotaTreeNode, branch: QuotaTreeNode, found: list[_Candidate]
    ) -> None:
        """Add the candidates under `cohort`, without those of `branch` and of branches that do not borrow."""
        for child in cohort.children:
            if child is branch or child.is_within_nominal(self.flavor_resources):
                continue
            queue_state = self.tree.queue_of_node.get(child)
            if queue_state is None:
                self._collect_candidates(child, common_cohort, branch, found)
            elif queue_state.is_active():
                found.extend(self._queue_candidates(queue_state, common_cohort))

    def _queue_candidates(self, queue_state: QueueState, common_cohort: QuotaTreeNode | None) -> list[_Candidate]:
        rule = self.policy.within_cluster_queue if common_cohort is None else self.policy.reclaim_within_cohort
        flavor_resources = self.flavor_resources
        return [
            (other.preemption_order, other, common_cohort)
            for other in queue_state.preemptible_workloads(self.workload, rule)
            if not flavor_resources.isdisjoint(other.flavor_resources)
        ]

    def _order_candidates(self, candidates: _Candidates) -> list[tuple[bool, _Candidate]]:
        """Sort candidates: already evicted jobs first, other queues before the own one, reclaim before lower priority.

        Each comes with whether the preemptor stays within the quota of the branch that it has a right to.
        """
        groups = ((True, candidates.hierarchical), (False, candidates.by_priority), (False, candidates.same_queue))
        turns = self.tree.takes_turns
        ordered = [(flag, each) for flag, group in groups for each in sort_candidates(group, turns)]
        if not self.tree.evicted:
            return ordered
        return sorted(ordered, key=lambda entry: not entry[1][1].is_evicted)

    def _make_victim(
        self, other: SimulatedWorkload, common_cohort: QuotaTreeNode | None, within_nominal: bool
    ) -> Victim:
        if common_cohort is None:
            return Victim(other, IN_CLUSTER_QUEUE)
        if within_nominal:
            return Victim(other, IN_COHORT_RECLAMATION, common_cohort)
        threshold = self.policy.max_priority_threshold
        is_above = other.priority >= self.workload.priority or (threshold is not None and other.priority > threshold)
        if self.policy.borrow_within_cohort in (None, NEVER) or is_above:
            return Victim(other, IN_COHORT_RECLAMATION, common_cohort, only_within_nominal=True)
        return Victim(other, RECLAIM_WHILE_BORROWING, common_cohort)


def cached_preemption(
    tree: CohortTree, workload: SimulatedWorkload, quota_state: QuotaState, amount: int
) -> tuple[AssignmentMode, int]:
    """Return the result of `simulate_preemption` between cycles, cached until something changes."""
    possibility = cached_possibility(tree, workload, quota_state, amount)
    return possibility.mode, possibility.borrowing_level


def cached_possibility(
    tree: CohortTree, workload: SimulatedWorkload, quota_state: QuotaState, amount: int
) -> PreemptionPossibility:
    """Return what preemption could free of one quota between cycles, cached until something changes."""
    cache = tree.flavor_cache(quota_state.flavor_resource[0])
    key = (quota_state, amount, *preemptor_key(workload))
    possibility = cache.get(key)
    if not isinstance(possibility, PreemptionPossibility):
        possibility = cache[key] = _find_possibility(tree, workload, quota_state, amount, cache)
    return possibility


def preemptor_key(workload: SimulatedWorkload) -> tuple[int, int]:
    """Return what, besides its requests, decides which jobs it can preempt; its age only if a rule depends on it."""
    return (
        workload.priority,
        workload.arrival_order
        if workload.queue_state.queue.preemption.within_cluster_queue == LOWER_OR_NEWER_EQUAL
        else -1,
    )


def simulate_preemption(
    tree: CohortTree, workload: SimulatedWorkload, quota_state: QuotaState, amount: int
) -> tuple[AssignmentMode, int]:
    """Return whether preemption could free enough of one quota, and the job's borrowing level afterwards."""
    possibility = _find_possibility(tree, workload, quota_state, amount, {})
    return possibility.mode, possibility.borrowing_level


def _find_possibility(
    tree: CohortTree, workload: SimulatedWorkload, quota_state: QuotaState, amount: int, cache: dict[object, object]
) -> PreemptionPossibility:
    victims = PreemptionSearch(tree, workload, {quota_state: amount}, (quota_state,), cache).find_victims()
    if not victims:
        return PreemptionPossibility(AssignmentMode.NO_CANDIDATES, find_borrowing_level(quota_state, amount)[0], ())
    for victim in victims:
        remove_usage(victim.workload.usage)
    borrowing_level = find_borrowing_level(quota_state, amount)[0]
    for victim in victims:
        add_usage(victim.workload.usage)
    in_same_queue = any(victim.workload.queue_state is workload.queue_state for victim in victims)
    mode = AssignmentMode.PREEMPT if in_same_queue else AssignmentMode.RECLAIM
    return PreemptionPossibility(mode, borrowing_level, tuple(victims))
