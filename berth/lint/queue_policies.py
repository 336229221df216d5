"""Checks of what `berth-machines`, `berth-queues` and `berth-wrappers` refuse, which go by the queue of a job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from berth.jobs.job_manifests import PRIORITY_CLASS
from berth.jobs.pod_set import PodSet
from berth.jobs.values import SourceValue, get_nested, inside, items
from berth.lint.fleet import SubmittedJob
from berth.manifests.rules.machines import INITIALIZERS, SUBMITTED_BY_A_JOB, TRAINER
from berth.manifests.rules.wrappers import SCALED
from berth.manifests.workloads.values import as_list, as_mapping
from berth.plan.kueue import PODS
from berth.plan.teams import NamespacePlan, TeamPlan

_JOBS = ("trainingRuntimeSpec", "template", "spec", "replicatedJobs")
_SELECTOR = ("template", "spec", "template", "spec", "nodeSelector")


def refused_on_plain_machines(
    job: SubmittedJob, team: TeamPlan, namespace: NamespacePlan
) -> Iterator[tuple[SourceValue, str]]:
    """Yield what the policy refuses of a job, and the message."""
    plain = namespace.plain_machines.get(job.local_queue.name, ())
    policies = job.context.plan.policies
    if not plain or policies is None or not namespace.owned:
        return
    labels = " or ".join(f"{key}: {value}" for key, value in plain)
    message = f"pods without accelerators may get accelerator machines of {job.queue_name}, which has others"
    if job.job.kind == "TrainJob":
        if not _is_on_own_machines(job.job.source, policies.accelerators, plain):
            source = job.job.source.child("spec", None)
            remedy = "write accelerators in trainer.resourcesPerNode, or in runtimePatches"
            yield source, f"{message}; {remedy} for each job without accelerators a nodeSelector of {labels}"
        return
    for settings, pods in zip(job.job.settings, job.job.pod_sets or (), strict=False):
        if not settings.requests_any(policies.accelerators) and not _selects(pods, plain):
            yield settings.spec, f"{message}; write a nodeSelector of {labels}"
    for each in (job.job.source, *(wrapped for wrapped, _ in wrapped_objects(job))):
        spec = each.child("spec", get_nested(each.value, "spec"))
        mode = get_nested(spec.value, "submissionMode")
        hidden = mode in (None, SUBMITTED_BY_A_JOB) and "submitterPodTemplate" not in as_mapping(spec.value)
        if get_nested(each.value, "kind") == "RayJob" and hidden:
            remedy = f"write submitterPodTemplate with a nodeSelector of {labels}, or submissionMode: HTTPMode"
            if each is not job.job.source:
                remedy = "write submissionMode: HTTPMode"
            yield spec, f"the pod that submits the entrypoint may get accelerator machines; {remedy}"


def _selects(pods: PodSet, labels: tuple[tuple[str, str], ...]) -> bool:
    """Whether pods select one of the labels, by nodeSelector or in every term of required node affinity."""
    of_terms = [
        any(each.operator == "In" and all((each.key, value) in labels for value in each.values) for each in term)
        for term in pods.affinity_terms
    ]
    return not set(labels).isdisjoint(pods.node_selector.items()) or (bool(of_terms) and all(of_terms))


def wrapped_objects(job: SubmittedJob) -> Iterator[tuple[SourceValue, str]]:
    """Yield what an AppWrapper wraps, with API version and kind."""
    for each in items(inside(job.job.source, "spec", "components")) if job.job.kind == "AppWrapper" else ():
        wrapped = inside(each, "template")
        yield wrapped, f"{get_nested(wrapped.value, 'apiVersion')}/{get_nested(wrapped.value, 'kind')}"


def refused_as_uncounted(job: SubmittedJob, namespace: NamespacePlan) -> Iterator[tuple[SourceValue, str]]:
    """Yield the components of an AppWrapper whose pods run beside the queue, on machines where none may."""
    policies = job.context.plan.policies
    if policies is None or not namespace.owned:
        return
    runs = job.local_queue.name in (*namespace.plain_queues, *namespace.plain_machines)
    for wrapped, kind in wrapped_objects(job):
        pods = [each for each in job.job.settings if each.path[: len(wrapped.path)] == wrapped.path]
        if kind in SCALED and (not runs or any(each.requests_any(policies.accelerators) for each in pods)):
            message = f"no pod of {kind} in an AppWrapper may have the machines of {job.queue_name}"
            remedy = "wrap batch/v1/Job, or submit to a queue of machines without accelerators"
            yield inside(wrapped, "kind"), f"{message}; {remedy}"


# --- TrainJob ---------------------------------------------------------------------------------------------------------


def _is_on_own_machines(job: SourceValue, accelerators: Sequence[str], plain: Sequence[tuple[str, str]]) -> bool:
    """Whether each job of a TrainJob has accelerators or selects one of the labels `plain`, as far as it says."""
    spec = as_mapping(get_nested(job.value, "spec"))
    node = get_nested(spec, "trainer", "resourcesPerNode")
    requested = {name for part in ("limits", "requests") for name in as_mapping(get_nested(node, part))}
    without = [name for field, name in INITIALIZERS.items() if field in as_mapping(spec.get("initializer"))]
    without += [] if requested.intersection(accelerators) else [TRAINER]
    for selectors in (list(_selectors(spec, name)) for name in without):
        if not selectors or any(set(plain).isdisjoint(each.items()) for each in selectors):
            return False
    return True


def _selectors(spec: dict[str, object], name: str) -> Iterator[dict[str, object]]:
    for patch in as_list(spec.get("runtimePatches")):
        for job in as_list(get_nested(patch, *_JOBS)):
            selector = get_nested(job, *_SELECTOR)
            if get_nested(job, "name") == name and selector is not None:
                yield as_mapping(selector)


def refused_in_shared_queue(
    job: SubmittedJob, team: TeamPlan, namespace: NamespacePlan
) -> Iterator[tuple[SourceValue, str]]:
    """Yield what the policy of queues that several teams share refuses: other priorities, and jobs that never fit."""
    queue = next((each for each in namespace.shared_queues if each.name == job.local_queue.name), None)
    if queue is None or not namespace.owned:
        return
    given = f"write one of {', '.join(queue.priorities)}, or " if queue.priorities else ""
    for source, what in _priorities(job):
        if source.value is not None and source.value not in queue.priorities:
            yield source, f"'{source.value}' evicts jobs of other teams in a shared queue; {given}remove {what}"
    asked_for: list[tuple[int, Mapping[str, int]]] = [(each.count, each.requests) for each in job.job.pod_sets or ()]
    nodes = get_nested(job.job.source.value, "spec", "trainer", "numNodes")
    if not asked_for and isinstance(nodes, int):
        asked_for = [(nodes, {})]  # of a TrainJob whose runtime has the resources
    for count, requests in asked_for:
        for resource, most in queue.ceilings.items():
            asked = count * (1 if resource == PODS else requests.get(resource, 0))
            if asked > most:
                message = (
                    f"{asked} {resource} are more than {job.queue_name} can ever admit, and the queue is StrictFIFO"
                )
                yield job.job.source, f"{message}: the job would hold up all others; write at most {most}"


def _priorities(job: SubmittedJob) -> Iterator[tuple[SourceValue, str]]:
    """Yield the priorities that Kueue may give a job: its label, a Kubeflow job's own, and those of its pods."""
    yield job.job.label(PRIORITY_CLASS), "the label"
    yield inside(job.job.source, "spec", "runPolicy", "schedulingPolicy", "priorityClass"), "it"
    for pods in job.job.settings:
        yield pods.field("priorityClassName"), "it"
