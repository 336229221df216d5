"""The most that a team can ever use: what it is guaranteed, and what the cohort can lend it, under every limit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from components.plan.kueue import ClusterQueuePlan, QuotaPlan


def accelerator_quotas(queue: ClusterQueuePlan, resource_of: Mapping[str, str]) -> Iterator[tuple[str, QuotaPlan]]:
    """Each flavor of a queue with the quota of its own accelerator; `resource_of` maps flavor to resource."""
    for entry in queue.flavors:
        for quota in entry.quotas:
            if quota.resource == resource_of[entry.flavor]:
                yield entry.flavor, quota


def lendable(quota: QuotaPlan) -> int:
    """What the rest of a cohort may use of a nominal quota."""
    return quota.nominal if quota.lending_limit is None else min(quota.lending_limit, quota.nominal)


def ceiling(own: Sequence[QuotaPlan], cohort: Iterable[QuotaPlan]) -> int:
    """The most that the queues with quotas `own` can use at once in a cohort with quotas `cohort` (own ones included).

    What a queue does not lend is its own to use; everything else comes out of the cohort's shared part, and no queue
    may hold more than nominal + borrowing limit.
    """
    kept = sum(q.nominal - lendable(q) for q in own)
    shared = sum(lendable(q) for q in cohort)
    if any(q.borrowing_limit is None for q in own):
        return kept + shared
    return kept + min(shared, sum(lendable(q) + (q.borrowing_limit or 0) for q in own))


def ceilings(
    queues: Iterable[ClusterQueuePlan],
    cohorts: Mapping[str, Mapping[str, list[QuotaPlan]]],
    resource_of: Mapping[str, str],
) -> dict[str, int]:
    """Flavor → the most that `queues` together can use of it. `cohorts` is what `cohort_quotas` says."""
    alone: dict[str, int] = {}
    within: dict[tuple[str, str], list[QuotaPlan]] = {}
    for queue in queues:
        for flavor, quota in accelerator_quotas(queue, resource_of):
            if queue.cohort is None:
                alone[flavor] = alone.get(flavor, 0) + quota.nominal
            else:
                within.setdefault((queue.cohort, flavor), []).append(quota)
    for (cohort, flavor), own in within.items():
        alone[flavor] = alone.get(flavor, 0) + ceiling(own, cohorts[cohort][flavor])
    return dict(sorted(alone.items()))


def cohort_quotas(
    queues: Iterable[ClusterQueuePlan], resource_of: Mapping[str, str]
) -> dict[str, dict[str, list[QuotaPlan]]]:
    """Cohort → flavor → the accelerator quotas of its queues."""
    found: dict[str, dict[str, list[QuotaPlan]]] = {}
    for queue in queues:
        if queue.cohort is not None:
            for flavor, quota in accelerator_quotas(queue, resource_of):
                found.setdefault(queue.cohort, {}).setdefault(flavor, []).append(quota)
    return found
