"""The maximum run duration on queued machines, and the ProvisioningRequestConfigs of a queue."""

from __future__ import annotations

from collections.abc import Iterator

from berth import catalog
from berth.plan.admission_checks import (
    PARAMETER_PREFIX,
    PROVISIONING,
    RUN_DURATION_PARAMETER,
    ProvisioningConfigPlan,
)
from berth.plan.fleet import FleetPlan
from berth.plan.kueue import ClusterQueuePlan

RUN_DURATION = f"{PARAMETER_PREFIX}{RUN_DURATION_PARAMETER}"
"""The annotation of a job with its run duration, in seconds."""


def queued_configs(
    plan: FleetPlan, queue: ClusterQueuePlan
) -> Iterator[tuple[ProvisioningConfigPlan, tuple[str, ...]]]:
    """Yield the configs of a queue's provisioning checks with their flavors; for a manager, those of its workers."""
    for fleet in (plan, *(worker.plan for worker in plan.workers)):
        configs = {each.name: each for each in fleet.provisioning_configs}
        checks = {each.name: each.parameters for each in fleet.admission_checks if each.controller == PROVISIONING}
        for same_queue in fleet.cluster_queues:
            for check in same_queue.admission_checks if same_queue.name == queue.name else ():
                parameters = checks.get(check.name)
                if parameters is not None and parameters.name in configs:
                    flavors = check.on_flavors or tuple(entry.flavor for entry in same_queue.flavors)
                    yield configs[parameters.name], flavors


def run_limit(plan: FleetPlan, queue: ClusterQueuePlan) -> int | None:
    """The longest run in seconds that every queued flavor of a queue allows; None without queued machines."""
    limits = [config.max_run_seconds or catalog.limits().max_run_seconds for config, _ in queued_configs(plan, queue)]
    return min(limits, default=None)
