"""Names around a workload: of its queue, and how long its own may be, so that all made of it fit into 63 characters.

Sources: JobSet 0.12 `pkg/webhooks/jobset_webhook.go` (child jobs and their pods), Kubernetes
`pkg/apis/batch/validation` (the host names of Indexed Jobs), Kubeflow's training operator (a service for each pod).
"""

from __future__ import annotations

from typing import cast

from berth.names import LABEL


def local_queue(fleet: object, team: str, queue: str) -> str:
    """The local queue behind a key of the team's `queues` in a `berth:fleet`, as plain values; else the name itself."""
    found = fleet
    for key in ("teams", team, "queues", queue):
        found = cast("dict[str, object]", found).get(key) if isinstance(found, dict) else None
    named = cast("dict[str, object]", found).get("localQueue") if isinstance(found, dict) else None
    return str(named or queue)


_RANDOM = len("-xxxxx")


def job(pods: int) -> int:
    """Of a Job; its pods carry it in a label, and several have host names `<job>-<index>`."""
    return LABEL - (len(f"-{pods - 1}") if pods > 1 else 0)


def job_set(replicated_job: str, replicas: int, pods: int) -> int:
    """Of a JobSet: pods are called `<jobset>-<replicated job>-<index>-<pod>-xxxxx`."""
    return LABEL - len(f"-{replicated_job}-{max(0, replicas - 1)}-{max(0, pods - 1)}") - _RANDOM


def pytorch_job(workers: int) -> int:
    """Of a PyTorchJob: pods and services are called `<job>-master-0` and `<job>-worker-<index>`."""
    return LABEL - len(f"-worker-{max(0, workers - 1)}")
