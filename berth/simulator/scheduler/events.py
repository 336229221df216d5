"""What happens to jobs in a step of the simulation, and which admission checks hold them."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from berth.simulator.lenders import QuotaUse
from berth.simulator.scheduler.state import SimulatedWorkload
from berth.simulator.scheduler.victims import Victim

CLUSTER_QUEUE_STOPPED = "ClusterQueueStopped"
"""Kueue's reason for evictions from a stopped queue."""


class JobEventKind(StrEnum):
    """What happened to a job."""

    ADMITTED = "admitted"
    """It was admitted."""
    RESERVED = "reserved"
    """It holds its quota, and an admission check is pending."""
    PREEMPTED = "preempted"
    """Another job preempted it."""
    DRAINED = "drained"
    """It was evicted because its queue was stopped."""
    PREEMPTION_LOOP = "preemption-loop"
    """It and other jobs preempt each other in an endless loop."""


class JobEvent(Struct, frozen=True):
    """What happened to a job in a step.

    `quota_uses` is the quota it uses, `preemptor` the job that preempted it, `reason` Kueue's name of the rule.
    """

    kind: JobEventKind
    workload: SimulatedWorkload
    quota_uses: tuple[QuotaUse, ...] = ()
    preemptor: SimulatedWorkload | None = None
    reason: str = ""


def preempted_event(victim: Victim, preemptor: SimulatedWorkload) -> JobEvent:
    """Return the event of a job that another preempts."""
    return JobEvent(JobEventKind.PREEMPTED, victim.workload, preemptor=preemptor, reason=victim.reason)


def required_checks(workload: SimulatedWorkload) -> Iterator[str]:
    """Yield the admission checks of the flavors and resources that the job uses."""
    checks_by_resource = workload.queue_state.queue.admission_checks
    yield from dict.fromkeys(
        check for stock in workload.usage for check in checks_by_resource.get(stock.flavor_resource, ())
    )
