"""Metadata and labels that the objects of all workloads share."""

from __future__ import annotations

from typing import Final

from berth.names import TEAM_LABEL
from berth.plan.workloads import ProvisioningRequestPlan, SubmissionPlan

Manifest = dict[str, object]

QUEUE_NAME_LABEL: Final = "kueue.x-k8s.io/queue-name"
PRIORITY_CLASS_LABEL: Final = "kueue.x-k8s.io/priority-class"


def optional(key: str, value: object) -> Manifest:
    """Return `{key: value}`, or nothing where the value is None."""
    return {} if value is None else {key: value}


def unqueued_object(api_version: str, kind: str, plan: SubmissionPlan | ProvisioningRequestPlan) -> Manifest:
    """Render API version, kind and metadata of an object that Kueue does not queue."""
    metadata = {"name": plan.name, "namespace": plan.namespace, "labels": {TEAM_LABEL: plan.team}}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def queued_object(
    api_version: str, kind: str, plan: SubmissionPlan, extra_annotations: dict[str, str] | None = None
) -> Manifest:
    """Render API version, kind and metadata of an object that Kueue queues: it reads the object's own labels."""
    priority = {} if plan.priority is None else {PRIORITY_CLASS_LABEL: plan.priority}
    metadata: Manifest = {
        "name": plan.name,
        "namespace": plan.namespace,
        "labels": {TEAM_LABEL: plan.team, QUEUE_NAME_LABEL: plan.queue, **priority},
    }
    if annotations := {**plan.annotations, **(extra_annotations or {})}:
        metadata["annotations"] = annotations
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}
