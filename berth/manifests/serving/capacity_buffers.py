"""Capacity buffers as plain dicts: the CapacityBuffer, and the PodTemplate of one unit.

The autoscaler keeps room for such pods and never creates one. It may ask the API server what a pod of the template
would become (a dry run), so the pod is one that the policies of a team's namespace let pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from berth.manifests.kueue import toleration
from berth.manifests.quantities import quantity
from berth.manifests.workloads.pods import QUEUE_NAME_LABEL
from berth.plan.capacity import CapacityBufferPlan
from berth.plan.installers import PAUSE_IMAGE

Manifest = dict[str, object]

STANDBY: Final = "buffer.gke.io/standby-capacity"
"""The standby strategy, with which the annotations of standby buffers begin."""
MACHINE_FAMILY: Final = "cloud.google.com/machine-family"
"""Label of nodes of a machine family, which node auto-provisioning obeys."""
STRATEGIES: Final = {"active": "buffer.x-k8s.io/active-capacity", "standby": STANDBY}
"""Strategy in the stack file → `provisioningStrategy`."""
_RESTRICTED: Final = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "runAsUser": 65535,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def buffer_manifests(plan: CapacityBufferPlan, labels: Mapping[str, str]) -> Iterator[tuple[str, Manifest]]:
    """Yield the name in the Pulumi program and the manifest of the template, if the buffer has one, and the buffer."""
    if plan.settings.scalable_ref is None:
        yield f"unit-{plan.name}", _unit(plan, labels)
    yield f"buffer-{plan.name}", capacity_buffer(plan, labels)


def capacity_buffer(plan: CapacityBufferPlan, labels: Mapping[str, str]) -> Manifest:
    """Return the CapacityBuffer (autoscaling.x-k8s.io/v1beta1)."""
    settings, scalable = plan.settings, plan.settings.scalable_ref
    times = {"init-time": settings.init_time, "refresh-frequency": settings.refresh_frequency}
    annotations = {f"{STANDBY}-{key}": value for key, value in times.items() if value is not None}
    metadata = _metadata(plan, plan.name, labels) | ({"annotations": annotations} if annotations else {})
    what: Manifest = (
        {"podTemplateRef": {"name": unit_name(plan.name)}}
        if scalable is None
        else {"scalableRef": {"apiGroup": scalable.api_group, "kind": scalable.kind, "name": scalable.name}}
    )
    sizes = {
        "replicas": settings.replicas,
        "percentage": settings.percentage,
        "limits": {each: quantity(each, amount) for each, amount in sorted(plan.limits.items())} or None,
    }
    return {
        "apiVersion": "autoscaling.x-k8s.io/v1beta1",
        "kind": "CapacityBuffer",
        "metadata": metadata,
        "spec": {
            "provisioningStrategy": STRATEGIES[settings.provisioning_strategy],
            **what,
            **{key: value for key, value in sizes.items() if value is not None},
        },
    }


def describe_units(plan: CapacityBufferPlan) -> str:
    """Return what a buffer keeps: `2 × 1 nvidia.com/gpu`, or as many pods of a workload."""
    settings, scalable = plan.settings, plan.settings.scalable_ref
    if scalable is not None:
        amount = f"{settings.replicas} ×" if settings.percentage is None else f"{settings.percentage} % of"
        return f"{amount} the pods of {scalable.kind} {scalable.name}"
    return f"{plan.units} × {' and '.join(f'{quantity(r, n)} {r}' for r, n in sorted(plan.requests.items()))}"


def _unit(plan: CapacityBufferPlan, labels: Mapping[str, str]) -> Manifest:
    """Return the PodTemplate of one unit."""
    amounts = {each: quantity(each, amount) for each, amount in sorted(plan.requests.items())}
    spec: Manifest = {"terminationGracePeriodSeconds": 0, "automountServiceAccountToken": False}
    if plan.node_labels:
        spec["nodeSelector"] = dict(plan.node_labels)
    if plan.tolerations:
        spec["tolerations"] = [toleration(each) for each in plan.tolerations]
    spec["containers"] = [
        {
            "name": "unit",
            "image": PAUSE_IMAGE,
            "resources": {"requests": amounts, "limits": dict(amounts)},
            "securityContext": _RESTRICTED,
        }
    ]
    queued = {} if plan.queue is None else {QUEUE_NAME_LABEL: plan.queue}
    metadata = {"labels": {**labels, **queued}}
    return {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": _metadata(plan, unit_name(plan.name), labels),
        "template": {"metadata": metadata, "spec": spec},
    }


def unit_name(buffer: str) -> str:
    """Return the name of the PodTemplate of a buffer."""
    return f"{buffer}-unit"


def _metadata(plan: CapacityBufferPlan, name: str, labels: Mapping[str, str]) -> Manifest:
    return {"name": name, "namespace": plan.namespace, "labels": dict(labels)}
