"""Who can push out whom, as relations between queues that a person can read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from components.plan.fleet import FleetPlan
from components.plan.kueue import ClusterQueuePlan
from stacks.planner.ceilings import accelerator_quotas, lendable

_WITHIN = {
    "LowerPriority": "lower-priority work of its own queue",
    "LowerOrNewerEqualPriority": "lower-priority work of its own queue, and newer work of its own priority",
}


@dataclass(frozen=True, slots=True)
class PushOut:
    """`queue` may push out `whom` (words that follow "▸"), by Kueue's rule `rule`, on `flavors` (empty: on any)."""

    queue: str
    rule: str
    whom: str
    flavors: tuple[str, ...] = ()


def push_outs(plan: FleetPlan) -> tuple[PushOut, ...]:
    """Every relation, queue by queue; at most three a queue, so the whole grows with the queues and not their pairs."""
    resources = {f.name: f.resource for f in plan.flavors}
    borrowers = _borrowers(plan, resources)
    return tuple(found for queue in plan.cluster_queues for found in _of_queue(queue, resources, borrowers))


def _borrowers(plan: FleetPlan, resources: dict[str, str]) -> dict[tuple[str, str], set[str]]:
    """(cohort, flavor) → the queues that may borrow there."""
    found: dict[tuple[str, str], set[str]] = {}
    for queue in plan.cluster_queues:
        if queue.cohort is not None:
            for flavor, quota in accelerator_quotas(queue, resources):
                if quota.borrowing_limit != 0:
                    found.setdefault((queue.cohort, flavor), set()).add(queue.name)
    return found


def _of_queue(
    queue: ClusterQueuePlan, resources: dict[str, str], borrowers: dict[tuple[str, str], set[str]]
) -> Iterator[PushOut]:
    rules = queue.preemption
    if rules.within_cluster_queue in _WITHIN:
        yield PushOut(queue.name, "withinClusterQueue", _WITHIN[rules.within_cluster_queue])
    if queue.cohort is None:
        return
    quotas = list(accelerator_quotas(queue, resources))
    owed = tuple(f for f, q in quotas if lendable(q) and borrowers.get((queue.cohort, f), set()) - {queue.name})
    if rules.reclaim_within_cohort != "Never" and owed:
        who = "whoever borrows" if rules.reclaim_within_cohort == "Any" else "lower-priority work that borrows"
        yield PushOut(queue.name, "reclaimWithinCohort", f"{who} its guarantee", owed)
    borrowing = tuple(f for f, q in quotas if q.borrowing_limit != 0)
    if rules.borrow_within_cohort == "LowerPriority" and borrowing:
        limit = rules.max_priority_threshold
        below = "" if limit is None else f" of priority {limit} or less"
        yield PushOut(
            queue.name, "borrowWithinCohort", f"lower-priority work{below} of its cohort, to borrow", borrowing
        )
