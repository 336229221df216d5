"""Jobs that may be preempted, and Kueue's names of the rules that allow it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cmp_to_key
from operator import itemgetter
from typing import Any, TypeVar

from msgspec import Struct

from berth.simulator.scheduler.quota import QuotaTreeNode
from berth.simulator.scheduler.state import QueueState, SimulatedWorkload

IN_CLUSTER_QUEUE = "InClusterQueue"
IN_COHORT_RECLAMATION = "InCohortReclamation"
RECLAIM_WHILE_BORROWING = "InCohortReclaimWhileBorrowing"
IN_COHORT_FAIR_SHARING = "InCohortFairSharing"


class Victim(Struct):
    """A job that may be preempted, and Kueue's name of the rule.

    `common_cohort` is the lowest common cohort of both queues, None within one queue. `only_within_nominal` victims are
    available only to a preemptor that stays within its nominal quota. Fair sharing sets neither.
    """

    workload: SimulatedWorkload
    reason: str
    common_cohort: QuotaTreeNode | None = None
    only_within_nominal: bool = False


class CachedVictims(Struct):
    """The victims of a search."""

    victims: tuple[Victim, ...]


class ReclaimableAmounts(Struct):
    """The usage of one flavor and resource that a rule allows to preempt in queues that borrow, and its sum."""

    by_queue: dict[QueueState, int]
    total: int


CandidateT = TypeVar("CandidateT", bound="tuple[Any, ...]")


def sort_candidates(candidates: Iterable[CandidateT], takes_turns: bool) -> list[CandidateT]:
    """Sort candidates, each a rank and a job; if local queues take turns, that with the highest usage comes first.

    Kueue compares usage only within a cluster queue, and only of local queues with different names, whatever their
    namespaces are. So the order of three jobs can contradict itself; then it depends on where the sort begins.
    """
    ranked = sorted(candidates, key=itemgetter(0))
    return sorted(ranked, key=cmp_to_key(_compare)) if takes_turns else ranked


def _compare(one: tuple[Any, ...], other: tuple[Any, ...]) -> int:
    first: SimulatedWorkload = one[1]
    second: SimulatedWorkload = other[1]
    ledger = first.queue_state.ledger
    in_turn = ledger is not None and first.queue_state is second.queue_state and first.is_evicted == second.is_evicted
    if ledger is not None and in_turn and _name(first) != _name(second):
        usage, other_usage = ledger.usage(first.local_queue), ledger.usage(second.local_queue)
        if usage != other_usage:
            return 1 if usage < other_usage else -1
    return (one[0] > other[0]) - (one[0] < other[0])


def _name(workload: SimulatedWorkload) -> str:
    """Return the name of a job's local queue without its namespace."""
    return workload.local_queue.rpartition("/")[2]
