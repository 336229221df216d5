"""The name of a workload's queue, and the maximum length of its own name, so that derived names fit into 63 characters.

Sources: JobSet 0.12 `pkg/webhooks/jobset_webhook.go` (child jobs and their pods), Kubernetes
`pkg/apis/batch/validation` (the host names of Indexed Jobs), Kubeflow's training operator (a service for each pod).
"""

from __future__ import annotations

from typing import cast

from berth.names import MAX_LABEL


def local_queue_name(fleet: object, team: str, queue: str) -> str:
    """Look up the local queue of a key of the team's `queues` in a raw `berth:fleet`; without such a key, `queue`."""
    value = fleet
    for key in ("teams", team, "queues", queue):
        value = cast("dict[str, object]", value).get(key) if isinstance(value, dict) else None
    queue_name = cast("dict[str, object]", value).get("localQueue") if isinstance(value, dict) else None
    return str(queue_name or queue)


_SUFFIX_LENGTH = len("-xxxxx")


def job_name_limit(pods: int) -> int:
    """Longest name of a Job: pods have its name in a label, and several have host names `<job>-<index>`."""
    return MAX_LABEL - (len(f"-{pods - 1}") if pods > 1 else 0)


def job_set_name_limit(replicated_job: str, replicas: int, pods: int) -> int:
    """Longest name of a JobSet: pods are named `<jobset>-<replicated job>-<index>-<pod>-xxxxx`."""
    return MAX_LABEL - len(f"-{replicated_job}-{max(0, replicas - 1)}-{max(0, pods - 1)}") - _SUFFIX_LENGTH


def pytorch_name_limit(workers: int) -> int:
    """Longest name of a PyTorchJob: pods and services are named `<job>-master-0`, `<job>-worker-<index>`."""
    return MAX_LABEL - len(f"-worker-{max(0, workers - 1)}")


RAY_NAME_LIMIT = 47
"""Maximum for a RayJob or a RayCluster (KubeRay 1.6, `controllers/ray/utils/constant.go`: MaxRayJobNameLength)."""

DEPLOYMENT_NAME_LIMIT = MAX_LABEL - len("-0123456789") - _SUFFIX_LENGTH
"""Maximum for a Deployment: pods are named `<deployment>-<hash>-xxxxx`."""


def leader_worker_set_name_limit(groups: int, size: int) -> int:
    """Longest name of a LeaderWorkerSet: pods are named `<set>-<group>-<index>` and have a hash in a label."""
    return MAX_LABEL - len(f"-{groups - 1}-{size - 1}") - len("-0123456789")
