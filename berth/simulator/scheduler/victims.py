"""Jobs that may be preempted, and Kueue's names of the rules that allow it."""

from __future__ import annotations

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
