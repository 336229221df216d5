"""Workloads of Kueue, as `kubectl get -o json` prints them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def workload_object(
    name: str, team: str, pods: Mapping[str, Any], created: str, assignment: Mapping[str, Any] | None, admitted: str
) -> dict[str, Any]:
    """Return the Workload of the Job `name` in the team's queue `train`; pending without an assignment."""
    status: dict[str, Any] = {}
    if assignment is not None:
        conditions = [
            {"type": kind, "status": "True", "lastTransitionTime": admitted} for kind in ("QuotaReserved", "Admitted")
        ]
        admission = {"clusterQueue": f"{team}-train", "podSetAssignments": [assignment]}
        status = {"admission": admission, "conditions": conditions}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "name": f"job-{name}-1a2b3",
            "namespace": team,
            "creationTimestamp": created,
            "ownerReferences": [{"kind": "Job", "name": name}],
        },
        "spec": {"queueName": "train", "priority": 10, "podSets": [pods]},
        "status": status,
    }
