"""What happens to jobs in a step of the simulation, and which admission checks hold them."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from berth.simulator.lenders import QuotaUse
from berth.simulator.scheduler.preemption import Victim
from berth.simulator.scheduler.state import SimulatedWorkload

CLUSTER_QUEUE_STOPPED = "ClusterQueueStopped"
"""Kueue's word for jobs that lose their place because their queue is stopped."""


class JobEvent(Struct, frozen=True):
    """What happened to a job in a step: `what` is 'admitted', 'reserved' (a check holds it), 'pushed out', 'drained' or
    'restless' (it is pushed out and gets back in without end).

    `takes` is what it took, `by` the job it was pushed out for, `reason` Kueue's word for the rule.
    """

    kind: str
    workload: SimulatedWorkload
    quota_uses: tuple[QuotaUse, ...] = ()
    preemptor: SimulatedWorkload | None = None
    reason: str = ""


def preempted_event(victim: Victim, preemptor: SimulatedWorkload) -> JobEvent:
    """The event of a job that another preempts."""
    return JobEvent("pushed out", victim.workload, preemptor=preemptor, reason=victim.reason)


def required_checks(workload: SimulatedWorkload) -> Iterator[str]:
    """The admission checks that come with what the job uses."""
    checks_by_resource = workload.queue_state.queue.admission_checks
    yield from dict.fromkeys(
        check for stock in workload.usage for check in checks_by_resource.get(stock.flavor_resource, ())
    )
