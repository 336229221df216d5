"""Settings with which the API server, or the webhook of the kind, refuses a job or its pods.

Sources: Kubernetes 1.36 `pkg/apis/{batch,core,apps}/validation`; JobSet 0.12.0 `pkg/webhooks/jobset_webhook.go`;
Kubeflow's training operator 1.9 and MPI operator 0.8 (roles); KubeRay 1.6 (group names); read 2026-11-28.
"""

from __future__ import annotations

from collections.abc import Iterator

from berth.jobs.job_manifests import JobManifest
from berth.jobs.kinds import path_keys
from berth.jobs.pods import read_pod_spec, template_containers
from berth.jobs.quantities import parse_quantity
from berth.jobs.values import SourceValue, describe_value, get_nested
from berth.manifests.workloads.values import as_list, as_mapping

_INDEXED_ONLY = ("backoffLimitPerIndex", "successPolicy")
_TOLERATION_OPERATORS = ("Exists", "Equal")
_RAY_GROUPS = {
    "RayCluster": "spec.workerGroupSpecs",
    "RayJob": "spec.rayClusterSpec.workerGroupSpecs",
    "RayService": "spec.rayClusterConfig.workerGroupSpecs",
}


def check_validity(job: JobManifest) -> None:
    """Report what the API server refuses of a job's own fields and of its pod templates; of an unknown API nothing."""
    if job.row is None:
        return
    for spec in job_specs(job):
        _check_job(spec)
    if job.kind == "JobSet":
        _check_job_set(job)
    _check_roles(job)
    _check_service(job)
    for template in job.templates if job.row.reader is None else ():
        _check_template(template)


def job_specs(job: JobManifest) -> Iterator[SourceValue]:
    """Yield the spec of a Job, or those of the Jobs that a CronJob or a JobSet makes."""
    if job.kind == "Job":
        yield _at(job.source, "spec")
    elif job.kind == "CronJob":
        yield _at(job.source, "spec.jobTemplate.spec")
    elif job.kind == "JobSet":
        for part in _items(_at(job.source, "spec.replicatedJobs")):
            yield _at(part, "template.spec")


def _at(source: SourceValue, path: str) -> SourceValue:
    keys = path_keys(path)
    return SourceValue(get_nested(source.value, *keys), (*source.path, *keys), source.problems)


def _items(source: SourceValue) -> Iterator[SourceValue]:
    return (source.child(index, each) for index, each in enumerate(as_list(source.value)))


def _refuse(source: SourceValue, by: str, message: str) -> None:
    source.fault("refused", f"{by} refuses {message}")


# --- jobs -------------------------------------------------------------------------------------------------------------


def _check_job(spec: SourceValue) -> None:
    fields, by = as_mapping(spec.value), "the API server"
    is_open = fields.get("completions") is None and fields.get("parallelism") is not None  # without both, both are 1
    if is_open and fields.get("completionMode") == "Indexed":
        place = spec.child("completionMode", "Indexed")
        _refuse(place, by, "completionMode Indexed without completions; write completions")
    for key in _INDEXED_ONLY if fields.get("completionMode") != "Indexed" else ():
        if key in fields:
            _refuse(spec.child(key, None), by, f"{key} of a Job that is not Indexed; write completionMode: Indexed")
    if "maxFailedIndexes" in fields and "backoffLimitPerIndex" not in fields:
        place = spec.child("maxFailedIndexes", None)
        _refuse(place, by, "maxFailedIndexes without backoffLimitPerIndex; write that too")
    restarts = get_nested(spec.value, "template", "spec", "restartPolicy")
    if "podFailurePolicy" in fields and restarts not in (None, "Never"):
        place = spec.child("podFailurePolicy", None)
        _refuse(place, by, "a podFailurePolicy of pods that restart; write restartPolicy: Never")


def _check_job_set(job: JobManifest) -> None:
    names: list[str] = []
    listed = list(_items(_at(job.source, "spec.replicatedJobs")))
    for part in listed:
        name = str(get_nested(part.value, "name"))
        if name in names:
            _refuse(part.child("name", name), "JobSet", f"two replicatedJobs named '{name}'; write another name")
        for other in _items(_at(part, "dependsOn")):
            target = str(get_nested(other.value, "name"))
            if target not in names:
                _refuse(
                    other.child("name", target),
                    "JobSet",
                    f"the dependency on '{target}', which is no replicatedJob before '{name}'; write one of those",
                )
        names.append(name)
    targets = [*_items(_at(job.source, "spec.successPolicy.targetReplicatedJobs"))]
    for rule in _items(_at(job.source, "spec.failurePolicy.rules")):
        targets += _items(_at(rule, "targetReplicatedJobs"))
    coordinator = _at(job.source, "spec.coordinator.replicatedJob")
    for each in [*targets, *([coordinator] if coordinator.value is not None else [])]:
        if str(each.value) not in names:
            _refuse(
                each,
                "JobSet",
                f"{describe_value(each.value)} here, which is no replicatedJob; write one of {', '.join(names)}",
            )


def _check_roles(job: JobManifest) -> None:
    if job.kind == "MPIJob":
        roles = _at(job.source, "spec.mpiReplicaSpecs")
        if "Worker" in as_mapping(roles.value) and "Launcher" not in as_mapping(roles.value):
            _refuse(roles, "the MPI operator", "an MPIJob without a Launcher; write it")
    masters = _at(job.source, "spec.pytorchReplicaSpecs.Master.replicas")
    if isinstance(masters.value, int) and masters.value > 1:
        _refuse(masters, "the training operator", f"{masters.value} masters; write 1, and the others as workers")
    names: list[str] = []
    for group in _items(_at(job.source, _RAY_GROUPS.get(job.kind, "spec.-"))):
        name = str(get_nested(group.value, "groupName"))
        if name in names:
            _refuse(group.child("groupName", name), "KubeRay", f"two worker groups named '{name}'; write another name")
        names.append(name)


def _check_service(job: JobManifest) -> None:
    """Report a Deployment or StatefulSet whose pods end."""
    restarts = _at(job.source, "spec.template.spec.restartPolicy")
    if job.kind in ("Deployment", "StatefulSet") and restarts.value not in (None, "Always"):
        _refuse(restarts, "the API server", f"restartPolicy {restarts.value} of a {job.kind}; remove it")


# --- pods -------------------------------------------------------------------------------------------------------------


def _check_template(template: SourceValue) -> None:
    by = "the API server"
    names: list[str] = []
    for container in template_containers(template):
        fields = as_mapping(container.value)
        if set(fields) <= {"resources"}:
            continue  # of the kind's operator
        if not fields.get("name"):
            _refuse(container, by, "a container without a name; write name")
        _check_unique(container.child("name", fields.get("name")), names, "containers are named")
        _check_amounts(container)
        paths: list[str] = []
        for mount in _items(container.child("volumeMounts", fields.get("volumeMounts"))):
            _check_unique(
                mount.child("mountPath", get_nested(mount.value, "mountPath")), paths, "volumes are mounted at"
            )
    spec = read_pod_spec(template) or {}
    volumes: list[str] = []
    for volume in _items(spec["volumes"]) if "volumes" in spec else ():
        _check_unique(volume.child("name", get_nested(volume.value, "name")), volumes, "volumes are named")
    for each in _items(spec["tolerations"]) if "tolerations" in spec else ():
        operator, value = get_nested(each.value, "operator"), get_nested(each.value, "value")
        if operator not in (None, *_TOLERATION_OPERATORS):
            place = each.child("operator", operator)
            _refuse(place, by, f"the operator {describe_value(operator)} of a toleration; write Exists or Equal")
        elif operator == "Exists" and value:
            _refuse(each.child("value", value), by, "a toleration with Exists and a value; remove the value")


def _check_unique(source: SourceValue, known: list[str], what: str) -> None:
    if source.value is not None and str(source.value) in known:
        _refuse(source, "the API server", f"pods of which two {what} '{source.value}'; write another")
    known.append(str(source.value))


def _check_amounts(container: SourceValue) -> None:
    """Report fractions of devices, and requests above their limits."""
    resources = container.child("resources", get_nested(container.value, "resources"))
    limits = as_mapping(get_nested(resources.value, "limits"))
    for section in ("requests", "limits"):
        amounts = resources.child(section, get_nested(resources.value, section))
        for name, written in as_mapping(amounts.value).items():
            number, milli = parse_quantity(str(name), written), parse_quantity("cpu", written)
            if number is None or milli is None:
                continue
            most = parse_quantity(str(name), limits[name]) if section == "requests" and name in limits else None
            if "/" in str(name) and milli % 1000:
                _refuse(
                    amounts.child(str(name), written), "the API server", f"a part of one {name}; write a whole number"
                )
            elif most is not None and number > most and "/" not in str(name):
                message = f"a request of {written} {name} above its limit of {limits[name]}; write at most the limit"
                _refuse(amounts.child(str(name), written), "the API server", message)
