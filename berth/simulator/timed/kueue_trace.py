"""A trace of what ran: finished Workloads of a cluster, from `kubectl get workloads -A -o json`."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from berth.diagnostics import Problem, Problems, Severity
from berth.jobs.files import ManifestDocument
from berth.jobs.values import get_nested, read_time
from berth.manifests.workloads.values import as_list, as_mapping
from berth.simulator.fleet import SimulatedFleet
from berth.simulator.live import read_requested_job
from berth.simulator.timed.trace import TimedJob, Trace


def read_finished(documents: Iterable[ManifestDocument], fleet: SimulatedFleet) -> tuple[Trace, list[Problem]]:
    """Return the finished Workloads of the fleet's queues as jobs, in the order of their creation.

    A job's run time is that from its last admission until its end; what earlier admissions did is not known. Workloads
    that are unfinished, never ran, or belong to other queues are counted in a warning.
    """
    jobs: list[TimedJob] = []
    left_out = 0
    all_problems: list[Problem] = []
    for document in documents:
        problems = Problems()
        root = document.root_value(problems)
        items = as_list(get_nested(document.value, "items"))
        values = [(item, root.child("items", item).child(index, item)) for index, item in enumerate(items)]
        if get_nested(document.value, "kind") == "Workload":  # kubectl get workload NAME
            values = [(document.value, root)]
        for item, value in values:
            job = read_requested_job(value, fleet)
            times = _times(item)
            if job is None or times is None:
                left_out += 1
            else:
                jobs.append(TimedJob(job=job, submitted=times[0], seconds=times[1]))
        all_problems += document.locate_problems(problems.entries)
    first = min((each.submitted for each in jobs), default=0)
    ordered = sorted(jobs, key=lambda each: each.submitted)
    if left_out and jobs:
        message = f"{left_out} Workloads are unfinished, never ran or have a queue of another stack; they are left out"
        all_problems.append(Problem(Severity.WARNING, "left-out", (), message))
    if not jobs and not all_problems:
        message = f"has no finished Workload of this stack's queues{f' among {left_out}' * bool(left_out)}"
        message += "; save the output of kubectl get workloads -A -o json"
        all_problems.append(Problem(Severity.FAULT, "no-jobs", (), message))
    moved = [replace(each, submitted=each.submitted - first) for each in ordered]
    return Trace(jobs=moved, began=first if moved else None), all_problems


def _times(item: object) -> tuple[int, int] | None:
    """Return when a Workload was created, and for how many seconds it ran; None if it did not finish after running."""
    since = {
        str(condition.get("type")): _seconds(condition.get("lastTransitionTime"))
        for condition in map(as_mapping, as_list(get_nested(item, "status", "conditions")))
        if condition.get("status") == "True"
    }
    created = _seconds(get_nested(item, "metadata", "creationTimestamp"))
    admitted, finished = since.get("Admitted"), since.get("Finished")
    if created is None or admitted is None or finished is None or not created <= admitted <= finished:
        return None
    return created, finished - admitted


def _seconds(text: object) -> int | None:
    time = read_time(text)
    return None if time is None else int(time.timestamp())
