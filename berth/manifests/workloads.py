"""What a team submits, as plain dicts: Jobs, JobSets, PyTorchJobs, ProvisioningRequests, and the files they read.

Field names: batch/v1, JobSet 0.12 (`api/jobset/v1alpha2`), Kubeflow's training operator 1.9 (`kubeflow.org/v1`), the
cluster autoscaler's ProvisioningRequest v1. Everything is suspended when it is made: Kueue resumes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from berth.manifests import tenancy
from berth.manifests.kueue import toleration
from berth.manifests.quantities import quantity
from berth.names import MAX_LABEL, TEAM_LABEL, shorten
from berth.plan.team_stack import ConfigPlan, SecretsPlan, TeamStackPlan
from berth.plan.workloads import (
    JobPlan,
    JobSetPlan,
    PodPlan,
    ProvisioningRequestPlan,
    PyTorchJobPlan,
    SubmissionPlan,
    WorkloadPlan,
)

Manifest = dict[str, object]

JOB_API: Final = "batch/v1"
JOB_SET_API: Final = "jobset.x-k8s.io/v1alpha2"
PYTORCH_JOB_API: Final = "kubeflow.org/v1"
PROVISIONING_API: Final = "autoscaling.x-k8s.io/v1"

QUEUE_NAME_LABEL: Final = "kueue.x-k8s.io/queue-name"
PRIORITY_CLASS_LABEL: Final = "kueue.x-k8s.io/priority-class"
CONFIG_FOLDER: Final = "/etc/config"
SECRETS_FOLDER: Final = "/var/secrets"
"""Where pods find the files of a ConfigMap, and of secrets, in a folder of its name."""
EXCLUSIVE_TOPOLOGY: Final = "alpha.jobset.sigs.k8s.io/exclusive-topology"

_MAIN: Final = "main"
_PYTORCH: Final = "pytorch"
"""The name that the training operator looks for among a pod's containers."""


def workload_manifests(plan: WorkloadPlan) -> list[Manifest]:
    """The objects of a workload, in the order in which they may be applied."""
    if isinstance(plan, JobPlan):
        return [*([_headless_service(plan.submission)] if plan.pods > 1 else []), job(plan)]
    if isinstance(plan, JobSetPlan):
        return [job_set(plan)]
    if isinstance(plan, PyTorchJobPlan):
        return [pytorch_job(plan)]
    return [pod_template(plan), provisioning_request(plan)]


def team_stack_manifests(plan: TeamStackPlan) -> Iterator[Manifest]:
    """Everything of a team's stack, in the order in which it may be applied: what pods read comes first."""
    for each in plan.configs:
        yield config_map(each, plan)
    for each in plan.secrets:
        yield secret_provider_class(each, plan)
    for workload in plan.workloads.values():
        yield from workload_manifests(workload)


def config_map(config: ConfigPlan, plan: TeamStackPlan) -> Manifest:
    """Files that pods of the team read."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": config.name, "namespace": plan.namespace, "labels": dict(plan.labels)},
        "data": dict(sorted(config.files.items())),
    }


def secret_provider_class(secrets: SecretsPlan, plan: TeamStackPlan) -> Manifest:
    """Which secrets of Secret Manager a volume of that name holds."""
    metadata: Manifest = {"name": secrets.name, "namespace": plan.namespace, "labels": dict(plan.labels)}
    return tenancy.secret_provider_class(metadata, secrets.secrets)


def job(plan: JobPlan) -> Manifest:
    """A Job whose pods all run at once; a pod that was pushed off its node does not count as failed."""
    indexed = plan.pods > 1
    spec: Manifest = {
        "suspend": True,
        "parallelism": plan.pods,
        "completions": plan.pods,
        **({"completionMode": "Indexed"} if indexed else {}),
        **_optional("backoffLimit", plan.backoff_limit),
        **(_IGNORE_DISRUPTIONS if plan.pod.restart_policy == "Never" else {}),
        "template": _template(plan.submission, plan.pod, subdomain=plan.submission.name if indexed else None),
    }
    return _queued_object(JOB_API, "Job", plan.submission) | {"spec": spec}


_IGNORE_DISRUPTIONS: Final[Manifest] = {
    "podFailurePolicy": {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}
}
"""Kubernetes takes it only together with the restart policy Never."""


def job_set(plan: JobSetPlan) -> Manifest:
    """A JobSet; its pods find each other by a service that JobSet makes itself."""
    template = {
        "parallelism": plan.pods,
        "completions": plan.pods,
        "backoffLimit": 0,
        "template": _template(plan.submission, plan.pod),
    }
    replicated = {"name": plan.replicated_job, "replicas": plan.replicas, "template": {"spec": template}}
    spec: Manifest = {
        "suspend": True,
        "failurePolicy": {"maxRestarts": plan.max_restarts, **_optional("restartStrategy", plan.restart_strategy)},
        "replicatedJobs": [replicated],
    }
    exclusive = {EXCLUSIVE_TOPOLOGY: plan.exclusive_topology} if plan.exclusive_topology else {}
    return _queued_object(JOB_SET_API, "JobSet", plan.submission, exclusive) | {"spec": spec}


def pytorch_job(plan: PyTorchJobPlan) -> Manifest:
    """A PyTorchJob; a job of one pod has a master alone."""
    roles = {"Master": 1, "Worker": plan.workers}
    replicas = {
        role: {
            "replicas": number,
            **_optional("restartPolicy", plan.pod.restart_policy),
            "template": _template(plan.submission, plan.pod, container=_PYTORCH, with_restart_policy=False),
        }
        for role, number in roles.items()
        if number
    }
    policy = {"suspend": True, **_optional("backoffLimit", plan.backoff_limit)}
    spec: Manifest = {"runPolicy": policy, "pytorchReplicaSpecs": replicas}
    return _queued_object(PYTORCH_JOB_API, "PyTorchJob", plan.submission) | {"spec": spec}


def provisioning_request(plan: ProvisioningRequestPlan) -> Manifest:
    """The request; nothing of it can be changed once it is made."""
    spec: Manifest = {
        "provisioningClassName": plan.class_name,
        "podSets": [{"podTemplateRef": {"name": plan.name}, "count": plan.pods}],
    }
    if plan.parameters:
        spec["parameters"] = dict(plan.parameters)
    return _object(PROVISIONING_API, "ProvisioningRequest", plan) | {"spec": spec}


def pod_template(plan: ProvisioningRequestPlan) -> Manifest:
    """What the requested nodes must be able to run."""
    template = {"metadata": {"labels": {TEAM_LABEL: plan.team}}, "spec": _pod_spec(plan.pod, None, _MAIN)}
    return _object("v1", "PodTemplate", plan) | {"template": template}


# --- parts ------------------------------------------------------------------------------------------------------------


def _object(api_version: str, kind: str, plan: SubmissionPlan | ProvisioningRequestPlan) -> Manifest:
    metadata = {"name": plan.name, "namespace": plan.namespace, "labels": {TEAM_LABEL: plan.team}}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _queued_object(
    api_version: str, kind: str, plan: SubmissionPlan, extra_annotations: dict[str, str] | None = None
) -> Manifest:
    """An object that Kueue queues: it reads labels of the object itself, never those of the pods."""
    priority = {} if plan.priority is None else {PRIORITY_CLASS_LABEL: plan.priority}
    metadata: Manifest = {
        "name": plan.name,
        "namespace": plan.namespace,
        "labels": {TEAM_LABEL: plan.team, QUEUE_NAME_LABEL: plan.queue, **priority},
    }
    if annotations := {**plan.annotations, **(extra_annotations or {})}:
        metadata["annotations"] = annotations
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _headless_service(plan: SubmissionPlan) -> Manifest:
    """Names for the pods of an Indexed Job, `<job>-<index>.<job>`, also before they are ready."""
    metadata = {"name": plan.name, "namespace": plan.namespace, "labels": {TEAM_LABEL: plan.team}}
    spec = {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": {"batch.kubernetes.io/job-name": plan.name},
    }
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def _template(
    submission: SubmissionPlan,
    pod: PodPlan,
    *,
    container: str = _MAIN,
    subdomain: str | None = None,
    with_restart_policy: bool = True,
) -> Manifest:
    """A pod template. The PyTorchJob says `restarts` elsewhere."""
    spec = {**_optional("subdomain", subdomain), **_pod_spec(pod, submission.priority, container)}
    if not with_restart_policy:
        spec.pop("restartPolicy", None)
    metadata: Manifest = {"labels": {TEAM_LABEL: submission.team}}
    if pod.annotations:
        metadata["annotations"] = dict(pod.annotations)
    return {"metadata": metadata, "spec": spec}


def _pod_spec(plan: PodPlan, priority: str | None, container: str) -> Manifest:
    network: Manifest = {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"} if plan.host_network else {}
    spec: Manifest = {
        **network,
        **_optional("restartPolicy", plan.restart_policy),
        **_optional("priorityClassName", priority),
        **_optional("serviceAccountName", plan.service_account),
    }
    if plan.node_selector:
        spec["nodeSelector"] = dict(plan.node_selector)
    if plan.tolerations:
        spec["tolerations"] = [toleration(each) for each in plan.tolerations]
    volumes = {"volumes": list(_volumes(plan).values())} if _volumes(plan) else {}
    return spec | {"containers": [_container(plan, container)]} | volumes


def _volumes(plan: PodPlan) -> dict[str, Manifest]:
    """Mount path to volume, of the ConfigMaps and the secrets that the pod sees as folders."""
    configs: dict[str, Manifest] = {
        f"{CONFIG_FOLDER}/{name}": {"name": shorten(f"config-{name}", MAX_LABEL), "configMap": {"name": name}}
        for name in plan.configs
    }
    secrets: dict[str, Manifest] = {
        f"{SECRETS_FOLDER}/{name}": {
            "name": shorten(f"secrets-{name}", MAX_LABEL),
            "csi": {
                "driver": "secrets-store-gke.csi.k8s.io",
                "readOnly": True,
                "volumeAttributes": {"secretProviderClass": name},
            },
        }
        for name in plan.secrets
    }
    return {**configs, **secrets}


def _container(plan: PodPlan, name: str) -> Manifest:
    amounts = {resource: quantity(resource, number) for resource, number in plan.resources.items()}
    container: Manifest = {"name": name, "image": plan.image}
    if volumes := _volumes(plan):
        container["volumeMounts"] = [
            {"name": volume["name"], "mountPath": path, "readOnly": True} for path, volume in volumes.items()
        ]
    if plan.command:
        container["command"] = list(plan.command)
    if plan.ports:
        container["ports"] = [{"containerPort": port} for port in plan.ports]
    return container | {"resources": {"requests": dict(amounts), "limits": dict(amounts)}}


def _optional(key: str, value: object) -> Manifest:
    return {} if value is None else {key: value}
