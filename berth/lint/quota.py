"""Whether a job fits into its queue when nobody else is there: Kueue's own decision, from the model of it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from berth.diagnostics import in_words
from berth.jobs.job_manifests import JobManifest
from berth.jobs.pod_set import PodSet
from berth.jobs.quantities import written
from berth.lint.fleet import Submitted
from berth.lint.machines import Pods, pods_of
from berth.simulator import pending_reasons as reasons
from berth.simulator.arrivals import counted
from berth.simulator.pending_reasons import Short, Why, why
from berth.simulator.scheduler.model import Job
from berth.simulator.scheduler.state import Stand, Work
from berth.workloads.node_shapes import Shape


class Taken(Struct, frozen=True):
    """What a job takes in an empty fleet: in words (`8 v5e chips of v5e`), and the flavor of each pod set."""

    words: str
    flavors: Mapping[str, str]


def admitted(job: Submitted) -> Taken | None:
    """What the job takes in an empty fleet; None after a fault."""
    work, reason = _tried(job, _pod_sets(job.job))
    if reason is None:
        return _taken(job, work)
    pods = pods_of(job)
    match reason.code:
        case reasons.NEVER_COVERED:
            (resource,) = reason.names
            at = next((each.request(resource) for each in pods if resource in each.pods.requests), job.job.at)
            has = in_words(list(job.queue.covered_resources))
            at.fault("not-covered", f"asks for {resource}, of which {job.place} has no quota: it has {has}")
        case reasons.NEVER_WORKER:
            _too_large_for_workers(job, pods, reason)
        case _:
            _too_large(job, pods, reason)
    return None


def _pod_sets(job: JobManifest) -> tuple[PodSet, ...]:
    return tuple(counted(each) for each in job.pod_sets or ())


def _tried(job: Submitted, pod_sets: tuple[PodSet, ...]) -> tuple[Work, Why | None]:
    """The job alone in the fleet, and why it is not admitted even then."""
    simulator = job.fleet.simulator
    simulator.submit(Job(name=job.job.name, queue=job.queue.name, priority=0, pod_sets=pod_sets))
    work = simulator.works[job.job.name]
    stands = work.stand in (Stand.ADMITTED, Stand.RESERVED)
    waits = None if stands else why(simulator.trees[job.queue.name], work, simulator.setup.nodes)
    reason = job.fleet.workers.never(work) if stands else waits
    found = replace(work)
    simulator.finish(job.job.name)
    return found, reason


def _taken(job: Submitted, work: Work) -> Taken:
    nouns = job.fleet.book.nouns
    parts = [
        f"{amount} {nouns[stock.cell]} of {stock.cell[0]}"
        for stock, amount in work.usage.items()
        if stock.cell in nouns
    ]
    chosen = {
        pods.name: flavor
        for pods, flavors in zip(work.job.pod_sets, work.flavors, strict=True)
        for resource, flavor in flavors.items()
        if (flavor, resource) in nouns
    }
    return Taken(in_words(parts) or "no accelerators", chosen)


def _too_large(job: Submitted, pods: list[Pods], reason: Why) -> None:
    """More than the queue can ever have, its own and what it may borrow."""
    short = _telling(job, reason)
    resource = short[0].cell[1] if short else next(iter(pods[0].pods.requests), "")
    at = next((each.request(resource) for each in pods if resource in each.pods.requests), job.job.at)
    noun = job.fleet.book.nouns.get(short[0].cell, resource) if short else resource
    wants = max((each.wants for each in short), default=0)
    most = in_words([f"{written(each.cell[1], each.most)} of {each.cell[0]}" for each in short])
    message = (
        f"asks for {_slices(job, pods)}{written(resource, wants)} {noun} in {job.place}, whose ceiling is {most}: "
        f"it can never be admitted{_largest(job)}"
    )
    at.fault("above-ceiling", message)


def _too_large_for_workers(job: Submitted, pods: list[Pods], reason: Why) -> None:
    """More than any worker of a manager lets one job have, though all of them together have it."""
    short = [(worker, each) for worker, why in reason.workers for each in _telling(job, why)]
    wants = max((each.wants for _, each in short), default=0)
    resource = short[0][1].cell[1] if short else next(iter(pods[0].pods.requests), "")
    at = next((each.request(resource) for each in pods if resource in each.pods.requests), job.job.at)
    noun = job.fleet.book.nouns.get(short[0][1].cell, resource) if short else resource
    most = in_words([f"{worker} {written(resource, each.most)} of {each.cell[0]}" for worker, each in short])
    asks = f"asks for {_slices(job, pods)}{written(resource, wants)} {noun} in {job.place}" if short else "is one job"
    gives = f"the most is {most}" if short else "none takes its pods"
    message = f"{asks}, and runs on one worker: {gives}; it would hold its quota for ever{_largest(job)}"
    at.fault("above-worker", message)


def _telling(job: Submitted, reason: Why) -> list[Short]:
    """The shortest of accelerators where these are short, else of what is."""
    beyond = [each for each in reason.short if each.wants > each.most] or list(reason.short)
    return [each for each in beyond if each.cell in job.fleet.book.nouns] or beyond


def _shape(job: Submitted, pods: list[Pods]) -> Shape | None:
    return next((s for s in job.fleet.shapes(job.queue) if pods[0].pods.requests.get(s.flavor.resource)), None)


def _slices(job: Submitted, pods: list[Pods]) -> str:
    shape = _shape(job, pods)
    if shape is None or not shape.multi_host or len(pods) > 1:
        return ""
    number = pods[0].pods.count // shape.hosts
    return f"{number} {'slice' if number == 1 else 'slices'} of {shape.pool.topology}, "


def _largest(job: Submitted) -> str:
    """The most of it that would fit, slice by slice or pod by pod."""
    pods, (first, *more) = pods_of(job), _pod_sets(job.job)
    if more:
        return ""
    shape = _shape(job, pods)
    step = shape.hosts if shape is not None else 1
    fits = range(1, first.count // step + 1)
    low, high = 0, len(fits)
    while low < high:
        middle = (low + high + 1) // 2
        if _tried(job, (replace(first, count=middle * step),))[1] is None:
            low = middle
        else:
            high = middle - 1
    if not low:
        return "; not even the smallest part of it would fit"
    word = "slice" if step > 1 else "pod"
    return f"; the largest that fits is {low} {word}{'' if low == 1 else 's'}"
