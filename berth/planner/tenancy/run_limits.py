"""The longest run that a queue with queued machines allows, by cluster queue and by namespace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from berth import catalog
from berth.plan.kueue import ClusterQueuePlan
from berth.plan.teams import NamespacePlan
from berth.planner.queueing.admission_checks import PlannedChecks


def run_limits(queues: Iterable[ClusterQueuePlan], checks: PlannedChecks) -> dict[str, int]:
    """Return cluster queue → seconds that every queued flavor of it allows; without the queues that have none."""
    configs = {each.name: each for each in checks.provisioning_configs}
    config_of = {each.name: configs.get(each.parameters.name) for each in checks.checks if each.parameters}
    limits: dict[str, int] = {}
    for queue in queues:
        queued_configs = [
            config for check in queue.admission_checks if (config := config_of.get(check.name)) is not None
        ]
        if queued_configs:
            longest = catalog.limits().max_run_seconds
            limits[queue.name] = min(config.max_run_seconds or longest for config in queued_configs)
    return limits


def with_run_limits(
    namespaces: Iterable[NamespacePlan], team: str, queues: Iterable[ClusterQueuePlan], limits: Mapping[str, int]
) -> tuple[NamespacePlan, ...]:
    """Return a team's namespaces with the limits of its local queues there."""
    doors = [door for queue in queues if queue.name in limits for door in queue.local_queues if door.team == team]
    return tuple(
        replace(
            each,
            run_limits={
                door.name: limits[door.cluster_queue]
                for door in sorted(doors, key=lambda door: door.name)
                if door.namespace == each.name
            },
        )
        for each in namespaces
    )
