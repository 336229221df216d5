"""The queue that a job without a valid queue is meant for, as its accelerators and node selectors tell."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from berth import catalog
from berth.jobs.job_manifests import QUEUE_NAME, JobManifest
from berth.jobs.pod_set import PodSet
from berth.lint.fleet import LintContext
from berth.placement.kueue import Refusal, flavor_refusal
from berth.plan.kueue import LocalQueuePlan

_CONTRADICTIONS = (Refusal.LABELS, Refusal.TAINT)


class LikelyQueue(Struct, frozen=True):
    """A local queue of the team that submits a job. `is_only`: no other can run it, so that all checks make sense."""

    local_queue: LocalQueuePlan
    is_only: bool


def likely_queue(context: LintContext, job: JobManifest) -> LikelyQueue | None:
    """Return the queue of the job's namespace, or else of the fleet, that can run its pods; None if there is none.

    A queue of the name that the job writes is preferred. Of several queues the first stands for their team.
    """
    own = [door for (namespace, _), door in sorted(context.local_queues.items()) if namespace == job.namespace]
    everywhere = own or [door for _, door in sorted(context.local_queues.items())]
    named = [door for door in everywhere if door.name == job.labels.get(QUEUE_NAME)]
    fitting = [door for door in named or everywhere if _can_take(context, door, job.pod_sets or ())]
    if len(fitting) == 1:
        return LikelyQueue(fitting[0], is_only=True)
    teams = {door.team for door in fitting or own}
    return LikelyQueue((fitting or own)[0], is_only=False) if len(teams) == 1 else None


def _can_take(context: LintContext, door: LocalQueuePlan, pod_sets: Iterable[PodSet]) -> bool:
    """Whether the queue has a flavor of the accelerators, or cores, of each pod set whose labels suit the pods."""
    queue = context.queues[door.cluster_queue]
    flavors = {flavor.name: flavor for flavor in context.plan.flavors}
    nodes = context.simulated.setup.resource_flavors
    accelerators = {catalog.extended_resource("tpu"), catalog.extended_resource("gpu")}
    wanted = [(each, accelerators & {name for name, amount in each.requests.items() if amount}) for each in pod_sets]
    if not wanted:
        return False
    with_accelerators = [each for each in wanted if each[1]]
    for pod_set, resources in with_accelerators or wanted:
        counted = resources or {catalog.CPU}
        suiting = (
            entry.flavor
            for entry in queue.flavors
            if flavors[entry.flavor].resource in counted
            and flavor_refusal(pod_set, nodes[entry.flavor], only_topologies=True)
            not in (Refusal.LABELS, Refusal.TAINT)
        )
        if next(suiting, None) is None:
            return False
    return True
