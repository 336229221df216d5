"""From a manifest to a job in line: the cluster queue behind its local queue, and its priority.

A job is counted whole: partial admission and topology requests are not modelled.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from berth.diagnostics import near_miss, quoted
from berth.jobs.job_manifests import QUEUE_NAME, JobManifest, jobs_in
from berth.jobs.pod_set import PodSet
from berth.jobs.values import At
from berth.simulator.fleet import Book, excluded
from berth.simulator.scheduler.model import Job

MANY = 6
"""More names than one reads in a message."""


class Arrival(Struct, frozen=True):
    """A job that arrives: `job.name` is unique in a run, `shown` is what its owner calls it."""

    job: Job
    shown: str


def arrivals(manifest: At, book: Book) -> Iterator[Arrival]:
    """The jobs of one manifest. Faults go to its problems."""
    for job in jobs_in(manifest):
        queue, priority = _queue(job, book), _priority(job, book)
        if queue is not None and priority is not None and job.pod_sets is not None:
            name = f"{job.namespace}/{job.name}"
            pods = tuple(counted(each) for each in job.pod_sets)
            yield Arrival(Job(name=name, queue=queue, priority=priority, pod_sets=pods), job.name)


def counted(pods: PodSet) -> PodSet:
    """Pods without the resources that Kueue is told to ignore."""
    return replace(pods, requests={name: number for name, number in pods.requests.items() if not excluded(name)})


def _queue(job: JobManifest, book: Book) -> str | None:
    """The cluster queue behind the local queue that the object names (or that is named `default`)."""
    local = job.labels.get(QUEUE_NAME)
    if local is None and QUEUE_NAME in job.annotations:
        message = f"the queue is named in an annotation; Kueue reads the label {QUEUE_NAME}, so none admits the job"
        job.metadata.fault("no-queue", message)
        return None
    if local is None and (job.namespace, "default") not in book.doors:
        message = f"names no queue, so none admits it; write the label {QUEUE_NAME}"
        job.metadata.fault("no-queue", message)
        return None
    door = (job.namespace, "default" if local is None else str(local))
    if door not in book.doors:
        message = f"no local queue '{door[1]}' in namespace '{job.namespace}'{_doors(door, book)}"
        job.label(QUEUE_NAME).fault("no-queue", message)
        return None
    return book.doors[door]


def _doors(door: tuple[str, str], book: Book) -> str:
    """What was meant, or what there is."""
    here = sorted(name for namespace, name in book.doors if namespace == door[0])
    if not here:
        known = sorted({namespace for namespace, _ in book.doors})
        return f"; local queues are in {quoted(known[:MANY])}" if known else ""
    return near_miss(door[1], here) or f"; there is {quoted(here[:MANY])}"


def _priority(job: JobManifest, book: Book) -> int | None:
    """The value of its priority class, else the default."""
    named = job.priority_class
    if named is None:
        return book.default
    name = str(named.value)
    if name in book.priorities:
        return book.priorities[name]
    known = sorted(book.priorities)
    there = near_miss(name, known) or (f"; there is {quoted(known[:MANY])}" if known else "")
    named.fault("no-priority", f"no priority '{name}'{there}")
    return None
