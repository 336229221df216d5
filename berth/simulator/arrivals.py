"""Jobs from manifests, with their cluster queue and priority."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from berth.diagnostics import did_you_mean, join_quoted
from berth.jobs.claims import Claims
from berth.jobs.job_manifests import QUEUE_NAME, JobManifest, read_jobs
from berth.jobs.pod_groups import NO_POD_GROUPS, PodGroups, group_name
from berth.jobs.pod_set import PodSet
from berth.jobs.values import SourceValue
from berth.simulator.fleet import LocalQueueKey, SimulatedFleet, is_excluded
from berth.simulator.scheduler.model import Job

MAX_LISTED = 6
"""Maximum number of names in a message."""


class Arrival(Struct, frozen=True):
    """A submitted job; `job.name` is unique in a run, `display_name` is the name in its manifest."""

    job: Job
    display_name: str


def read_arrivals(
    manifest: SourceValue, fleet: SimulatedFleet, groups: PodGroups = NO_POD_GROUPS, claims: Claims | None = None
) -> Iterator[Arrival]:
    """Yield the jobs of one manifest; a pod group is submitted with its first Pod. Adds faults to the manifest.

    `claims` are those of the fleet and of the manifests that are submitted together.
    """
    for job in map((claims or fleet.claims).with_devices, read_jobs(manifest, fleet.namespaces)):
        if _is_left_out(job, fleet) or not groups.is_first(job):
            continue
        local_queue, priority = _resolve_queue(job, fleet), _resolve_priority(job, fleet)
        if local_queue is not None and priority is not None and job.pod_sets:
            pod_sets = tuple(without_excluded(each) for each in groups.join(job).group or job.pod_sets)
            display_name = group_name(job) or job.name
            for suffix in [""] if job.workloads == 1 else [f"-{number}" for number in range(job.workloads)]:
                name = f"{job.namespace}/{display_name}{suffix}"
                arriving = Job(
                    name=name,
                    queue=fleet.local_queues[local_queue],
                    priority=priority,
                    pod_sets=pod_sets,
                    local_queue="/".join(local_queue),
                )
                yield Arrival(arriving, f"{display_name}{suffix}")


def _is_left_out(job: JobManifest, fleet: SimulatedFleet) -> bool:
    """Return whether a job cannot be simulated: Kueue does not manage it, it has no queue, or its pods are unknown."""
    if job.elsewhere is not None:
        message = f"{job.kind} '{job.name}' runs on the pods that {job.elsewhere} selects, so it is not simulated"
        job.source.problems.warning("no-queue", job.source.path, message)
        return True
    is_service = job.row is None or job.row.serving
    is_managed = job.row is None or fleet.integrations.manages(job.row.framework, job.namespace)
    accelerators = {resource for _, resource in fleet.accelerator_nouns}
    uses_accelerators = any(accelerators & each.requests.keys() for each in job.pod_sets or ())
    needs_queue = QUEUE_NAME in job.labels or not is_service or uses_accelerators
    if job.row is not None and not is_managed and needs_queue:
        job.source.fault("not-queued", fleet.integrations.refusal(job.kind, job.row.framework, job.namespace))
        return True
    if is_service and QUEUE_NAME not in job.labels:
        job.metadata.problems.warning(
            "no-queue", job.metadata.path, f"{job.kind} '{job.name}' names no queue, so it is not simulated"
        )
        return True
    if job.pod_sets == ():
        message = (
            f"{job.unread} are not known, so {job.kind} '{job.name}' is not simulated; "
            "write the job's pods and requests in a scenario file"
        )
        job.source.problems.unknown("kind-unknown", job.source.path, message)
        return True
    return False


def already_submitted(name: str) -> str:
    """Return the message for a job that is submitted while a job of the same name is unfinished."""
    return f"job '{name}' already exists; finish it first, or write another name"


def without_excluded(pod_set: PodSet) -> PodSet:
    """Return a pod set without the resources that Kueue is configured to ignore."""
    return replace(
        pod_set, requests={name: number for name, number in pod_set.requests.items() if not is_excluded(name)}
    )


def _resolve_queue(job: JobManifest, fleet: SimulatedFleet) -> LocalQueueKey | None:
    """Return the object's local queue, which is `default` if it names none."""
    queue_name = job.labels.get(QUEUE_NAME)
    if queue_name is None and QUEUE_NAME in job.annotations:
        message = f"the queue is named in an annotation; Kueue reads the label {QUEUE_NAME}, so none admits the job"
        job.metadata.fault("no-queue", message)
        return None
    if queue_name is None and (job.namespace, "default") not in fleet.local_queues:
        message = f"names no queue, so none admits it; write the label {QUEUE_NAME}"
        job.metadata.fault("no-queue", message)
        return None
    local_queue = (job.namespace, "default" if queue_name is None else str(queue_name))
    if local_queue not in fleet.local_queues:
        message = (
            f"no local queue '{local_queue[1]}' in namespace "
            f"'{job.namespace}'{_suggest_local_queue(local_queue, fleet)}"
        )
        job.label(QUEUE_NAME).fault("no-queue", message)
        return None
    return local_queue


def _suggest_local_queue(local_queue: tuple[str, str], fleet: SimulatedFleet) -> str:
    """Return a hint: the most similar local queue, or the local queues that exist."""
    namespace_queues = sorted(name for namespace, name in fleet.local_queues if namespace == local_queue[0])
    if not namespace_queues:
        known = sorted({namespace for namespace, _ in fleet.local_queues})
        return f"; local queues are in {join_quoted(known[:MAX_LISTED])}" if known else ""
    return (
        did_you_mean(local_queue[1], namespace_queues)
        or f"; local queues: {join_quoted(namespace_queues[:MAX_LISTED])}"
    )


def _resolve_priority(job: JobManifest, fleet: SimulatedFleet) -> int | None:
    """Return the value of the object's priority class, or the default priority."""
    class_value = job.priority_class
    if class_value is None:
        return fleet.default_priority
    name = str(class_value.value)
    if name in fleet.priorities:
        return fleet.priorities[name]
    known = sorted(fleet.priorities)
    suggestion = did_you_mean(name, known) or (f"; write one of {', '.join(known[:MAX_LISTED])}" if known else "")
    class_value.fault("no-priority", f"no priority '{name}'{suggestion}")
    return None
