"""Whether a job finds its queue, and comes with the priority that the queue is for."""

from __future__ import annotations

from berth.diagnostics import in_words, near_miss, quoted
from berth.jobs.job_manifests import PRIORITY_CLASS, QUEUE_NAME, JobManifest
from berth.jobs.pods import pod_spec
from berth.jobs.values import as_mapping, deep
from berth.lint.fleet import Fleet, Submitted
from berth.plan.kueue import LocalQueuePlan
from berth.workloads.target import DEFAULT

_FRAMEWORKS = {
    "Job": "batch/job",
    "JobSet": "jobset.x-k8s.io/jobset",
    "PyTorchJob": "kubeflow.org/pytorchjob",
    "Pod": "pod",
}
_STOPPED = ("Hold", "HoldAndDrain")
_MANY = 6


def door_of(fleet: Fleet, job: JobManifest) -> LocalQueuePlan | None:
    """The door that a job knocks at; None after a fault."""
    name = job.labels.get(QUEUE_NAME)
    if name is None and (job.namespace, DEFAULT) not in fleet.doors:
        _without_queue(fleet, job)
        return None
    door = fleet.doors.get((job.namespace, DEFAULT if name is None else str(name)))
    if door is None:
        at = job.label(QUEUE_NAME)
        at.fault("no-queue", f"no local queue '{name}' in namespace '{job.namespace}'{_meant(fleet, job, str(name))}")
    return door


def _without_queue(fleet: Fleet, job: JobManifest) -> None:
    """Say where the queue was named instead, if anywhere."""
    so = fleet.without_queue(job.namespace)
    if QUEUE_NAME in job.annotations:
        at = job.metadata.under("annotations", job.annotations).under(QUEUE_NAME, "")
        at.fault("no-queue", f"the queue is named in an annotation; Kueue reads the label {QUEUE_NAME}: {so}")
        return
    for template in job.templates:
        labels = as_mapping(deep(template.value, "metadata", "labels"))
        if QUEUE_NAME in labels:
            at = template.under("metadata", {}).under("labels", labels).under(QUEUE_NAME, "")
            at.fault("no-queue", f"the queue is named on the pods; Kueue reads the label of the {job.kind}: {so}")
            return
    message = f"names no queue: {so}; write the label {QUEUE_NAME}{_there(fleet, job.namespace)}"
    job.metadata.fault("no-queue", message)


def _meant(fleet: Fleet, job: JobManifest, name: str) -> str:
    here = sorted(local for namespace, local in fleet.doors if namespace == job.namespace)
    elsewhere = sorted(namespace for namespace, local in fleet.doors if local == name)
    if not here and elsewhere:
        return f"; it is in {_some(elsewhere)}: write metadata.namespace"
    return near_miss(name, here) or _there(fleet, job.namespace)


def _there(fleet: Fleet, namespace: str) -> str:
    here = sorted(local for space, local in fleet.doors if space == namespace)
    if here:
        return f"; there is {_some(here)}"
    spaces = sorted({space for space, _ in fleet.doors})
    return f"; local queues are in {_some(spaces)}" if spaces else "; the fleet has no queues"


def _some(names: list[str]) -> str:
    more = [f"{len(names) - _MANY} more"] if len(names) > _MANY else []
    return in_words([*(f"'{name}'" for name in names[:_MANY]), *more])


# --- the kind, and what is said to Kueue ------------------------------------------------------------------------------


def is_queued(fleet: Fleet, job: JobManifest) -> bool:
    """Whether Kueue looks after jobs of this kind at all."""
    framework = _FRAMEWORKS[job.kind]
    if fleet.frameworks is None or framework in fleet.frameworks:
        return True
    remedy = "write a Job" if job.kind == "Pod" else f"add {framework} to its integrations"
    outside = "it would start at once, outside every quota"
    job.at.fault("not-queued", f"Kueue of this fleet does not look after a {job.kind}: {outside}; {remedy}")
    return False


def held(job: Submitted) -> None:
    """Note what keeps even a sound job waiting, or would if Kueue did not put it right."""
    for stop, what in ((job.queue.stop_policy, "queue"), (job.door.stop_policy, "local queue")):
        if stop in _STOPPED:
            at = job.job.label(QUEUE_NAME)
            message = f"the {what} {job.place} is held ({stop}): nothing is admitted until it is resumed"
            job.warn("held", at.path, message)
            break
    where = ("runPolicy", "suspend") if job.job.kind == "PyTorchJob" else ("suspend",)
    if deep(job.job.at.value, "spec", *where) is False:
        path = (*job.job.at.path, "spec", *where)
        job.warn("not-suspended", path, "Kueue suspends the job all the same; leave it out, or write true")


# --- priority ---------------------------------------------------------------------------------------------------------


def priority(job: Submitted) -> bool:
    """Whether the job's priority exists and is the queue's."""
    known = sorted(job.fleet.book.priorities)
    named = job.job.priority_class
    sound = _pods_have_classes(job, known)
    if named is not None and str(named.value) not in known:
        there = near_miss(str(named.value), known) or (f"; there is {quoted(known)}" if known else "; there are none")
        named.fault("no-priority", f"no priority '{named.value}'{there}")
        return False
    wanted = job.queue.priority
    default = next((each.name for each in job.fleet.plan.priorities if each.default), None)
    if wanted is None or wanted == (default if named is None else str(named.value)):
        return sound
    remedy = f"write the label {PRIORITY_CLASS}: {wanted}"
    if named is None:
        found = f"names no priority, and the default is '{default}'" if default else "names no priority"
        at = job.job.metadata.under("labels", {})
    else:
        found, at = f"'{named.value}' is another priority", named
    at.fault("wrong-priority", f"{found}; {job.place} is for '{wanted}': {remedy}")
    return False


def _pods_have_classes(job: Submitted, known: list[str]) -> bool:
    """A pod whose class does not exist is refused by the API server, whatever the job's label says."""
    sound = True
    for template in job.job.templates:
        named = (pod_spec(template) or {}).get("priorityClassName")
        name = "" if named is None else str(named.value)
        first = job.job.priority_class
        if named is None or not name or name in known or name.startswith("system-"):
            continue
        if first is None or first.path != named.path:
            named.fault("no-priority", f"no PriorityClass '{name}': its pods are refused{near_miss(name, known)}")
            sound = False
    return sound
