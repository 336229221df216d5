"""Preemption under fair sharing: which queue gives up a job next, and which of its jobs.

The preemptor's own request counts in its share. Queues with the highest share are taken first; a strategy decides
whether the preemptor's share justifies the preemption. A preemptor within its nominal quota needs no strategy.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from berth.simulator.scheduler.fair_sharing import (
    LESS_THAN_INITIAL_SHARE,
    LOWEST_RANK,
    ShareRank,
    compute_share,
)
from berth.simulator.scheduler.model import NEVER, FlavorResource
from berth.simulator.scheduler.quota import QuotaState, QuotaTreeNode, add_usage, remove_usage
from berth.simulator.scheduler.state import SimulatedWorkload
from berth.simulator.scheduler.tree import CohortTree
from berth.simulator.scheduler.victims import (
    IN_CLUSTER_QUEUE,
    IN_COHORT_FAIR_SHARING,
    IN_COHORT_RECLAMATION,
    Victim,
    sort_candidates,
)


class FairPreemptionSearch:
    """The search for victims of one job, for its usage and the flavors and resources that are short."""

    def __init__(
        self,
        tree: CohortTree,
        workload: SimulatedWorkload,
        usage: dict[QuotaState, int],
        flavor_resources: frozenset[FlavorResource],
        has_room: Callable[[], bool],
    ) -> None:
        self.tree = tree
        self.has_room = has_room
        self.workload = workload
        self.usage = usage
        self.flavor_resources = flavor_resources
        self.preempted: list[Victim] = []
        self.retried: list[SimulatedWorkload] = []

    def find_victims(self, strategies: Sequence[str]) -> list[Victim]:
        """Return the victims that make the job fit; empty if the strategies allow no such set."""
        ranked = ((self._candidate_order(each), each) for each in self._candidates())
        candidates = [each for _, each in sort_candidates(ranked, self.tree.takes_turns)]
        if not candidates:
            return []
        add_usage(self.usage)
        fits = self._run_first(candidates, strategies[0]) or (len(strategies) > 1 and self._run_second())
        remove_usage(self.usage)
        if fits:
            self._fill_back()
        for victim in self.preempted:
            add_usage(victim.workload.usage)
        return self.preempted if fits else []

    def _candidates(self) -> Iterator[SimulatedWorkload]:
        own, policy = self.workload.queue_state, self.workload.queue_state.queue.preemption
        for queue_state in self.tree.queue_states:
            rule = policy.within_cluster_queue if queue_state is own else policy.reclaim_within_cohort
            is_open = queue_state is own or not queue_state.node.is_within_nominal(self.flavor_resources)
            if rule != NEVER and is_open and queue_state.is_active():
                for other in queue_state.preemptible_workloads(self.workload, rule):
                    if not self.flavor_resources.isdisjoint(other.flavor_resources):
                        yield other

    def _candidate_order(self, other: SimulatedWorkload) -> tuple[bool, bool, tuple[int, int, int]]:
        return not other.is_evicted, other.queue_state is self.workload.queue_state, other.preemption_order

    def _run_first(self, candidates: Iterable[SimulatedWorkload], strategy: str) -> bool:
        """Preempt by the first strategy until the job fits; jobs that it spares may be taken by the second."""
        order = _TargetOrder(self.tree, self.workload, candidates, self._candidate_order)
        is_entitled = self.workload.queue_state.node.is_within_nominal(self.flavor_resources)
        while (target := order.next_target()) is not None:
            remaining = order.remaining[target]
            if target is order.own or is_entitled:
                if self._preempt(
                    remaining.popleft(), IN_CLUSTER_QUEUE if target is order.own else IN_COHORT_RECLAMATION
                ):
                    return True
                continue
            own_branch, branch = order.branches(target)
            own_rank, old_rank = compute_share(own_branch).rank, compute_share(branch).rank
            while remaining:
                other = remaining.popleft()
                by_initial = strategy == LESS_THAN_INITIAL_SHARE
                if own_rank < old_rank if by_initial else own_rank <= _rank_without(branch, other):
                    if self._preempt(other, IN_COHORT_FAIR_SHARING):
                        return True
                    break  # the shares changed, so that another queue may come first
                self.retried.append(other)
        return False

    def _run_second(self) -> bool:
        """Preempt by LessThanInitialShare, at most one job of each queue."""
        order = _TargetOrder(self.tree, self.workload, self.retried, self._candidate_order)
        while (target := order.next_target()) is not None:
            own_branch, branch = order.branches(target)
            is_allowed = compute_share(own_branch).rank < compute_share(branch).rank
            if is_allowed and self._preempt(order.remaining[target].popleft(), IN_COHORT_FAIR_SHARING):
                return True
            order.pruned.add(target)
        return False

    def _preempt(self, other: SimulatedWorkload, reason: str) -> bool:
        """Preempt a job; return whether the preemptor fits now. Its own usage is counted meanwhile."""
        remove_usage(other.usage)
        self.preempted.append(Victim(other, reason))
        remove_usage(self.usage)
        fits = self._fits()
        add_usage(self.usage)
        return fits

    def _fits(self) -> bool:
        return all(amount <= stock.available() for stock, amount in self.usage.items()) and self.has_room()

    def _fill_back(self) -> None:
        """Restore the jobs without which the preemptor also fits, last preempted first."""
        for index in range(len(self.preempted) - 2, -1, -1):
            add_usage(self.preempted[index].workload.usage)
            if self._fits():
                self.preempted[index] = self.preempted[-1]
                self.preempted.pop()
            else:
                remove_usage(self.preempted[index].workload.usage)


class _TargetOrder:
    """The queues that give up jobs: from the root, the child with the highest share that has candidates.

    A node that cannot yield candidates any more is `pruned`. `remaining` are the candidates of each queue.
    """

    def __init__(
        self,
        tree: CohortTree,
        workload: SimulatedWorkload,
        candidates: Iterable[SimulatedWorkload],
        order: Callable[[SimulatedWorkload], tuple[bool, bool, tuple[int, int, int]]],
    ) -> None:
        self.tree = tree
        self.own = workload.queue_state.node
        self.ancestors = tuple(self.own.ancestors())
        self.order = order
        self.pruned: set[QuotaTreeNode] = set()
        self.remaining: dict[QuotaTreeNode, deque[SimulatedWorkload]] = {}
        for other in candidates:
            self.remaining.setdefault(other.queue_state.node, deque()).append(other)

    def next_target(self) -> QuotaTreeNode | None:
        """Return the queue that gives up the next job; None if there is none."""
        if not self.ancestors:
            return self.own if self.remaining.get(self.own) and self.own not in self.pruned else None
        root = self.ancestors[-1]
        while root not in self.pruned:
            target = self._descend(root)
            if target is not None:
                return target
        return None

    def branches(self, target: QuotaTreeNode) -> tuple[QuotaTreeNode, QuotaTreeNode]:
        """Return the children of the lowest common cohort that hold the preemptor's queue and the target."""
        branch, own = target, self.own
        while branch.parent is not None and branch.parent not in self.ancestors:
            branch = branch.parent
        while own.parent is not None and own.parent is not branch.parent:
            own = own.parent
        return own, branch

    def _descend(self, cohort: QuotaTreeNode) -> QuotaTreeNode | None:
        """Return the queue to take below a cohort; None if nodes were only pruned."""
        queue: QuotaTreeNode | None = None
        child_cohort: QuotaTreeNode | None = None
        queue_rank = cohort_rank = LOWEST_RANK
        for child in cohort.children:
            if child in self.pruned:
                continue
            share = compute_share(child)
            if child not in self.tree.queue_of_node:
                if not share.borrowed and child not in self.ancestors:
                    self.pruned.add(child)
                elif share.rank >= cohort_rank:
                    child_cohort, cohort_rank = child, share.rank
            elif (not share.borrowed and child is not self.own) or not self.remaining.get(child):
                self.pruned.add(child)
            elif queue is None or (share.rank, *self._tie_order(child)) > (queue_rank, *self._tie_order(queue)):
                queue, queue_rank = child, share.rank
        if child_cohort is not None and cohort_rank >= queue_rank:
            return self._descend(child_cohort)
        if queue is None:
            self.pruned.add(cohort)
        return queue

    def _tie_order(self, queue: QuotaTreeNode) -> tuple[int, ...]:
        """Return the inverse order of the queue's next candidate, so that the first one ranks highest."""
        is_active, is_own, preemption_order = self.order(self.remaining[queue][0])
        return -is_active, -is_own, *(-value for value in preemption_order)


def _rank_without(branch: QuotaTreeNode, other: SimulatedWorkload) -> ShareRank:
    """Return the share of a node without a job of one of its queues."""
    remove_usage(other.usage)
    rank = compute_share(branch).rank
    add_usage(other.usage)
    return rank
