"""Why a job is pending, derived from the state after a step."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from berth.simulator.scheduler.events import required_checks
from berth.simulator.scheduler.flavor_assignment import Assignment, AssignmentOutcome, FlavorAssigner
from berth.simulator.scheduler.model import HOLD_AND_DRAIN, FlavorResource, ResourceFlavor
from berth.simulator.scheduler.preemption import cached_preemption
from berth.simulator.scheduler.quota import QuotaState
from berth.simulator.scheduler.state import JobState, SimulatedWorkload
from berth.simulator.scheduler.tree import CohortTree


class PendingCode(StrEnum):
    """Why a job is not admitted."""

    NEVER_COVERED = "never-covered"
    """Its queue has no quota of a resource that its pods request."""
    NEVER_NODES = "never-nodes"
    """Its pods do not accept the nodes of any flavor."""
    NEVER_FITS = "never-fits"
    """It requests more than the ceiling of its queue."""
    NEVER_WORKER = "never-worker"
    """No worker can run it."""
    QUEUE_STOPPED = "held"
    """Its queue is held, drained or deleted."""
    BEHIND_OTHER = "behind"
    """A job before it in a StrictFIFO queue is pending."""
    NO_ROOM = "no-room"
    """The quota that it needs is in use."""
    NO_ROOM_ON_NODES = "no-nodes"
    """The quota is free, and Kueue finds no domain of the topology whose nodes have room."""
    RESERVED_FOR_OTHERS = "kept"
    """The quota is free, and reserved for jobs that come first."""
    WAITS_FOR_VICTIMS = "victims"
    """The jobs that it preempts have not released their quota."""
    ADMISSION_CHECK = "check"
    """It holds its quota, and an admission check is pending."""

    @property
    def is_permanent(self) -> bool:
        """Whether no change of other jobs can admit the job."""
        return self in _PERMANENT


_PERMANENT = frozenset(
    {PendingCode.NEVER_COVERED, PendingCode.NEVER_NODES, PendingCode.NEVER_FITS, PendingCode.NEVER_WORKER}
)


class Shortage(Struct, frozen=True):
    """A shortage of one flavor and resource: more is `requested` than is `free`, or than the queue's `ceiling`."""

    flavor_resource: FlavorResource
    requested: int
    free: int
    ceiling: int


class PendingReason(Struct, frozen=True):
    """Why a job is pending: a code and its details.

    `other_jobs` are jobs ahead of it, or jobs for which quota is reserved. `names` are resources, flavors, checks, or
    what Kueue finds on the nodes of a topology.
    `free_now`, for a job behind another, is the free part of its request. `workers` are those of a manager, each with
    why it can never run the job.
    """

    code: PendingCode
    shortages: tuple[Shortage, ...] = ()
    other_jobs: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    free_now: tuple[Shortage, ...] = ()
    workers: tuple[tuple[str, PendingReason], ...] = ()


def find_pending_reason(
    tree: CohortTree, workload: SimulatedWorkload, resource_flavors: Mapping[str, ResourceFlavor]
) -> PendingReason:
    """Return the first reason that prevents the admission of a job."""
    queue_state = workload.queue_state
    if workload.state == JobState.RESERVED:
        return PendingReason(PendingCode.ADMISSION_CHECK, names=tuple(required_checks(workload)))
    if not queue_state.is_active():
        state = "gone" if queue_state.is_removed else "drained" if queue_state.stop_policy == HOLD_AND_DRAIN else "held"
        return PendingReason(PendingCode.QUEUE_STOPPED, names=(state,))
    assignment = _search_all_flavors(tree, workload, resource_flavors)
    permanent = _permanent_reason(workload, assignment)
    if permanent is not None:
        return permanent
    blocker = _job_ahead(workload)
    fits = assignment.outcome == AssignmentOutcome.FIT
    if blocker is not None:
        free = tuple(_shortage(stock, amount) for stock, amount in assignment.usage.items()) if fits else ()
        return PendingReason(PendingCode.BEHIND_OTHER, other_jobs=(blocker.job.name,), free_now=free)
    if tree.evicted and queue_state.preemptor is workload:
        return PendingReason(PendingCode.WAITS_FOR_VICTIMS, other_jobs=tuple(other.job.name for other in tree.evicted))
    if fits:
        _, no_room = tree.rooms.find(queue_state.node, workload.pod_sets, assignment.flavors, empty=False)
        if no_room:
            return PendingReason(PendingCode.NO_ROOM_ON_NODES, names=(no_room,))
        return PendingReason(
            PendingCode.RESERVED_FOR_OTHERS,
            other_jobs=tuple(other.job.name for other in tree.blocked_heads if other is not workload),
        )
    return PendingReason(PendingCode.NO_ROOM, shortages=_list_shortages(workload, assignment))


def _search_all_flavors(
    tree: CohortTree, workload: SimulatedWorkload, resource_flavors: Mapping[str, ResourceFlavor]
) -> Assignment:
    """Return the result of a search through all flavors in the current state."""
    progress, workload.search_progress = workload.search_progress, None
    assignment = FlavorAssigner(
        workload, tree.cycle, lambda w, stock, amount: cached_preemption(tree, w, stock, amount), resource_flavors
    ).assign()
    workload.search_progress = progress
    return assignment


def _permanent_reason(workload: SimulatedWorkload, assignment: Assignment) -> PendingReason | None:
    """Return why a job can never be admitted to its queue, or None."""
    if assignment.outcome != AssignmentOutcome.NO_FIT:
        return None
    if workload.uncovered_resource:
        return PendingReason(PendingCode.NEVER_COVERED, names=(workload.uncovered_resource,))
    flavors = {flavor for group in workload.queue_state.queue.resource_groups for flavor in group.flavors}
    if flavors <= set(assignment.unmatched_flavors):
        return PendingReason(PendingCode.NEVER_NODES, names=tuple(dict.fromkeys(assignment.unmatched_flavors)))
    shortages = tuple(each for each in _list_shortages(workload, assignment) if each.requested > each.ceiling)
    if len(workload.group_requests) == 1 and flavors - set(assignment.unmatched_flavors) == {
        each.flavor_resource[0] for each in shortages
    }:
        return PendingReason(PendingCode.NEVER_FITS, shortages=shortages)
    return None


def _job_ahead(workload: SimulatedWorkload) -> SimulatedWorkload | None:
    """Return the job ahead in a StrictFIFO queue, or None."""
    queue_state = workload.queue_state
    if not queue_state.queue.is_strict_fifo:
        return None
    first = queue_state.head()
    return None if first is workload else first


def _list_shortages(workload: SimulatedWorkload, assignment: Assignment) -> tuple[Shortage, ...]:
    """Return the shortages, by flavor, of the pod set that does not fit, or of the last one if each of them fits."""
    requests = workload.group_requests[min(len(assignment.flavors), len(workload.group_requests)) - 1]
    taken = assignment.usage if assignment.outcome == AssignmentOutcome.NO_FIT else {}
    shortages: list[Shortage] = []
    for request in requests:
        for option in request.flavor_options:
            for resource, amount in request.amounts:
                quota_state = option.quota_states[resource]
                requested = amount + taken.get(quota_state, 0)
                if requested > quota_state.available() and option.flavor not in assignment.unmatched_flavors:
                    shortages.append(_shortage(quota_state, requested))
    return tuple(shortages)


def _shortage(quota_state: QuotaState, requested: int) -> Shortage:
    return Shortage(quota_state.flavor_resource, requested, quota_state.available(), quota_state.ceiling)
