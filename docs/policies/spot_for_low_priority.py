"""Spot machines are only for queues with a low priority."""

from collections.abc import Iterator

from berth.diagnostics import Problem
from berth.plan.fleet import FleetPlan
from berth.policy import fault

HIGHEST = 100
"""Maximum value of a low priority."""


def spot_for_low_priority(plan: FleetPlan) -> Iterator[Problem]:
    """Require a low priority on queues that can use spot machines."""
    spot = {pool.flavor for pool in plan.pools if pool.capacity == "spot"}
    low = {priority.name for priority in plan.priorities if priority.value <= HIGHEST}
    for queue in plan.cluster_queues:
        reached = sorted(spot & {entry.flavor for entry in queue.flavors})
        if reached and queue.priority not in low:
            where = ("teams", queue.teams[0]) if len(queue.teams) == 1 else ("clusterQueues",)
            actual = f"'{queue.priority}'" if queue.priority else "not set"
            message = f"queue '{queue.name}' can use spot machines ({', '.join(reached)}), but its priority is {actual}"
            yield fault(where, f"{message}; write a priority of at most {HIGHEST}")
