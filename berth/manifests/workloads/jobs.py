"""Jobs, JobSets, ProvisioningRequests and services that Kueue queues, as plain dicts.

Jobs are created suspended: Kueue resumes them. It gates the pods of services. Field names: batch/v1, JobSet 0.12
(`api/jobset/v1alpha2`), the cluster autoscaler's ProvisioningRequest v1, LeaderWorkerSet 0.9.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from berth.manifests.workloads.pods import (
    Manifest,
    channel_template,
    optional,
    pod_template,
    queued_object,
    unqueued_object,
)
from berth.manifests.workloads.values import as_mapping
from berth.names import TEAM_LABEL
from berth.plan.workloads import (
    DeploymentPlan,
    JobPlan,
    JobSetPlan,
    LeaderWorkerSetPlan,
    PodPlan,
    ProvisioningRequestPlan,
    SubmissionPlan,
)

EXCLUSIVE_TOPOLOGY: Final = "alpha.jobset.sigs.k8s.io/exclusive-topology"


def job(plan: JobPlan) -> Manifest:
    """Render a Job whose pods all run together; a pod that is evicted from its node does not count as failed."""
    indexed = plan.pods > 1
    template = pod_template(plan.submission, plan.pod, subdomain=plan.submission.name if indexed else None)
    spec: Manifest = {
        "suspend": True,
        "parallelism": plan.pods,
        "completions": plan.pods,
        **({"completionMode": "Indexed"} if indexed else {}),
        **optional("backoffLimit", plan.backoff_limit),
        **(_on_disruptions("Ignore") if _never_restarts(template) else {}),
        "template": template,
    }
    return queued_object("batch/v1", "Job", plan.submission) | {"spec": spec}


def _on_disruptions(action: str) -> Manifest:
    """Return a pod failure policy for pods that are evicted from their node."""
    return {"podFailurePolicy": {"rules": [{"action": action, "onPodConditions": [{"type": "DisruptionTarget"}]}]}}


def _never_restarts(template: Manifest) -> bool:
    """Whether the restart policy is Never, without which Kubernetes accepts no pod failure policy."""
    return as_mapping(template["spec"]).get("restartPolicy") == "Never"


_RESTART_UNCOUNTED: Final[Manifest] = {
    "name": "disruption",
    "action": "RestartJobSetAndIgnoreMaxRestarts",
    "onJobFailureReasons": ["PodFailurePolicy"],
}
"""A child job that its pod failure policy failed: the set starts again, and the restart does not count."""


def job_set(plan: JobSetPlan) -> Manifest:
    """Render a JobSet; its pods resolve each other through a service that JobSet creates.

    The eviction of a pod from its node (maintenance, preemption of spot machines) restarts the set, and does not count
    as one of its restarts (JobSet's KEP-262).
    """
    pods = pod_template(plan.submission, plan.pod)
    is_counted = not _never_restarts(pods)
    template = {
        "parallelism": plan.pods,
        "completions": plan.pods,
        "backoffLimit": 0,
        **({} if is_counted else _on_disruptions("FailJob")),
        "template": pods,
    }
    replicated = {"name": plan.replicated_job, "replicas": plan.replicas, "template": {"spec": template}}
    spec: Manifest = {
        "suspend": True,
        "failurePolicy": {
            "maxRestarts": plan.max_restarts,
            **optional("restartStrategy", plan.restart_strategy),
            **optional("rules", None if is_counted else [dict(_RESTART_UNCOUNTED)]),
        },
        "replicatedJobs": [replicated],
    }
    exclusive = {EXCLUSIVE_TOPOLOGY: plan.exclusive_topology} if plan.exclusive_topology else {}
    return queued_object("jobset.x-k8s.io/v1alpha2", "JobSet", plan.submission, exclusive) | {"spec": spec}


def provisioning_request(plan: ProvisioningRequestPlan) -> Manifest:
    """Render a ProvisioningRequest, which is immutable."""
    spec: Manifest = {
        "provisioningClassName": plan.class_name,
        "podSets": [{"podTemplateRef": {"name": plan.name}, "count": plan.pods}],
    }
    if plan.parameters:
        spec["parameters"] = dict(plan.parameters)
    return unqueued_object("autoscaling.x-k8s.io/v1", "ProvisioningRequest", plan) | {"spec": spec}


def requested_pod_template(plan: ProvisioningRequestPlan) -> Manifest:
    """Render the pod template that the requested nodes must be able to run."""
    return unqueued_object("v1", "PodTemplate", plan) | {"template": _unqueued_template(plan, plan.pod)}


def consuming_job(plan: ProvisioningRequestPlan) -> Manifest:
    """Render a Job without a queue whose pods use the machines of a request."""
    pod = replace(plan.pod, annotations={**plan.pod.annotations, **plan.consuming_annotations})
    spec = {"parallelism": plan.pods, "completions": plan.pods, "template": _unqueued_template(plan, pod)}
    return unqueued_object("batch/v1", "Job", plan) | {"spec": spec}


def _unqueued_template(plan: ProvisioningRequestPlan, pod: PodPlan) -> Manifest:
    submission = SubmissionPlan(name=plan.name, namespace=plan.namespace, team=plan.team, queue="")
    return pod_template(submission, pod)


def compute_domain(plan: SubmissionPlan, nodes: int) -> Manifest:
    """Render the ComputeDomain of a job, from which NVIDIA's DRA driver makes the template that its pods claim by."""
    spec = {"numNodes": nodes, "channel": {"resourceClaimTemplate": {"name": channel_template(plan)}}}
    metadata = {"name": plan.name, "namespace": plan.namespace, "labels": {TEAM_LABEL: plan.team}}
    return {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "ComputeDomain", "metadata": metadata, "spec": spec}


def headless_service(plan: SubmissionPlan) -> Manifest:
    """Render a service with DNS names of an Indexed Job's pods, `<job>-<index>.<job>`, before they are ready."""
    metadata = {"name": plan.name, "namespace": plan.namespace, "labels": {TEAM_LABEL: plan.team}}
    spec = {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": {"batch.kubernetes.io/job-name": plan.name},
    }
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


LEADER_WORKER_SET_API: Final = "leaderworkerset.x-k8s.io/v1"
GROUP_TOPOLOGY: Final = "leaderworkerset.sigs.k8s.io/exclusive-topology"
STOP_FIRST: Final[Manifest] = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
"""A strategy that stops a pod before it starts another."""


def deployment(plan: DeploymentPlan) -> Manifest:
    """Render a Deployment; each of its pods is a workload of its own, and has the annotations of one."""
    labels: dict[str, str] = {"app.kubernetes.io/name": plan.submission.name}
    pod = replace(plan.pod, annotations={**plan.submission.annotations, **plan.pod.annotations})
    spec: Manifest = {
        "replicas": plan.replicas,
        "selector": {"matchLabels": labels},
        **({"strategy": STOP_FIRST} if plan.stops_first else {}),
        "template": pod_template(plan.submission, pod, labels=labels),
    }
    return queued_object("apps/v1", "Deployment", replace(plan.submission, annotations={})) | {"spec": spec}


def leader_worker_set(plan: LeaderWorkerSetPlan) -> Manifest:
    """Render a LeaderWorkerSet; the first pod of each group is its leader and has an accelerator like the others."""
    template: Manifest = {
        "size": plan.size,
        "restartPolicy": "RecreateGroupOnPodRestart",
        "workerTemplate": pod_template(plan.submission, plan.pod),
    }
    spec: Manifest = {"replicas": plan.groups, "leaderWorkerTemplate": template}
    exclusive = {GROUP_TOPOLOGY: plan.exclusive_topology} if plan.exclusive_topology else {}
    return queued_object(LEADER_WORKER_SET_API, "LeaderWorkerSet", plan.submission, exclusive) | {"spec": spec}
