"""Nodes and topologies of recorded cases, and the topology that a job of one asks for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from berth.jobs.pod_set import TopologyRequest
from berth.jobs.values import SourceValue
from berth.nodes.model import PODS, NodeGroup
from berth.placement.node_classes import NodeClass
from berth.plan.nodes import Bounds

_PODS_OF_NODE = 110
_ONE = Bounds(min=1, max=1)
_REQUEST = {
    "required": "required",
    "preferred": "preferred",
    "unconstrained": "unconstrained",
    "sliceRequired": "slice_level",
    "sliceSize": "slice_size",
}
"""The keys of a job's `topology`, and the fields that they set."""


def build_nodes(entries: Iterable[Mapping[str, Any]], flavor: str) -> tuple[NodeClass, ...]:
    """Return the nodes of a case, each by itself."""
    return tuple(_build_node(entry["labels"], entry["allocatable"], flavor) for entry in entries)


def _build_node(labels: Mapping[str, str], allocatable: Mapping[str, int], flavor: str) -> NodeClass:
    amounts = {**allocatable, PODS: _PODS_OF_NODE}
    group = NodeGroup(
        pool=flavor,
        flavor=flavor,
        maker="described",
        capacity="",
        machine_type="",
        node_pools=(),
        slices=0,
        nodes=_ONE,
        pool_nodes=_ONE,
        zone=None,
        labels=labels,
        allocatable=amounts,
    )
    return NodeClass(group, None, 1, amounts)


def build_request(entry: Mapping[str, Any] | None) -> TopologyRequest | None:
    """Return what a job asks for."""
    return None if entry is None else TopologyRequest(**{_REQUEST[key]: value for key, value in entry.items()})


def check_nodes(levels: SourceValue, nodes: SourceValue) -> None:
    """Add a fault for every value of `topology` and `nodes` of a case that is not in the format."""
    for level in levels.sequence("a list of labels, widest level first") or ():
        level.text("a label")
    for node in nodes.sequence("a list of nodes") or ():
        own = node.known_fields(("labels", "allocatable"))
        if own is not None:
            for value in (own["labels"].mapping("a mapping of labels to values") or {}).values():
                value.text("a value")
            for amount in (own["allocatable"].mapping("a mapping of resources to amounts") or {}).values():
                amount.integer("a whole number from 0", 0)


def check_topology_request(request: SourceValue) -> None:
    """Add a fault for every value of a job's `topology` that is not in the format."""
    for key, value in (request.known_fields((), tuple(_REQUEST)) or {}).items():
        if key == "sliceSize":
            value.integer("a whole number of pods from 1", 1)
        elif key == "unconstrained":
            if value.value is not True:
                value.reject("true")
        else:
            value.text("a level")
