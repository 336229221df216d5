"""Recording rules with constants of the plan: the team of each cluster queue, and the prices of accelerators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from berth.plan.kueue import ClusterQueuePlan, CohortPlan, root_of
from berth.plan.monitoring import RecordingPlan

QUEUE_INFO = "berth:queue:info"
PRICE = "berth:accelerator:price_per_hour"


def queue_constants(queues: Sequence[ClusterQueuePlan], cohorts: Sequence[CohortPlan]) -> Iterator[RecordingPlan]:
    """Yield a rule for each cluster queue: 1, with its team (unless teams share it) and the root of its cohort tree."""
    by_name = {each.name: each for each in cohorts}
    for queue in queues:
        labels = {"cluster_queue": queue.name}
        if len(queue.teams) == 1:
            labels["team"] = queue.teams[0]
        if queue.cohort is not None:
            labels["root_cohort"] = root_of(by_name, queue.cohort)
        yield RecordingPlan(name=QUEUE_INFO, query="vector(1)", labels=labels)


def price_constants(prices: Mapping[str, float], currency: str) -> Iterator[RecordingPlan]:
    """Yield a rule for each flavor with a price: that of one accelerator for an hour."""
    for flavor, price in sorted(prices.items()):
        labels = {"flavor": flavor, "currency": currency}
        yield RecordingPlan(name=PRICE, query=f"vector({price:g})", labels=labels)
