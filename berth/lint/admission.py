"""Checks of a job against the admission policies of its namespace that can refuse it at submission.

The rules are those of `berth.manifests.rules`, applied to a manifest before it is submitted. A policy that only warns
(`platform.policies`) is a warning here too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from berth.jobs.job_manifests import JobManifest
from berth.jobs.pod_groups import POD_GROUP
from berth.jobs.values import SourceValue, get_nested, inside, items
from berth.lint.fleet import LintContext, SubmittedJob
from berth.lint.queue_policies import (
    refused_as_uncounted,
    refused_in_shared_queue,
    refused_on_plain_machines,
    wrapped_objects,
)
from berth.lint.ray import uncounted_workers
from berth.lint.validity.jobs import job_specs
from berth.manifests.rules.affinity import EXCLUSIVE_TOPOLOGY
from berth.manifests.rules.deletion import FINALIZERS
from berth.manifests.rules.endings import CLEAN, KEPT_BY_RAY, KUBEFLOW
from berth.manifests.rules.growth import MAX_POD_SETS
from berth.manifests.rules.reserved import reserved_keys
from berth.manifests.rules.volumes import CSI_DRIVERS
from berth.manifests.rules.wrappers import COUNTED, RAY_JOB, SCALED, WITHOUT_PODS
from berth.manifests.workloads.values import as_list, as_mapping
from berth.names import TEAM_LABEL
from berth.plan.gke import CHECKPOINT_DRIVER, ClusterPlan
from berth.plan.policies import DEFAULT_MAX_GRACE, MOUNTED_BY_THE_NODE, PoliciesPlan
from berth.plan.teams import NamespacePlan, TeamPlan

_METADATA_NAME = "kubernetes.io/metadata.name"
_Refusal = tuple[SourceValue, str]
"""What a policy refuses, and the message: what is wrong; what to write."""


def check_admission(job: SubmittedJob) -> None:
    """Report what an admission policy of the job's namespace refuses."""
    plan = job.context.plan.policies
    team = next(each for each in job.context.plan.teams if each.name == job.local_queue.team)
    namespace = next((each for each in team.namespaces if each.name == job.local_queue.namespace), None)
    if plan is None or namespace is None:
        return
    checks: dict[str, Callable[[SubmittedJob, TeamPlan, NamespacePlan], Iterator[_Refusal]]] = {
        "jobs": _owners,
        "deletion": _finalizers,
        "endings": _endings,
        "grace": _grace,
        "reserved": _reserved,
        "affinity": _affinity,
        "growth": _counts,
        "machines": refused_on_plain_machines,
        "volumes": _volumes,
        "queues": refused_in_shared_queue,
        "wrappers": _wrapped,
    }
    for policy, check in checks.items():
        _report(plan, policy, check(job, team, namespace))


def _report(plan: PoliciesPlan, policy: str, refusals: Iterable[_Refusal]) -> None:
    until = plan.audited.get(policy)
    for source, message in refusals:
        if until is None:
            source.fault("policy", f"{message} (policy berth-{policy})")
        else:
            warning = f"{message} (policy berth-{policy}, which only warns until {until})"
            source.problems.warning("policy", source.path, warning)


def check_uncounted(context: LintContext, job: JobManifest) -> None:
    """Report what a policy refuses of the pods of an object that names no queue: Kueue does not count them."""
    plan = context.plan.policies
    owned = {each.name for team in context.plan.teams for each in team.namespaces if each.owned}
    if plan is None or job.namespace not in owned:
        return
    for pods in job.settings:
        for toleration in pods.tolerated:
            if (key := get_nested(toleration.value, "key")) in plan.accelerators:
                message = f"pods that Kueue does not count may not tolerate '{key}', the taint of accelerator machines"
                _report(plan, "tolerations", [(toleration, f"{message}; remove it, or submit a job to a queue")])


def _owners(job: SubmittedJob, team: TeamPlan, namespace: NamespacePlan) -> Iterator[_Refusal]:
    listed = get_nested(job.job.metadata.value, "ownerReferences")
    for index, owner in enumerate(as_list(listed)):
        if get_nested(owner, "controller") is True:
            message = (
                "an owner that is its controller hides the job from Kueue, and only controllers write it; remove it"
            )
            yield job.job.metadata.child("ownerReferences", listed).child(index, owner), message


def _finalizers(job: SubmittedJob, team: TeamPlan, namespace: NamespacePlan) -> Iterator[_Refusal]:
    for holder in (job.job.metadata, *(each.metadata for each in job.job.settings)):
        allowed = FINALIZERS if holder is job.job.metadata else ()
        for name in as_list(get_nested(holder.value, "finalizers")):
            if name not in allowed:
                message = f"the finalizer '{name}' keeps deleted pods on their machines; remove it"
                yield holder.child("finalizers", None), message


def _grace(job: SubmittedJob, team: TeamPlan, namespace: NamespacePlan) -> Iterator[_Refusal]:
    most = team.isolation.max_grace if namespace.owned else DEFAULT_MAX_GRACE
    if most is None:
        return
    for pods in job.job.settings:
        for source in pods.grace_periods:
            if isinstance(source.value, int) and source.value > most:
                message = f"{source.value} s is more than the longest grace period of team '{team.name}'"
                yield source, f"{message}; write at most {most}"


def _endings(job: SubmittedJob, team: TeamPlan, namespace: NamespacePlan) -> Iterator[_Refusal]:
    spec = job.job.source.child("spec", get_nested(job.job.source.value, "spec"))
    policy = spec.child("runPolicy", get_nested(spec.value, "runPolicy"))
    clean = get_nested(policy.value, "cleanPodPolicy")
    policies = job.context.plan.policies
    accelerators = policies.accelerators if policies is not None else ()
    uses = any(each.requests_any(accelerators) for each in job.job.settings)
    is_of_kubeflow = str(get_nested(job.job.source.value, "apiVersion")).startswith(f"{KUBEFLOW}/")
    if is_of_kubeflow and clean not in CLEAN and uses:
        source = spec if policy.value is None else policy if clean is None else policy.child("cleanPodPolicy", clean)
        yield source, "pods that still run outlive the job, uncounted; write runPolicy.cleanPodPolicy: Running"
    if job.job.kind != "RayJob":
        return
    most = team.isolation.max_grace if namespace.owned else DEFAULT_MAX_GRACE
    seconds = get_nested(spec.value, "ttlSecondsAfterFinished")
    if most is not None and isinstance(seconds, int) and seconds > most:
        message = f"the cluster outlives the job by {seconds} s, uncounted; write at most {most}"
        yield spec.child("ttlSecondsAfterFinished", seconds), message
    strategy = as_mapping(get_nested(spec.value, "deletionStrategy"))
    kept = [get_nested(strategy, outcome, "policy") in KEPT_BY_RAY for outcome in ("onSuccess", "onFailure")]
    if any(kept) or "deletionRules" in strategy:
        message = "pods of the cluster outlive the job, uncounted; write DeleteCluster, or remove deletionStrategy"
        yield spec.child("deletionStrategy", strategy), message


def _reserved(job: SubmittedJob, team: TeamPlan, namespace: NamespacePlan) -> Iterator[_Refusal]:
    for holder in (job.job.metadata, *(each.metadata for each in job.job.settings)):
        yield from _reserved_in(holder, job.job.kind)
    for field in ("labels", "annotations") if job.job.kind == "Pod" else ():
        if POD_GROUP in (written := as_mapping(get_nested(job.job.metadata.value, field))):
            source = job.job.metadata.child(field, written).child(POD_GROUP, written[POD_GROUP])
            why = "Kueue counts a group by what its pods say of themselves, so pods of people are refused in one"
            yield source, f"{why}; remove {POD_GROUP}, and submit a JobSet"


def _reserved_in(metadata: SourceValue, kind: str) -> Iterator[_Refusal]:
    for row in reserved_keys():
        written = as_mapping(get_nested(metadata.value, row["in"]))
        by_webhook = row["templates"].get(f"{kind.lower()}s")
        if row["key"] in written and written[row["key"]] != by_webhook:
            source = metadata.child(row["in"], written).child(row["key"], written[row["key"]])
            yield source, f"{row['key']} is written by controllers: it {row['effect']}; remove it"


def _affinity(job: SubmittedJob, team: TeamPlan, namespace: NamespacePlan) -> Iterator[_Refusal]:
    own = {each.name for each in team.namespaces}
    for pods in job.job.settings:
        for field in ("podAffinity", "podAntiAffinity"):
            for term in pods.pod_terms(field):
                if not _is_own(term, own, team.name):
                    message = f"{field} reaches pods of other teams; remove namespaces and namespaceSelector"
                    yield pods.field("affinity", field), message
    yield from _exclusive_topology(job)


def _exclusive_topology(job: SubmittedJob) -> Iterator[_Refusal]:
    policies = job.context.plan.policies
    exclusive = policies.exclusive if policies is not None else ()
    parts = items(inside(job.job.source, "spec", "replicatedJobs")) if job.job.kind == "JobSet" else []
    for part, pods in zip(parts, job.job.settings, strict=False):
        for holder in (job.job.metadata, inside(part, "template", "metadata")):
            annotations = as_mapping(get_nested(holder.value, "annotations"))
            if EXCLUSIVE_TOPOLOGY in annotations:
                key = annotations[EXCLUSIVE_TOPOLOGY]
                known = sorted({each.key for each in exclusive if pods.requests_any((each.resource,))})
                if key not in known:
                    message = "exclusive topology is for pods with accelerators, in slices, NVLink domains and nodes"
                    remedy = f"write it at replicatedJobs with accelerators, as one of {', '.join(known)}"
                    if not known:
                        remedy = "write it at replicatedJobs whose pods request accelerators"
                    yield (
                        holder.child("annotations", annotations).child(EXCLUSIVE_TOPOLOGY, key),
                        f"{message}; {remedy}",
                    )


def _is_own(term: object, namespaces: set[str], team: str) -> bool:
    selector = get_nested(term, "namespaceSelector")
    named = all(name in namespaces for name in as_list(get_nested(term, "namespaces")))
    labels = as_mapping(get_nested(selector, "matchLabels"))
    selects_own = labels.get(TEAM_LABEL) == team or labels.get(_METADATA_NAME) in namespaces
    return named and (selector is None or selects_own)


def _counts(job: SubmittedJob, team: TeamPlan, namespace: NamespacePlan) -> Iterator[_Refusal]:
    for spec in job_specs(job.job):
        pods, completions = (get_nested(spec.value, key) for key in ("parallelism", "completions"))
        if isinstance(pods, int) and isinstance(completions, int) and pods > completions:
            message = f"'{pods}' is above completions, which Kueue counts; write at most {completions}"
            yield spec.child("parallelism", pods), message
    jobs = as_list(get_nested(job.job.source.value, "spec", "replicatedJobs"))
    if job.job.kind == "JobSet" and len(jobs) > MAX_POD_SETS:
        message = f"{len(jobs)} replicatedJobs are more than the {MAX_POD_SETS} pod sets of a Workload, so Kueue never "
        source = job.job.source.child("spec", None).child("replicatedJobs", jobs)
        yield source, f"{message}admits the job; write at most {MAX_POD_SETS}, with more replicas"
    elastic = get_nested(job.job.source.value, "spec", "elasticPolicy")
    if job.job.kind == "PyTorchJob" and (metrics := as_list(get_nested(elastic, "metrics"))):
        source = job.job.source.child("spec", None).child("elasticPolicy", elastic).child("metrics", metrics)
        yield source, "its operator makes an autoscaler, by which pods start that Kueue did not admit; remove metrics"
    yield from uncounted_workers(job.job.source, counts_hosts=True)
    for pods in job.job.settings:
        of_pod = as_mapping(pods.field("resources", "requests").value)
        for container in pods.containers:
            for name in as_mapping(container.requests.value):
                if name in of_pod:
                    message = f"{name} is requested by the pod and by a container, of which Kueue counts the pod's"
                    yield inside(container.source, "resources"), f"{message}; write it at one of them"


def _wrapped(job: SubmittedJob, team: TeamPlan, namespace: NamespacePlan) -> Iterator[_Refusal]:
    yield from refused_as_uncounted(job, namespace)
    counted = (*COUNTED, *(() if namespace.serving else SCALED))
    for wrapped, kind in wrapped_objects(job):
        if kind not in (*counted, *WITHOUT_PODS):
            message = f"an AppWrapper does not count the pods of {kind}; submit it itself, or wrap one of "
            yield wrapped.child("kind", get_nested(wrapped.value, "kind")), message + ", ".join(counted)
        metadata = inside(wrapped, "metadata")
        for field in ("finalizers", "ownerReferences"):
            if listed := get_nested(metadata.value, field):
                yield metadata.child(field, listed), f"{field} keep a deleted component and its pods; remove them"
        spec = wrapped.child("spec", get_nested(wrapped.value, "spec"))
        for holder in (spec, spec.child("rayClusterSpec", get_nested(spec.value, "rayClusterSpec"))):
            if get_nested(holder.value, "enableInTreeAutoscaling") is True:
                message = "an AppWrapper counts neither Ray's autoscaler nor the pods that it adds; remove it"
                yield holder.child("enableInTreeAutoscaling", True), message
        if kind == RAY_JOB and "submitterPodTemplate" in as_mapping(spec.value):
            message = (
                "an AppWrapper does not count the pod that submits a RayJob; remove it, or submit the RayJob itself"
            )
            yield spec.child("submitterPodTemplate", None), message
        yield from _reserved_in(metadata, kind)
        yield from uncounted_workers(wrapped, counts_hosts=False)


def _volumes(job: SubmittedJob, team: TeamPlan, namespace: NamespacePlan) -> Iterator[_Refusal]:
    if not namespace.owned or team.isolation.pod_security == "privileged":
        return
    allowed, policies = team.settings.volume_types, job.context.plan.policies
    drivers = {*CSI_DRIVERS, *allowed, *(() if policies is None else policies.csi_drivers)}
    if isinstance(job.context.plan.cluster, ClusterPlan):
        drivers.add(CHECKPOINT_DRIVER)  # without the driver, the volume has a fault already
    for pods in job.job.settings:
        for volume in pods.volumes:
            driver = get_nested(volume.value, "csi", "driver")
            refused = [name for name in MOUNTED_BY_THE_NODE if name in as_mapping(volume.value) and name not in allowed]
            if driver is not None and driver not in drivers:
                refused.append(str(driver))
            for name in refused:
                message = f"an inline volume of {name} is mounted by the node, beside the network policy"
                remedy = "write a persistentVolumeClaim, or have the platform's owners write volumeTypes"
                yield volume, f"{message}; {remedy}"
