"""Rules of the Dynamic Workload Scheduler: one shape of pods, for a limited run time.

Sources: GKE docs on queued provisioning; Kueue 0.19 `pkg/controller/admissionchecks/provisioning`.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from berth import catalog
from berth.jobs.values import SourceValue, get_nested
from berth.lint.fleet import JobPods, SubmittedJob, list_job_pods
from berth.manifests.workloads.values import as_mapping
from berth.placement.own_pods import OwnPods, own_scope
from berth.placement.room import pods_per_node
from berth.plan.admission_checks import (
    CONSUME_ANNOTATION,
    PARAMETER_PREFIX,
    RUN_DURATION_PARAMETER,
    ProvisioningConfigPlan,
)
from berth.workloads.run_duration import RUN_DURATION, queued_configs, run_limit


def check_queued_pods(job: SubmittedJob) -> None:
    """Report jobs that a provisioning check never admits; for a queue without one, annotations without effect."""
    configs = [config for config, _ in queued_configs(job.context.plan, job.queue)]
    if RUN_DURATION in _parameters(job):
        source = _annotation(job, RUN_DURATION)
        if not configs:
            job.warn(
                "no-check",
                source.path,
                f"{job.queue_name} has no queued machines, so the annotation has no effect; remove the annotation",
            )
        check_run_duration(source, _limit_of(job))
    if not configs:
        return
    queued_pods = [
        pods for pods in list_job_pods(job) if any(pods.pod_set.requests.get(r) for r in _accelerator_resources(job))
    ]
    for config in configs if queued_pods else ():
        _check_parameters(job, config)
    _check_run_duration_named(job)
    _check_same_shape(job, queued_pods)
    for pods in queued_pods:
        for key in pods.settings.annotations:
            if key.endswith(f"/{CONSUME_ANNOTATION}"):
                message = "Kueue sets this annotation when it admits the job; remove it from the manifest"
                pods.settings.annotation(key).fault("dws", message)
        _check_apart(job, pods)
        limit = catalog.limits().max_request_nodes
        if pods.pod_set.count > limit:
            message = f"{pods.pod_set.count} pods, but a request has at most {limit} machines; write {limit} or fewer"
            pods.request_source(_accelerator_resources(job)[0]).fault("dws", message)


class RunLimit(Struct, frozen=True):
    """The maximum run duration of a queue, in seconds, and the queue's name."""

    seconds: int
    queue: str


def _parameters(job: SubmittedJob) -> Mapping[str, object]:
    """Return the annotations that Kueue passes to a ProvisioningRequest."""
    return as_mapping(get_nested(job.job.parameters.value, "annotations"))


def _annotation(job: SubmittedJob, key: str) -> SourceValue:
    annotations = _parameters(job)
    return job.job.parameters.child("annotations", annotations).child(key, annotations[key])


def _limit_of(job: SubmittedJob) -> RunLimit | None:
    seconds = run_limit(job.context.plan, job.queue)
    return None if seconds is None else RunLimit(seconds, job.queue_name)


def _check_run_duration_named(job: SubmittedJob) -> None:
    """Report a job without a run duration if GKE's default is longer than the queue allows."""
    limit, longest = _limit_of(job), catalog.limits().max_run_seconds
    if limit is None or limit.seconds >= longest or RUN_DURATION in _parameters(job):
        return
    job.job.parameters.fault(
        "above-run-limit",
        f"has no run duration, so it could keep its machines for {longest} seconds, but {limit.queue} allows at most "
        f"{limit.seconds}; write the annotation {RUN_DURATION}: '{limit.seconds}'",
    )


def _check_parameters(job: SubmittedJob, config: ProvisioningConfigPlan) -> None:
    """Report annotations that differ from a parameter of the ProvisioningRequestConfig."""
    for parameter, value in config.parameters.items():
        key = f"{PARAMETER_PREFIX}{parameter}"
        if key in _parameters(job) and _parameters(job)[key] != value:
            what = "is the run duration" if parameter == RUN_DURATION_PARAMETER else f"is {parameter}"
            _annotation(job, key).fault(
                "parameter-conflict",
                f"'{value}' {what} in ProvisioningRequestConfig '{config.name}': Kueue deletes and recreates a request "
                "that differs, and the job never starts; remove the annotation",
            )


def check_run_duration(source: SourceValue, limit: RunLimit | None = None) -> None:
    """Report a run duration that GKE refuses, or that is more than the queue allows."""
    limits = catalog.limits()
    minimum, maximum = limits.min_run_seconds, limits.max_run_seconds
    text = str(source.value)
    if not isinstance(source.value, str):
        source.fault("dws", f"{text} must be text; quote it")
    elif not text.isdecimal() or not minimum <= int(text) <= maximum:
        source.fault("dws", f"'{text}' is not a number of seconds from {minimum} (10 minutes) to {maximum} (7 days)")
    elif limit is not None and int(text) > limit.seconds:
        source.fault(
            "above-run-limit",
            f"'{text}' seconds are more than the maximum of {limit.queue}, {limit.seconds}; "
            f"write '{limit.seconds}' or less",
        )


def _accelerator_resources(job: SubmittedJob) -> list[str]:
    return [shape.flavor.resource for shape in job.context.node_shapes(job.queue)]


def _check_same_shape(job: SubmittedJob, queued_pods: list[JobPods]) -> None:
    """Report pod sets of several shapes: GKE accepts one pod set, and Kueue merges only equal ones, if configured."""
    if len(queued_pods) < 2:
        return
    names = {check.name for check in job.queue.admission_checks}
    checks = [check for check in job.context.plan.admission_checks if check.name in names and check.parameters]
    configs = {check.parameters.name for check in checks if check.parameters}
    policies = {each.merge_policy for each in job.context.plan.provisioning_configs if each.name in configs}
    if (
        None not in policies
        and (
            "IdenticalPodTemplates" not in policies
            or all(each.settings.is_like(queued_pods[0].settings) for each in queued_pods)
        )
        and _has_same_requirements(queued_pods)
    ):
        return
    pod_sets_text = " and ".join(f"{each.pod_set.count} {each.pod_set.name}" for each in queued_pods)
    job.job.source.child("spec", {}).fault(
        "dws",
        f"its pods ({pod_sets_text}) request different shapes, but queued machines have one shape; make the pods equal",
    )


def _has_same_requirements(queued_pods: list[JobPods]) -> bool:
    def needs(pods: JobPods) -> object:
        pod_set = pods.pod_set
        return (dict(pod_set.requests), dict(pod_set.node_selector), pod_set.affinity_terms, pod_set.tolerations)

    return all(needs(each) == needs(queued_pods[0]) for each in queued_pods)


def _check_apart(job: SubmittedJob, pods: JobPods) -> None:
    """Warn of pods that must not share a machine and could: GKE makes only as many as the requests need."""
    pod_set = pods.pod_set
    flavors = {entry.flavor for entry in job.queue.flavors}
    machines = [each for each in job.context.node_classes if each.group.flavor in flavors]
    selects = [
        each for each in pod_set.pod_anti_affinity if own_scope(each.selector, each, pod_set) is not OwnPods.NONE
    ]
    if selects and any(pods_per_node(pod_set, each) > 1 for each in machines):
        source = pods.settings.field("affinity", "podAntiAffinity")
        source.problems.unknown(
            "placement-unknown",
            source.path,
            "whether all its pods get machines is not known: GKE makes queued machines for what the pods request, and "
            "their podAntiAffinity is not supported there; remove it, or request all accelerators of a machine",
        )
