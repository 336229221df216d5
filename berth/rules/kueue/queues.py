"""Rules of cluster queues and cohorts that a stack file can break; the planner guarantees the others."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from berth.diagnostics import FieldPath, Severity
from berth.plan.kueue import ClusterQueuePlan, CohortPlan
from berth.rules.kueue import bounds
from berth.rules.kueue.rule import FieldError, Rule


def _preference_needs_try_next(plan: ClusterQueuePlan) -> Iterator[FieldError]:
    """A flavor preference needs both policies at TryNextFlavor; Kueue's default of whenCanBorrow is MayStopSearch."""
    borrow, preempt = plan.when_can_borrow or "MayStopSearch", plan.when_can_preempt or bounds.TRY_NEXT
    if plan.preference is not None and not borrow == preempt == bounds.TRY_NEXT:
        message = (
            f"'{plan.preference}' chooses among all flavors; write {bounds.TRY_NEXT} for both whenCanBorrow (now "
            f"{borrow}) "
            f"and whenCanPreempt (now {preempt})"
        )
        yield ("flavorFungibility", "preference"), message


def _check_weight(plan: ClusterQueuePlan | CohortPlan) -> Iterator[FieldError]:
    yield from _weight_errors(("fairShareWeight",), plan.fair_share_weight)


def _check_queue_weights(plan: ClusterQueuePlan) -> Iterator[FieldError]:
    """A weight may be that of all local queues of a team, so an equal one is reported once."""
    yield from _check_weight(plan)
    weights = dict.fromkeys(each.fair_share_weight for each in plan.local_queues)
    for value in weights:
        yield from _weight_errors(("localQueueWeights",), value)


def _weight_errors(path: FieldPath, value: float | None) -> Iterator[FieldError]:
    """A fair-share weight is 0, or a number above 0.000000001 with at most nine decimals."""
    if value is None:
        return
    if 0 < value <= bounds.MIN_WEIGHT:
        yield path, f"'{value:g}' is not a weight; write 0 (always last) or a number above 0.000000001"
    elif (Fraction(str(value)) * 10**9).denominator != 1:
        yield path, f"'{value!r}' has more decimals than Kubernetes keeps; write at most 9 decimals"


def _root_weight(plan: CohortPlan) -> Iterator[FieldError]:
    if plan.parent is None and plan.fair_share_weight is not None:
        message = (
            f"'{plan.fair_share_weight:g}' has no effect on a root cohort, which shares with no other cohort; "
            "remove fairShareWeight"
        )
        yield ("fairShareWeight",), message


CLUSTER_QUEUES: tuple[Rule[ClusterQueuePlan], ...] = (
    Rule(
        "preference-of-few",
        "CEL ClusterQueue.flavorFungibility; webhook validateFlavorFungibility",
        _preference_needs_try_next,
    ),
    Rule("bad-weight", "webhook validateFairSharing; API: LocalQueue.fairSharing", _check_queue_weights),
)

COHORTS: tuple[Rule[CohortPlan], ...] = (
    Rule("bad-weight", "webhook validateFairSharing", _check_weight),
    Rule("weight-of-root", "Kueue docs: fair sharing of cohorts", _root_weight, Severity.WARNING),
)
