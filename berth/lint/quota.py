"""Whether a job fits into its empty queue, decided by the simulator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from berth.diagnostics import Severity, join_words
from berth.jobs.job_manifests import MIN_PARALLELISM, JobManifest
from berth.jobs.pod_set import FieldSteps, PodSet
from berth.jobs.quantities import format_quantity
from berth.jobs.values import SourceValue
from berth.lint.fleet import JobPods, SubmittedJob, list_job_pods
from berth.lint.machines import find_obstacle, flavor_refusals, report_without_flavor
from berth.lint.trial import admit_pod_sets, count_admitted, reasons_on_first_flavor, try_pod_sets
from berth.placement.reasons import Reason
from berth.plan.dynamic_slices import SLICE_TOPOLOGY_ANNOTATION
from berth.plan.kueue import CPU, PODS
from berth.simulator.fleet import is_excluded
from berth.simulator.pending_reasons import PendingCode, PendingReason, Shortage
from berth.simulator.scheduler.state import SimulatedWorkload
from berth.workloads.node_shapes import NodeShape


class TrialAdmission(Struct, frozen=True):
    """The quota that a job uses in an empty fleet, as text (`8 v5e chips of v5e`), and the flavor of each pod set."""

    text: str
    flavors: Mapping[str, str]


NO_ADMISSION = TrialAdmission("", {})
"""Of a job that was not tried, or that Kueue does not admit."""


def try_admission(job: SubmittedJob, *, is_shaped: bool) -> TrialAdmission | None:
    """Admit the job to an empty fleet, place its pods, and describe the quota it uses; None after a fault.

    Of a job that is not `is_shaped` (its pods have faults that make their number or size meaningless) only single pods
    are placed.
    """
    pod_sets = _pod_sets(job.job)
    if not is_shaped:
        _report_placement(job, reasons_on_first_flavor(job.context, job.queue, pod_sets), ())
        return None
    trial = try_pod_sets(job.context, job.queue.name, pod_sets)
    placed = trial.workload.job.pod_sets
    if placed[0].count < pod_sets[0].count:
        fit = f"{job.queue_name} can hold {placed[0].count} of its {pod_sets[0].count} pods at a time"
        job.warn("not-all-fit", job.job.source.path, f"{fit}, with which Kueue starts it ({MIN_PARALLELISM})")
    if trial.pending is None:
        _report_placement(job, trial.reasons, trial.flavors)
        if not trial.reasons:
            _warn_if_not_all_fit(job)
        return _build_trial(job, trial.workload)
    pods = list_job_pods(job)
    for index, flavor, why in trial.barred:
        source = _template_field(job, index, ("metadata", "annotations"))
        message = f"Kueue cannot place its pods on the empty nodes of flavor '{flavor}': {why}"
        source.fault("no-place", f"{message}; request fewer pods, or a wider level")
    match trial.pending.code:
        case PendingCode.NEVER_COVERED:
            _report_uncovered(job, pods)
        case PendingCode.NEVER_WORKER:
            _report_above_worker(job, pods, trial.pending)
        case PendingCode.NEVER_NODES:
            report_without_flavor(job)  # others are reported with their sizes, or as a topology without room
        case _:
            _report_above_ceiling(job, pods, trial.pending)
    _report_placement(job, reasons_on_first_flavor(job.context, job.queue, pod_sets), ())
    if not job.job.source.problems.has_faults():
        message = f"no flavor of {job.queue_name} takes its pods, so Kueue never admits it"
        job.job.source.fault("no-flavor", f"{message}; write other selectors or requests")
    return None


def _report_placement(job: SubmittedJob, reasons: Iterable[Reason], flavors: Sequence[str | None]) -> None:
    """Report why pods stay pending, unless another fault has the same place; what is unknown is a warning."""
    problems = job.job.source.problems
    several = len(job.queue.flavors) > 1
    faulty = {known.path for known in problems.entries if known.severity == Severity.FAULT}
    for each in reasons:
        source = _template_field(job, each.pod_set, each.path)
        flavor = flavors[each.pod_set] if flavors else None
        if each.is_unknown:
            problems.unknown(each.code, source.path, each.message)
        elif source.path not in faulty:
            faulty.add(source.path)
            start = f"Kueue assigns '{flavor}' to its pods, where they stay pending: " if several and flavor else ""
            other = _other_nodes(job, each.pod_set, flavor) if start and flavor and each.code != "no-place" else ""
            source.fault(each.code, f"{start}{each.message}{other}")


def _other_nodes(job: SubmittedJob, index: int, assigned: str) -> str:
    """Return a remedy if another flavor's nodes take the pods: the label by which the pods select those."""
    pods = next((each for each in list_job_pods(job) if each.settings is job.job.settings[index]), None)
    if job.job.group or pods is None:
        return ""
    flavors = job.context.simulated.setup.resource_flavors
    for name, refusal in flavor_refusals(pods).items():
        if name == assigned or refusal is not None or find_obstacle(pods, name) is not None:
            continue
        own, other = flavors[assigned].node_labels, flavors[name].node_labels
        label = next(((key, value) for key, value in other.items() if own.get(key) not in (None, value)), None)
        if label is not None:
            return f", or the node selector {label[0]}: '{label[1]}' for the nodes of '{name}'"
    return ""


def _template_field(job: SubmittedJob, index: int, path: FieldSteps) -> SourceValue:
    """Locate a field of the template of a pod set; of a pod group, in the Pod at hand."""
    settings = job.job.settings
    return settings[index if not job.job.group and index < len(settings) else 0].at(path)


def _report_uncovered(job: SubmittedJob, pods: list[JobPods]) -> None:
    """Report resources without quota in the queue."""
    covered = job.queue.covered_resources
    requested = dict.fromkeys(resource for each in _pod_sets(job.job) for resource in each.requests)
    for resource in requested:
        if resource not in covered and not is_excluded(resource):
            places = (each.request_source(resource) for each in pods if resource in each.pod_set.requests)
            named = join_words([each for each in covered if each != PODS])
            message = f"requests {resource}, but {job.queue_name} has quota only for {named}"
            next(places, job.job.source).fault("not-covered", message)


def _warn_if_not_all_fit(job: SubmittedJob) -> None:
    """Warn if the queue can never hold all workloads of an object at a time."""
    number = job.job.workloads
    if number < 2 or _refusal(job, _multiplied(job, number)) is None:
        return
    fitting = count_admitted(job.context, job.queue.name, _pod_sets(job.job), number)
    if fitting == number:
        return
    message = f"{job.queue_name} can hold {fitting} of its {number} workloads at a time; the others stay pending"
    job.job.source.problems.warning("not-all-fit", job.job.source.path, message)


def _multiplied(job: SubmittedJob, times: int) -> tuple[PodSet, ...]:
    return tuple(each.with_count(each.count * times) for each in _pod_sets(job.job))


def _pod_sets(job: JobManifest) -> tuple[PodSet, ...]:
    return job.group or job.pod_sets or ()


def _refusal(job: SubmittedJob, pod_sets: tuple[PodSet, ...]) -> PendingReason | None:
    """Return why Kueue does not admit pod sets to the empty fleet; None if it does."""
    return admit_pod_sets(job.context, job.queue.name, pod_sets).pending


def _build_trial(job: SubmittedJob, workload: SimulatedWorkload) -> TrialAdmission:
    nouns = job.context.simulated.accelerator_nouns
    parts: list[str] = []
    for stock, amount in workload.usage.items():
        if stock.flavor_resource in nouns:
            flavor, resource = stock.flavor_resource
            number = format_quantity(resource, amount) if resource == CPU else str(amount)
            parts.append(f"{number} {nouns[stock.flavor_resource]} of {flavor}")
    nothing = "no cores" if all(each.is_cpu for each in job.context.node_shapes(job.queue)) else "no accelerators"
    flavors_by_pod_set = {
        pods.name: flavor
        for pods, flavors in zip(workload.pod_sets, workload.flavors, strict=True)
        for resource, flavor in flavors.items()
        if (flavor, resource) in nouns
    }
    return TrialAdmission(join_words(parts) or nothing, flavors_by_pod_set)


def _report_above_ceiling(job: SubmittedJob, pods: list[JobPods], reason: PendingReason) -> None:
    """Report a request above the queue's ceiling."""
    shortages = _relevant_shortages(job, reason)
    resource = shortages[0].flavor_resource[1] if shortages else next(iter(pods[0].pod_set.requests), "")
    source = next((each.request_source(resource) for each in pods if resource in each.pod_set.requests), job.job.source)
    noun = (
        job.context.simulated.accelerator_nouns.get(shortages[0].flavor_resource, resource) if shortages else resource
    )
    requested = max((each.requested for each in shortages), default=0)
    ceilings = join_words(
        [f"{format_quantity(each.flavor_resource[1], each.ceiling)} of {each.flavor_resource[0]}" for each in shortages]
    )
    message = (
        f"requests {_slices_text(job, pods)}{format_quantity(resource, requested)} "
        f"{noun} in {job.queue_name}, whose ceiling is {ceilings}: "
        f"it can never be admitted{_largest_fit_text(job)}"
    )
    source.fault("above-ceiling", message)


def _report_above_worker(job: SubmittedJob, pods: list[JobPods], reason: PendingReason) -> None:
    """Report a request above the ceiling of every single worker of a manager."""
    shortages = [(worker, each) for worker, why in reason.workers for each in _relevant_shortages(job, why)]
    requested = max((each.requested for _, each in shortages), default=0)
    resource = shortages[0][1].flavor_resource[1] if shortages else next(iter(pods[0].pod_set.requests), "")
    source = next((each.request_source(resource) for each in pods if resource in each.pod_set.requests), job.job.source)
    noun = (
        job.context.simulated.accelerator_nouns.get(shortages[0][1].flavor_resource, resource)
        if shortages
        else resource
    )
    ceilings = join_words(
        [
            f"{worker} {format_quantity(resource, each.ceiling)} of {each.flavor_resource[0]}"
            for worker, each in shortages
        ]
    )
    request_text = (
        f"requests {_slices_text(job, pods)}{format_quantity(resource, requested)} {noun} in {job.queue_name}"
        if shortages
        else "is one job"
    )
    limit_text = f"the maximum is {ceilings}" if shortages else "no worker can run its pods"
    message = (
        f"{request_text}, and runs on one worker: {limit_text}; it would "
        f"hold its quota forever without running{_largest_fit_text(job)}"
    )
    source.fault("above-worker", message)


def _relevant_shortages(job: SubmittedJob, reason: PendingReason) -> list[Shortage]:
    """List the shortages of accelerators, or all shortages if accelerators are sufficient."""
    beyond = [each for each in reason.shortages if each.requested > each.ceiling] or list(reason.shortages)
    return [each for each in beyond if each.flavor_resource in job.context.simulated.accelerator_nouns] or beyond


def _find_node_shape(job: SubmittedJob, pods: list[JobPods]) -> NodeShape | None:
    return next(
        (s for s in job.context.node_shapes(job.queue) if pods[0].pod_set.requests.get(s.flavor.resource)), None
    )


def _has_whole_slices(pods: JobPods, shape: NodeShape | None) -> bool:
    """Whether the pods of a TPU pool use whole slices: several hosts each, or one pod with all chips of a host."""
    if shape is None or not shape.is_tpu:
        return False
    return shape.is_multi_host or pods.pod_set.requests.get(shape.flavor.resource) == shape.per_node


def _slices_text(job: SubmittedJob, pods: list[JobPods]) -> str:
    shape = _find_node_shape(job, pods)
    if shape is None or len(pods) > 1 or not _has_whole_slices(pods[0], shape):
        return ""
    topology, hosts = _slice_of(pods[0], shape)
    number = pods[0].pod_set.count // hosts
    return f"{number} {'slice' if number == 1 else 'slices'} of {topology}, "


def _slice_of(pods: JobPods, shape: NodeShape) -> tuple[str | None, int]:
    """Return the topology and the hosts of one slice of the pods, which may form it themselves."""
    if shape.flavor.slicing is None:
        return shape.pool.topology, shape.hosts
    annotations = pods.settings.annotations
    formed = shape.flavor.slicing.formed(str(annotations.get(SLICE_TOPOLOGY_ANNOTATION)))
    return (shape.pool.topology, shape.hosts) if formed is None else (formed.topology, formed.nodes)


def _largest_fit_text(job: SubmittedJob) -> str:
    """Describe the largest job that fits, in slices or pods, as a clause."""
    pods, (first, *more) = list_job_pods(job), _pod_sets(job.job)
    if more:
        return ""
    shape = _find_node_shape(job, pods)
    step = _slice_of(pods[0], shape)[1] if shape is not None else 1
    fits = range(1, first.count // step + 1)
    low, high = 0, len(fits)
    while low < high:
        middle = (low + high + 1) // 2
        trial = try_pod_sets(job.context, job.queue.name, (first.with_count(middle * step),))
        if trial.pending is None and all(each.is_unknown for each in trial.reasons):
            low = middle
        else:
            high = middle - 1
    if not low:
        return "; even its smallest part does not fit"
    word = "slice" if _has_whole_slices(pods[0], shape) else "pod"
    return f"; the largest that fits is {low} {word}{'' if low == 1 else 's'}"
