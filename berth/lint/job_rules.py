"""Checks of a job besides its pods: its name, the size of its pod group, and settings that a webhook refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from berth.jobs.job_manifests import MIN_PARALLELISM, JobManifest
from berth.jobs.kinds import RefusedSetting, path_keys
from berth.jobs.placement_fields import FALSE_WORDS, TRUE_WORDS
from berth.jobs.pod_groups import POD_GROUP_SIZE, group_name
from berth.jobs.pod_set import PodSet
from berth.jobs.values import SourceValue, describe_value, get_nested, inside, is_whole, items
from berth.lint.around_pods.checkpoints import MAX_EXECUTION
from berth.lint.fleet import LintContext, SubmittedJob
from berth.manifests.workloads.values import as_mapping
from berth.names import MAX_LABEL, is_dns_1035_label, is_subdomain, shorten
from berth.workloads import names

_SUFFIX_LENGTH = 5
"""Number of characters that Kubernetes appends to a `generateName`."""
_KUBEFLOW = "kubeflow.org"
_CRON_JOB_NAME = 52
"""Maximum of a CronJob's name, to which 11 characters are added for each Job."""


def check_name(job: JobManifest, pod_sets: tuple[PodSet, ...]) -> None:
    """Report an invalid name, or one that is too long."""
    is_generated = "name" not in as_mapping(job.metadata.value)
    source = job.metadata.child("generateName" if is_generated else "name", job.name)
    longest = min(_name_limits(job, pod_sets)) - (_SUFFIX_LENGTH if is_generated else 0)
    is_indexed = job.kind == "Job" and get_nested(job.source.value, "spec", "completionMode") == "Indexed"
    if (is_indexed or job.kind == "StatefulSet") and "." in job.name and _is_name(job, is_generated):
        message = f"'{job.name}' has a '.', which host names of its pods cannot have"
        source.fault("bad-name", f"{message}; write '{job.name.replace('.', '-')}'")
    elif not _is_name(job, is_generated):
        first = ", starting with a letter" if _names_services(job) else ""
        source.fault(
            "bad-name", f"'{job.name}' is not a valid name of a {job.kind}: lower-case letters, digits and '-'{first}"
        )
    elif len(job.name) > longest:
        message = (
            f"'{job.name}' has {len(job.name)} characters, more than {longest}; names derived from it must fit into 63"
        )
        remedy = f"; write '{shorten(job.name, longest)}'" if longest >= 8 else ""
        source.fault("long-name", message + remedy)


def _is_name(job: JobManifest, is_generated: bool) -> bool:
    """Whether the characters are valid, including the suffix of a generated name; the length is not checked."""
    name = f"{job.name}x" if is_generated else job.name
    if _names_services(job):
        return is_dns_1035_label(name if len(name) <= MAX_LABEL else f"{name[: MAX_LABEL - 1]}x")
    return is_subdomain(name)


def _name_limits(job: JobManifest, pod_sets: tuple[PodSet, ...]) -> list[int]:
    if job.row is not None and job.row.group == _KUBEFLOW and pod_sets:
        return [names.pytorch_name_limit(max(each.count for each in pod_sets))]
    match job.kind:
        case "JobSet":
            return [
                names.job_set_name_limit(
                    each.name, each.child_jobs, each.count // each.child_jobs if each.child_jobs else 0
                )
                for each in pod_sets
            ]
        case "Job":
            indexed = get_nested(job.source.value, "spec", "completionMode") == "Indexed"
            indexes = get_nested(job.source.value, "spec", "completions")
            return [names.job_name_limit(indexes if indexed and is_whole(indexes) else 1)]
        case "CronJob":
            return [_CRON_JOB_NAME]
        case "StatefulSet":
            return [MAX_LABEL]
        case _:
            return [253]


def _names_services(job: JobManifest) -> bool:
    """Whether a service has the job's name."""
    return job.kind in ("JobSet", "LeaderWorkerSet") or (job.row is not None and job.row.group == _KUBEFLOW)


def check_pod_group(job: JobManifest) -> None:
    """Report a group without a size, or whose size differs from its number of Pods in the manifests."""
    name = group_name(job)
    if name is None:
        return
    metadata, size = job.metadata, job.annotations.get(POD_GROUP_SIZE)
    if size is None:
        message = f"pod group '{name}' has no size, so Kueue refuses the Pod; write the annotation {POD_GROUP_SIZE}"
        metadata.fault("pod-group", message)
        return
    source = metadata.child("annotations", job.annotations).child(POD_GROUP_SIZE, size)
    if not isinstance(size, str) or not size.isdecimal() or not int(size):
        source.fault("pod-group", f"'{size}' is not a size of a pod group; write a quoted number of at least 1")
        return
    members = sum(each.count for each in job.group)
    if job.group_conflict and members <= int(size):
        message = f"the Pods of group '{name}' {job.group_conflict}, so Kueue makes no workload of them"
        source.fault("pod-group", f"{message}; write the same for all of them")
        return
    if members and members < int(size):
        message = f"pod group '{name}' has {size} Pods, but {members} are in the manifests; Kueue waits for the others"
        job.source.problems.warning("pod-group", source.path, message)
    elif members > int(size):
        message = f"pod group '{name}' has {size} Pods, but {members} are in the manifests; write '{members}'"
        source.fault("pod-group", message)


_MANAGERS = {
    "Job": "kubernetes.io/job-controller",
    "JobSet": "jobset.sigs.k8s.io/jobset-controller",
    "MPIJob": "kubeflow.org/mpi-operator",
    "RayCluster": "ray.io/kuberay-operator",
    "RayJob": "ray.io/kuberay-operator",
    "TrainJob": "trainer.kubeflow.org/trainjob-controller",
}
"""The value of `spec.managedBy` with which a kind's own controller runs it, as without one."""


def check_manager(job: SubmittedJob) -> None:
    """Report a job that names another controller than that of its kind: no pod exists until that one makes it."""
    source = inside(job.job.source, "spec", "managedBy")
    name = source.value
    if name is None or job.job.kind not in _MANAGERS or name == _MANAGERS[job.job.kind]:
        return
    if name != "kueue.x-k8s.io/multikueue":
        message = f"whether the cluster has the controller '{name}', which alone makes its pods, is not known"
        source.problems.unknown("operator-unknown", source.path, f"{message}; remove managedBy")
    elif not job.context.plan.workers:
        message = f"the fleet has no workers, so nothing starts a job that is managed by '{name}'"
        source.fault("no-operator", f"{message}; remove managedBy")


def check_run_time(job: SubmittedJob) -> None:
    """Report a maximum run time that Kueue refuses (Kueue 0.19.2 `validateCreateForMaxExecTime`)."""
    source = job.job.label(MAX_EXECUTION)
    if source.value is not None and not re.fullmatch("0*[1-9][0-9]*", str(source.value)):
        written = describe_value(source.value)
        source.fault("refused", f"Kueue refuses the run time {written}; write whole seconds from 1")


_ELASTIC_GATE = "ElasticJobsViaWorkloadSlices"
_EQUAL_COMPLETIONS = "kueue.x-k8s.io/job-completions-equal-parallelism"


def _may_be_elastic(context: LintContext) -> bool:
    kueue = context.plan.kueue
    # Since 0.18 the gate is on by default.
    return kueue is None or kueue.feature_gates.get(_ELASTIC_GATE, True)


def check_refusals(context: LintContext, job: JobManifest, *, is_queued: bool) -> None:
    """Report every setting with which the API server refuses the job; Kueue's webhooks refuse only queued ones."""
    may_be_elastic = _may_be_elastic(context)
    for row in job.row.refused if job.row is not None else ():
        if row.by == "Kueue" and not is_queued:
            continue
        if row.elastic and may_be_elastic and job.annotations.get(row.elastic) == "true":
            continue
        for item in _items(job.source, row):
            written = get_nested(item.value, *path_keys(row.at))
            parent = get_nested(item.value, *path_keys(row.at)[:-1])
            value = row.default if written is None and isinstance(parent, dict) else written
            if value in row.values:
                source = SourceValue(value, (*item.path, *path_keys(row.at)), item.problems)
                setting = f"{path_keys(row.at)[-1]} {describe_value(value)}{', the default' if written is None else ''}"
                source.fault("refused", f"{row.by} refuses {setting}: {row.why}; {row.remedy}")


def check_least(job: SubmittedJob) -> None:
    """Report a minimum of pods that Kueue's webhook refuses (0.19.2 `pkg/controller/jobs/job/job_webhook.go`)."""
    written, pod_sets = job.job.annotations.get(MIN_PARALLELISM), job.job.pod_sets
    if written is None or job.job.row is None or job.job.row.framework != "batch/job" or not pod_sets:
        return
    (pods,) = pod_sets
    if job.job.annotations.get("kueue.x-k8s.io/elastic-job") == "true" and _may_be_elastic(job.context):
        message = f"Kueue refuses {MIN_PARALLELISM} of an elastic job"
        annotations = job.job.metadata.child("annotations", job.job.annotations)
        annotations.child(MIN_PARALLELISM, written).fault("refused", f"{message}; remove one of them")
    elif pods.least is None:
        message = f"Kueue refuses the minimum {describe_value(written)} of {pods.count} pods"
        remedy = f"write a quoted number from 1 to {pods.count - 1}" if pods.count > 1 else "remove it"
        annotations = job.job.metadata.child("annotations", job.job.annotations)
        annotations.child(MIN_PARALLELISM, written).fault("refused", f"{message}; {remedy}")


def check_equal_completions(job: SubmittedJob) -> None:
    """Report Jobs whose completions Kueue would keep equal to their parallelism, and whose webhook refuses that."""
    written = job.job.annotations.get(_EQUAL_COMPLETIONS)
    if written is None or job.job.kind != "Job" or str(written) in FALSE_WORDS:
        return
    spec = as_mapping(get_nested(job.job.source.value, "spec"))
    is_equal = spec.get("parallelism", 1) == spec.get("completions", 1)
    if str(written) not in TRUE_WORDS or spec.get("completionMode") != "Indexed" or not is_equal:
        source = job.job.metadata.child("annotations", job.job.annotations).child(_EQUAL_COMPLETIONS, written)
        message = f'Kueue refuses {_EQUAL_COMPLETIONS} {describe_value(written)} here; write "true", completionMode '
        source.fault("refused", f"{message}Indexed and equal parallelism and completions, or remove it")


def _items(source: SourceValue, row: RefusedSetting) -> Iterator[SourceValue]:
    """Yield what holds the setting: the items of a list, or the object itself."""
    if row.each is None:
        yield source
        return
    yield from items(inside(source, *path_keys(row.each)))
