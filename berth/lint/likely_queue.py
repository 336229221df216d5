"""Jobs without a valid queue: the one that they are meant for, and those that start outside all quota.

A job may also use the machines of a ProvisioningRequest, which its pods name in two annotations (GKE docs: "Dynamic
Workload Scheduler for Jobs without Kueue"); such machines count against no quota either.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from berth import catalog
from berth.jobs.job_manifests import QUEUE_NAME, JobManifest
from berth.jobs.pod_set import PodSet
from berth.jobs.pod_settings import PodSettings
from berth.lint.fleet import LintContext
from berth.placement.kueue import Refusal, flavor_refusal
from berth.placement.reasons import AssignedPods
from berth.placement.scheduler import unplaceable_reasons
from berth.plan.admission_checks import AUTOSCALING_PREFIX, CLASS_ANNOTATION, CONSUME_ANNOTATION, QUEUED_CLASS
from berth.plan.kueue import LocalQueuePlan
from berth.plan.node_settings import Toleration
from berth.workloads.target import DEFAULT_QUEUE

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


_PREFIXES = (AUTOSCALING_PREFIX, "cluster-autoscaler.kubernetes.io")
"""Prefixes of both annotations: the one of autoscaling.x-k8s.io/v1, and the older one, which GKE also reads."""


def check_unqueued(context: LintContext, job: JobManifest) -> bool:
    """Check a job without a queue that may start; return whether it is one. Faults go to its problems."""
    consumed = [name for each in job.settings if (name := _annotation(each, CONSUME_ANNOTATION)) is not None]
    if not _may_start(context, job, has_machines=bool(consumed)):
        return False
    reason = f"as its pods use the request '{consumed[0]}'" if consumed else "as kueue.manageJobsWithoutQueueName says"
    job.source.problems.warning(
        "unqueued", job.metadata.path, f"names no queue: it starts at once, outside all quota, {reason}"
    )
    for pods in job.settings:
        _check_request(context, job.namespace, pods)
    _check_nodes(context, job)
    return True


def _may_start(context: LintContext, job: JobManifest, *, has_machines: bool) -> bool:
    """Whether Kueue lets the job start on purpose: no label of it names a queue, and the stack file lets it."""
    kueue = context.plan.kueue
    named = [job.labels, job.annotations, *(each.labels for each in job.settings)]
    if any(QUEUE_NAME in each for each in named) or (job.namespace, DEFAULT_QUEUE) in context.local_queues:
        return False
    if kueue is None or job.row is None or context.holds_unqueued(job.namespace):
        return False
    return kueue.lets_unqueued_start or has_machines


def _annotation(pods: PodSettings, key: str) -> str | None:
    annotations = pods.annotations
    return next((str(annotations[f"{each}/{key}"]) for each in _PREFIXES if f"{each}/{key}" in annotations), None)


def _check_request(context: LintContext, namespace: str, pods: PodSettings) -> None:
    """Report pods that name a request without its class, or a request that no file has."""
    name, written = _annotation(pods, CONSUME_ANNOTATION), _annotation(pods, CLASS_ANNOTATION)
    if name is None:
        return
    source = pods.at(("metadata", "annotations"))
    if written != QUEUED_CLASS:
        wrong = "names a request without its class" if written is None else f"'{written}' is not the request's class"
        source.fault("dws", f"{wrong}; write the annotation {AUTOSCALING_PREFIX}/{CLASS_ANNOTATION}: {QUEUED_CLASS}")
    if not context.objects.has("ProvisioningRequest", namespace, name):
        message = f"no ProvisioningRequest '{name}' in these files; its pods wait until one exists"
        source.problems.warning("not-checked", source.path, message)


def _check_nodes(context: LintContext, job: JobManifest) -> None:
    """Report why the scheduler would leave its pods pending on the empty nodes of the fleet."""
    resources = {flavor.resource for flavor in context.plan.flavors}
    assigned: list[AssignedPods] = []
    for each in job.pod_sets or ():
        pods = each
        if each.tolerations is not None:  # GKE adds one for the taint of accelerators that pods request
            added = (Toleration(key=name) for name in sorted(resources & each.requests.keys()))
            pods = replace(each, tolerations=(*each.tolerations, *added))
        assigned.append(AssignedPods(pods, None, None))
    for reason in unplaceable_reasons(assigned, context.node_classes):
        path = (*job.settings[reason.pod_set if reason.pod_set < len(job.settings) else 0].path, *reason.path)
        if reason.is_unknown:
            job.source.problems.unknown(reason.code, path, reason.message)
        else:
            job.source.problems.fault(reason.code, path, reason.message)
