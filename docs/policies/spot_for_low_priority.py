"""Machines that can be taken away at any time are for work that can wait."""

from collections.abc import Iterator

from berth.diagnostics import Problem
from berth.plan.fleet import FleetPlan
from berth.policy import fault

HIGHEST = 100
"""The greatest value of a priority that counts as low."""


def spot_for_low_priority(plan: FleetPlan) -> Iterator[Problem]:
    """A queue that reaches spot machines names a low priority."""
    spot = {pool.flavor for pool in plan.pools if pool.capacity == "spot"}
    low = {priority.name for priority in plan.priorities if priority.value <= HIGHEST}
    for queue in plan.cluster_queues:
        reached = sorted(spot & {entry.flavor for entry in queue.flavors})
        if reached and queue.priority not in low:
            where = ("teams", queue.teams[0]) if len(queue.teams) == 1 else ("clusterQueues",)
            said = f"its priority is {queue.priority or 'not said'}"
            yield fault(where, f"queue '{queue.name}' reaches spot machines ({', '.join(reached)}), and {said}")
