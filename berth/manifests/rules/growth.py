"""Policy `berth-growth`: a job that runs grows only through Kueue.

Kueue suspends a job that has more pods than it admitted, but the job's controller starts them first. An elastic job has
Kueue admit the additional pods (Kueue docs: "Elastic Workloads"). With `parallelism` above `completions`, releases
before 0.19.6 count fewer pods than may run, and with requests of a whole pod those of its containers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from berth.manifests.policy_rules import Rule, Variable, list_field
from berth.manifests.rules.admission import (
    HAS_NEW_TEMPLATES,
    IS_CONTROLLER,
    PEOPLE,
    REPLICA_SPECS,
    TEMPLATES,
    AdmissionPolicy,
    Requests,
    keys,
    requests_of,
    templates,
)
from berth.manifests.rules.jobs import suspended
from berth.manifests.serving.rules import KINDS

ELASTIC: Final = "kueue.x-k8s.io/elastic-job"
"""Annotation of a job whose additional pods Kueue admits, with the feature gate ElasticJobsViaWorkloadSlices."""
MAX_POD_SETS: Final = 18
"""Maximum of pod sets of a Workload (Kueue 0.19.2, CRD workloads, spec.podSets)."""


def worker_groups(holder: str) -> str:
    """Return an expression for the worker groups of a Ray object."""
    spec = f"dyn({holder}).spec"
    inner = "".join(
        f"has({spec}.{field}) ? {list_field(f'{spec}.{field}', 'workerGroupSpecs')} : "
        for field in ("rayClusterSpec", "rayClusterConfig")
    )
    return f"({inner}{list_field(spec, 'workerGroupSpecs')})"


def replicas(holder: str) -> str:
    """Return an expression for the replicas of a group or a role, 1 without the field."""
    return f"(has({holder}.replicas) ? {holder}.replicas : 1)"


def hosts(group: str) -> str:
    """Return an expression for the hosts of each replica of a Ray group."""
    return f"(has({group}.numOfHosts) ? {group}.numOfHosts : 1)"


def _no_role_grows() -> str:
    """Return an expression for whether no role of a Kubeflow job gets more replicas."""
    old, new = "dyn(oldObject).spec", "dyn(object).spec"
    return " && ".join(
        f"(!has({new}.{field}) || {new}.{field}.all(k, has({old}.{field}) && k in {old}.{field} && "
        f"{replicas(f'{new}.{field}[k]')} <= {replicas(f'{old}.{field}[k]')}))"
        for field in REPLICA_SPECS
    )


def _is_one_gate_less() -> str:
    """Return an expression for whether fewer pod templates of a request have the gate of an elastic job than before."""
    gated = f"t, {list_field('t.spec', 'schedulingGates')}.exists(g, g.name == '{ELASTIC}')"
    before = f"({templates('oldObject')}).filter({gated}).size()"
    return f"variables.templates.filter({gated}).size() < {before}"


def _is_one_cluster() -> str:
    """Return an expression for whether a RayService keeps its cluster: KubeRay starts another for other pods."""
    old, new = "dyn(oldObject).spec.rayClusterConfig", "dyn(object).spec.rayClusterConfig"
    parameters = "(has({0}.rayStartParams) ? {0}.rayStartParams : {{}})"
    return (
        f"{old}.headGroupSpec == {new}.headGroupSpec && "
        f"(has({old}.rayVersion) ? {old}.rayVersion : '') == (has({new}.rayVersion) ? {new}.rayVersion : '') && "
        f"{list_field(new, 'workerGroupSpecs')}.all(g, {list_field(old, 'workerGroupSpecs')}.exists(o, "
        f"o.groupName == g.groupName && o.template == g.template && "
        f"{parameters.format('o')} == {parameters.format('g')}))"
    )


_POD_LEVEL: Final = "has(t.spec.resources) && has(t.spec.resources.requests)"
_CONTAINERS: Final = f"(t.spec.containers + {list_field('t.spec', 'initContainers')})"

_VARIABLES: Final[tuple[Variable, ...]] = (
    IS_CONTROLLER,
    ("isScaler", "request.resource.resource == 'horizontalpodautoscalers'"),
    (TEMPLATES[0], f"variables.isScaler ? [] : ({TEMPLATES[1]})"),
    HAS_NEW_TEMPLATES,
    ("isRunning", f"request.operation == 'UPDATE' && !variables.isScaler && !({suspended('oldObject')})"),
    (
        "isElastic",
        f"!variables.isScaler && '{ELASTIC}' in {keys('object', 'annotations')} && "
        f"object.metadata.annotations['{ELASTIC}'] == 'true'",
    ),
)

_GROWS: Final = (
    "Kueue admitted fewer pods, and a job that runs grows only through Kueue; write the annotation "
    f'{ELASTIC}: "true" when you create the job, or submit another job'
)

_SCALES: Final = (
    "has(dyn({0}).spec.elasticPolicy) && has(dyn({0}).spec.elasticPolicy.metrics) && "
    "dyn({0}).spec.elasticPolicy.metrics.size() > 0"
)
"""Whether the operator of a PyTorchJob makes an autoscaler (Training Operator 1.9.3, pkg/controller.v1/pytorch)."""

_CONCERN: Final = (
    "request.operation != 'CREATE' || request.resource.group != 'batch' || "
    "has(dyn(object).spec.template.spec.resources) || (has(dyn(object).spec.parallelism) && "
    "has(dyn(object).spec.completions) && dyn(object).spec.parallelism > dyn(object).spec.completions)"
)


def _rules(*, elastic: bool) -> tuple[Rule, ...]:
    exempt = "!variables.isRunning" + (" || variables.isElastic" if elastic else "") + " || variables.isController"
    message = _GROWS if elastic else "Kueue admitted fewer pods; submit another job for more"
    kinds = sorted(kind for names in KINDS.values() for kind in names)
    named = {"deployments": "Deployment", "leaderworkersets": "LeaderWorkerSet", "statefulsets": "StatefulSet"}
    return (
        (
            f"request.resource.resource != 'jobs' || {exempt} || !has(dyn(object).spec.parallelism) || "
            "(has(dyn(oldObject).spec.parallelism) && "
            "dyn(object).spec.parallelism <= dyn(oldObject).spec.parallelism)",
            message,
        ),
        (
            f"request.resource.group != 'ray.io' || {exempt} || {worker_groups('object')}.all(g, "
            f"{worker_groups('oldObject')}.exists(o, o.groupName == g.groupName && {replicas('g')} <= "
            f"{replicas('o')} && {hosts('g')} <= {hosts('o')}))",
            message,
        ),
        (
            "!(request.resource.group in ['ray.io', 'kubeflow.org']) || !variables.isRunning || variables.isController "
            "|| !variables.hasNewTemplates",
            "a pod that this job starts later would have the new template, and Kueue admitted pods of the old one; "
            "keep the pod templates of a job that runs, or submit another job",
        ),
        (
            f"request.resource.group != 'ray.io' || variables.isController || {worker_groups('object')}.all(g, "
            f"!has(g.minReplicas) || g.minReplicas <= {replicas('g')})",
            "KubeRay starts at least minReplicas pods, and Kueue counts replicas; write replicas of at least "
            "minReplicas",
        ),
        (
            "request.resource.resource != 'rayservices' || !variables.isRunning || variables.isController || "
            f"({_is_one_cluster()})",
            "while a RayService is updated, KubeRay runs a second cluster that Kueue does not count; create a new "
            "RayService instead",
        ),
        (
            "!variables.isElastic || request.operation == 'CREATE' || variables.isController || "
            f"!({_is_one_gate_less()})",
            f"without the scheduling gate {ELASTIC} additional pods start before Kueue admits them; keep "
            "schedulingGates in the pod templates",
        ),
        (f"request.resource.group != 'kubeflow.org' || {exempt} || ({_no_role_grows()})", message),
        (
            "request.resource.resource != 'jobs' || !has(dyn(object).spec.parallelism) || "
            "!has(dyn(object).spec.completions) || dyn(object).spec.parallelism <= dyn(object).spec.completions || "
            "(request.operation == 'UPDATE' && dyn(object).spec == dyn(oldObject).spec)",
            "parallelism above completions starts pods that Kueue does not count; write at most completions",
        ),
        (
            "request.resource.resource != 'jobsets' || dyn(object).spec.replicatedJobs.all(r, "
            "!has(r.template.spec.parallelism) || !has(r.template.spec.completions) || "
            "r.template.spec.parallelism <= r.template.spec.completions)",
            "parallelism of a job in this JobSet is above its completions, which starts pods that Kueue does not "
            "count; write at most completions",
        ),
        (
            f"request.resource.resource != 'jobsets' || dyn(object).spec.replicatedJobs.size() <= {MAX_POD_SETS}",
            f"a Workload of Kueue has at most {MAX_POD_SETS} pod sets, so Kueue never admits this JobSet; write at "
            f"most {MAX_POD_SETS} replicatedJobs, with more replicas",
        ),
        (
            f"!variables.hasNewTemplates || variables.templates.all(t, !({_POD_LEVEL}) || "
            f"t.spec.resources.requests.all(r, {_CONTAINERS}.all(c, !has(c.resources) || "
            "!has(c.resources.requests) || !(r in c.resources.requests))))",
            "Kueue counts the requests of the pod and not those of its containers, which may be more; write requests "
            "of the pod and of its containers for different resources",
        ),
        (
            # Of controllers too: its operator makes the autoscaler.
            f"request.resource.resource != 'pytorchjobs' || !({_SCALES.format('object')}) || (request.operation == "
            f"'UPDATE' && ({_SCALES.format('oldObject')}))",
            "its operator makes an autoscaler, by which pods start that Kueue did not admit; remove "
            "elasticPolicy.metrics",
        ),
        (
            "variables.isController || !variables.isScaler || "
            f"dyn(object).spec.scaleTargetRef.kind in {[named[kind] for kind in kinds]}",
            "an autoscaler of this kind starts pods that Kueue does not count; scale a Deployment, a StatefulSet or a "
            "LeaderWorkerSet",
        ),
    )


def growth_policy(job_kinds: Mapping[str, Sequence[str]], *, elastic: bool) -> AdmissionPolicy:
    """Return the policy for the kinds that Kueue queues; `elastic` if Kueue admits pods of jobs that grow."""
    return AdmissionPolicy(
        name="growth",
        refuses=(
            "more pods of a job that runs, unless it is elastic; other pods of a job of Ray or Kubeflow that runs; "
            "`parallelism` above `completions`, and Ray's `minReplicas` above `replicas`; requests of a pod and of "
            f"its containers for one resource; JobSets of more than {MAX_POD_SETS} jobs, which Kueue never admits; "
            "autoscalers of jobs, also by a PyTorchJob's `elasticPolicy`"
        ),
        applies_to=PEOPLE,
        breaks="raising `parallelism` of a job that runs: an elastic job, or another job",
        requests=(*requests_of(job_kinds), Requests("autoscaling", ("horizontalpodautoscalers",))),
        variables=_VARIABLES,
        rules=_rules(elastic=elastic),
        concern=_CONCERN,
    )
