"""Settings with which the API server, or the webhook of the kind, refuses a job or its pods.

Sources: Kubernetes 1.36 `pkg/apis/{batch,core,apps}/validation`; JobSet 0.12.0 `pkg/webhooks/jobset_webhook.go`;
Kubeflow's training operator 1.9 and MPI operator 0.8 (roles); KubeRay 1.6 (group names); read 2026-11-28.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from berth.diagnostics import Severity
from berth.jobs.job_manifests import JobManifest
from berth.jobs.kinds import path_keys
from berth.jobs.values import SourceValue, describe_value, get_nested, inside, items
from berth.lint.validity.pods import pod_refusals
from berth.lint.validity.policies import policy_refusals
from berth.lint.validity.schema import Refusal, describes, find_refusals
from berth.lint.validity.volumes import claim_refusals
from berth.manifests.workloads.values import as_list, as_mapping
from berth.names import is_dns_label

_RAY_GROUPS = {
    "RayCluster": "spec.workerGroupSpecs",
    "RayJob": "spec.rayClusterSpec.workerGroupSpecs",
    "RayService": "spec.rayClusterConfig.workerGroupSpecs",
}


def check_validity(job: JobManifest) -> None:
    """Report what the API server refuses of a job and its pods, once for each field; of unknown APIs nothing."""
    if job.row is None:
        return
    for spec in job_specs(job):
        _check_job(spec)
        for path, code, message in policy_refusals(spec.value, spec.path):
            spec.problems.fault(code, path, message)
    if job.kind == "JobSet":
        _check_job_set(job)
    _check_roles(job)
    _check_service(job)
    reported = {each.path: each.code for each in job.source.problems.entries if each.severity == Severity.FAULT}
    for path, code, message in _field_refusals(job):
        if path not in reported and (code != "missing-key" or reported.get(path[:-1]) != code):
            job.source.problems.fault(code, path, message)


def _field_refusals(job: JobManifest) -> Iterator[Refusal]:
    """Yield what is wrong in the fields that Kubernetes describes: of the whole object, or of its pod templates."""
    is_described = describes(job.kind)
    if is_described:
        yield from find_refusals(job.source.value, job.kind, job.source.path)
    if job.row is None or job.row.reader is not None:
        return
    volumes = frozenset(_claimed_volumes(job.source.value))
    for pods in job.settings:
        written = job.at(pods.path).value  # without the containers that the operator of its kind adds
        if not is_described:
            yield from find_refusals(written, "PodTemplateSpec", pods.path)
        yield from pod_refusals(get_nested(written, "spec"), (*pods.path, "spec"), volumes)


def _claimed_volumes(value: object) -> Iterator[str]:
    """Yield the volumes that a controller gives pods for the claims that it makes of templates."""
    lists = [get_nested(value, "spec", *path, "volumeClaimTemplates") for path in ((), ("leaderWorkerTemplate",))]
    policies = as_list(get_nested(value, "spec", "volumeClaimPolicies"))
    for each in (*lists, *(get_nested(policy, "templates") for policy in policies)):
        yield from (str(get_nested(claim, "metadata", "name")) for claim in as_list(each))


def job_specs(job: JobManifest) -> Iterator[SourceValue]:
    """Yield the spec of a Job, or those of the Jobs that a CronJob or a JobSet makes."""
    if job.kind == "Job":
        yield _at(job.source, "spec")
    elif job.kind == "CronJob":
        yield _at(job.source, "spec.jobTemplate.spec")
    elif job.kind == "JobSet":
        for part in items(_at(job.source, "spec.replicatedJobs")):
            yield _at(part, "template.spec")


def _at(source: SourceValue, path: str) -> SourceValue:
    return inside(source, *path_keys(path))


def _refuse(source: SourceValue, by: str, message: str) -> None:
    source.fault("refused", f"{by} refuses {message}")


# --- jobs -------------------------------------------------------------------------------------------------------------


def _check_job(spec: SourceValue) -> None:
    fields, by = as_mapping(spec.value), "the API server"
    is_open = fields.get("completions") is None and fields.get("parallelism") is not None  # without both, both are 1
    if is_open and fields.get("completionMode") == "Indexed":
        place = spec.child("completionMode", "Indexed")
        _refuse(place, by, "completionMode Indexed without completions; write completions")
    for key in ("backoffLimitPerIndex", "successPolicy") if fields.get("completionMode") != "Indexed" else ():
        if key in fields:
            _refuse(spec.child(key, None), by, f"{key} of a Job that is not Indexed; write completionMode: Indexed")
    selector, labels = fields.get("selector"), get_nested(spec.value, "template", "metadata", "labels")
    if selector is not None and fields.get("manualSelector") is True and not selects(selector, as_mapping(labels)):
        message = (
            "a selector that does not select the Job's own pods; write the same labels in template.metadata.labels"
        )
        _refuse(spec.child("selector", None), by, message)
    elif selector is not None and fields.get("manualSelector") is not True:
        _refuse(spec.child("selector", None), by, "a selector of a Job, which the API server writes itself; remove it")
    restarts = get_nested(spec.value, "template", "spec", "restartPolicy")
    if "podFailurePolicy" in fields and fields.get("podReplacementPolicy") not in (None, "Failed"):
        place = spec.child("podReplacementPolicy", None)
        _refuse(place, by, "another podReplacementPolicy than Failed with a podFailurePolicy; write Failed")
    for rule in items(_at(spec, "podFailurePolicy.rules")):
        if get_nested(rule.value, "action") == "FailIndex" and "backoffLimitPerIndex" not in fields:
            message = "the action FailIndex without backoffLimitPerIndex; write that too"
            _refuse(rule.child("action", "FailIndex"), by, message)
    if "podFailurePolicy" in fields and restarts not in (None, "Never"):
        place = spec.child("podFailurePolicy", None)
        _refuse(place, by, "a podFailurePolicy of pods that restart; write restartPolicy: Never")


def _check_job_set(job: JobManifest) -> None:
    names: list[str] = []
    listed = list(items(_at(job.source, "spec.replicatedJobs")))
    for part in listed:
        name = str(get_nested(part.value, "name"))
        if name in names:
            _refuse(part.child("name", name), "JobSet", f"two replicatedJobs named '{name}'; write another name")
        for other in items(_at(part, "dependsOn")):
            target = str(get_nested(other.value, "name"))
            if target not in names:
                _refuse(
                    other.child("name", target),
                    "JobSet",
                    f"the dependency on '{target}', which is no replicatedJob before '{name}'; write one of those",
                )
        names.append(name)
    targets = [*items(_at(job.source, "spec.successPolicy.targetReplicatedJobs"))]
    for rule in items(_at(job.source, "spec.failurePolicy.rules")):
        targets += items(_at(rule, "targetReplicatedJobs"))
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
    for group in items(_at(job.source, _RAY_GROUPS.get(job.kind, "spec.-"))):
        name = str(get_nested(group.value, "groupName"))
        if name in names:
            _refuse(group.child("groupName", name), "KubeRay", f"two worker groups named '{name}'; write another name")
        names.append(name)


def _check_service(job: JobManifest) -> None:
    """Report a Deployment or StatefulSet whose pods end, whose selector misses them, or whose rollout stands still."""
    if job.kind not in ("Deployment", "StatefulSet"):
        return
    by, template = "the API server", "spec.template.metadata.labels"
    restarts = _at(job.source, "spec.template.spec.restartPolicy")
    if restarts.value not in (None, "Always"):
        _refuse(restarts, by, f"restartPolicy {restarts.value} of a {job.kind}; remove it")
    deadline = _at(job.source, "spec.template.spec.activeDeadlineSeconds")
    if deadline.value is not None:
        _refuse(deadline, by, f"activeDeadlineSeconds of a {job.kind}; remove it")
    selector, labels = _at(job.source, "spec.selector"), as_mapping(_at(job.source, template).value)
    is_templated = isinstance(get_nested(job.source.value, "spec", "template"), dict)
    if is_templated and selector.value is not None and not selects(selector.value, labels):
        remedy = f"write the same labels in {template}" if selector.value else "write matchLabels"
        _refuse(selector, by, f"a selector that does not select the {job.kind}'s own pods; {remedy}")
    ready, late = (_at(job.source, f"spec.{each}") for each in ("minReadySeconds", "progressDeadlineSeconds"))
    seconds = 600 if late.value is None else late.value
    least = ready.value if isinstance(ready.value, int) else 0
    if job.kind == "Deployment" and isinstance(seconds, int) and seconds <= least:
        place = ready if late.value is None else late
        _refuse(place, by, f"a progressDeadlineSeconds of {seconds}, not above minReadySeconds; write more")
    _check_stateful(job.source)
    strategy = _at(job.source, "spec.strategy")
    rolling = get_nested(strategy.value, "rollingUpdate")
    if get_nested(strategy.value, "type") == "Recreate" and rolling is not None:
        _refuse(strategy.child("rollingUpdate", rolling), by, "rollingUpdate of type Recreate; remove it")
    elif all(get_nested(rolling, key) in (0, "0%") for key in ("maxSurge", "maxUnavailable")):
        message = "a rollout with maxSurge 0 and maxUnavailable 0; write 1 in one of them"
        _refuse(strategy.child("rollingUpdate", rolling), by, message)


def _check_stateful(source: SourceValue) -> None:
    """Report what is wrong in the claims and the updates of a StatefulSet."""
    by = "the API server"
    for index, claim in enumerate(as_list(_at(source, "spec.volumeClaimTemplates").value)):
        name = get_nested(claim, "metadata", "name")
        if not (isinstance(name, str) and is_dns_label(name)):
            place = _at(source, "spec.volumeClaimTemplates").child(index, claim)
            message = f"a claim named {describe_value(name)}; write metadata.name: lower-case letters, digits and '-'"
            _refuse(place.child("metadata", None), by, message)
        path = (*source.path, "spec", "volumeClaimTemplates", index)
        for place, code, message in claim_refusals(claim, path):
            source.problems.fault(code, place, message)
    update = _at(source, "spec.updateStrategy")
    if get_nested(update.value, "type") == "OnDelete" and get_nested(update.value, "rollingUpdate") is not None:
        _refuse(update.child("rollingUpdate", None), by, "rollingUpdate of type OnDelete; remove it")


def selects(selector: object, labels: Mapping[str, object]) -> bool:
    """Return whether a label selector selects pods with these labels; an empty one selects none here."""
    expressions = [as_mapping(each) for each in as_list(get_nested(selector, "matchExpressions"))]
    wanted = as_mapping(get_nested(selector, "matchLabels"))
    return (
        bool(wanted or expressions)
        and all(labels.get(key) == each for key, each in wanted.items())
        and all(_holds(each, labels) for each in expressions)
    )


def _holds(expression: Mapping[str, object], labels: Mapping[str, object]) -> bool:
    key, operator, values = str(expression.get("key")), expression.get("operator"), as_list(expression.get("values"))
    if operator in ("In", "NotIn"):
        return (labels.get(key) in values) == (operator == "In")
    return (key in labels) == (operator == "Exists")
