"""What a pod requests more of than any node has, in words."""

from __future__ import annotations

from collections.abc import Sequence

from berth.diagnostics import join_quoted
from berth.jobs.pod_set import PodSet
from berth.jobs.quantities import format_quantity
from berth.placement.node_classes import NodeClass
from berth.plan.node_settings import NETWORK_RESOURCE


def too_large(pod_set: PodSet, nodes: Sequence[NodeClass], resource: str) -> str:
    """Return how much of a resource a pod requests, how much it can get at most, and how much is certain."""
    most, machine = max((node.most(resource) or 0, node.group.machine_type) for node in nodes)
    certain = max(node.certain.most(resource) or 0 for node in nodes)
    if resource.startswith(NETWORK_RESOURCE):
        networks = sorted({name for node in nodes for name in node.group.networks})
        remedy = f"they have {join_quoted(networks)}; write those" if networks else "remove the annotation"
        name = resource.removeprefix(NETWORK_RESOURCE)
        return f"its pods ask for the network '{name}', which nodes of {machine} do not have; {remedy}"
    requested = pod_set.node_requests.get(resource, 0)
    if resource in ("cpu", "memory", "ephemeral-storage") or resource.startswith("hugepages"):
        added = pod_set.added.get(resource, 0)
        limit, left = (
            format_quantity(resource, amount) if resource == "cpu" else f"{amount // 2**20}Mi"
            for amount in (most, max(0, certain - added))
        )
        amount = format_quantity(resource, requested - added)
        sidecar = f" and the sidecar of its buckets {format_quantity(resource, added)}" if added else ""
        message = f"a pod requests {amount} {resource}{sidecar}, but pods can use {limit} of each {machine}"
        return f"{message}; write at most {left}"
    if not most:
        return f"a pod requests {requested} {resource}, but a node of {machine} has none; remove the request"
    return f"a pod requests {requested} {resource}, but a node of {machine} has {most}; write at most {most}"
