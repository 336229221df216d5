"""Services that Kueue queues, as plain dicts: Deployment and LeaderWorkerSet (0.9). Kueue gates their pods."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from berth.manifests.workloads.metadata import Manifest, queued_object
from berth.manifests.workloads.pods import pod_template
from berth.plan.workloads import DeploymentPlan, LeaderWorkerSetPlan

DEPLOYMENT_API: Final = "apps/v1"
LEADER_WORKER_SET_API: Final = "leaderworkerset.x-k8s.io/v1"
EXCLUSIVE_TOPOLOGY: Final = "leaderworkerset.sigs.k8s.io/exclusive-topology"
STOP_FIRST: Final[Manifest] = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
"""A strategy that stops a pod before it starts another."""
_APP_LABEL: Final = "app.kubernetes.io/name"


def deployment(plan: DeploymentPlan) -> Manifest:
    """Render a Deployment; each of its pods is a workload of its own, and has the annotations of one."""
    labels: dict[str, str] = {_APP_LABEL: plan.submission.name}
    pod = replace(plan.pod, annotations={**plan.submission.annotations, **plan.pod.annotations})
    spec: Manifest = {
        "replicas": plan.replicas,
        "selector": {"matchLabels": labels},
        **({"strategy": STOP_FIRST} if plan.stops_first else {}),
        "template": pod_template(plan.submission, pod, labels=labels),
    }
    return queued_object(DEPLOYMENT_API, "Deployment", replace(plan.submission, annotations={})) | {"spec": spec}


def leader_worker_set(plan: LeaderWorkerSetPlan) -> Manifest:
    """Render a LeaderWorkerSet; the first pod of each group is its leader and has an accelerator like the others."""
    template: Manifest = {
        "size": plan.size,
        "restartPolicy": "RecreateGroupOnPodRestart",
        "workerTemplate": pod_template(plan.submission, plan.pod),
    }
    spec: Manifest = {"replicas": plan.groups, "leaderWorkerTemplate": template}
    exclusive = {EXCLUSIVE_TOPOLOGY: plan.exclusive_topology} if plan.exclusive_topology else {}
    return queued_object(LEADER_WORKER_SET_API, "LeaderWorkerSet", plan.submission, exclusive) | {"spec": spec}
