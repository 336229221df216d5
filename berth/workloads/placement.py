"""Placement annotations of pods, for flavors with topology-aware scheduling.

Source: Kueue docs, "Run workloads with topology-aware scheduling" (annotations of the pod template).
"""

from __future__ import annotations

import json

from berth import catalog
from berth.placement.forms import JobForm, kueue_flavors, queue_forms
from berth.plan.dynamic_slices import SLICE_TOPOLOGY_ANNOTATION, FormedSlice
from berth.plan.node_settings import INTERFACES
from berth.workloads.node_shapes import pod_networks
from berth.workloads.target import WorkloadTarget

_PREFIX = "kueue.x-k8s.io/podset-"
PREFERRED_TOPOLOGY = f"{_PREFIX}preferred-topology"
REQUIRED_TOPOLOGY = f"{_PREFIX}required-topology"
SLICE_TOPOLOGY = f"{_PREFIX}slice-required-topology"
SLICE_SIZE = f"{_PREFIX}slice-size"
UNCONSTRAINED_TOPOLOGY = f"{_PREFIX}unconstrained-topology"


def placement_annotations(
    target: WorkloadTarget, group_size: int, *, in_domain: bool = False, formed: FormedSlice | None = None
) -> dict[str, str]:
    """Annotate pods that are placed in groups of `group_size`; no annotations if the flavor has no topology.

    The hosts of a TPU slice must be in one node pool, and pods with a ComputeDomain (`in_domain`) in one NVLink domain;
    other GPU nodes are placed as close to each other as possible. A single pod asks for any place where Kueue gives the
    flavor only to jobs that ask for a topology.
    """
    flavor = target.shape.flavor
    levels = next((each.levels for each in target.plan.topologies if each.name == flavor.topology), ())
    if not levels:
        return {}
    if formed is not None:
        # The webhooks of the slice controller write the same; written here, the job says it by itself.
        outer = target.shape.flavor.slicing.outer if target.shape.flavor.slicing is not None else None
        return {
            SLICE_TOPOLOGY_ANNOTATION: formed.topology,
            **({REQUIRED_TOPOLOGY: outer} if outer is not None else {}),
            SLICE_TOPOLOGY: formed.level,
            SLICE_SIZE: str(formed.size),
        }
    if group_size == 1:
        return {UNCONSTRAINED_TOPOLOGY: "true"} if _needs_request(target) else {}
    if target.shape.is_multi_host:
        return {SLICE_TOPOLOGY: catalog.labels().nodepool, SLICE_SIZE: str(group_size)}
    level = target.shape.domain_level
    return {REQUIRED_TOPOLOGY: level} if in_domain and level in levels else {PREFERRED_TOPOLOGY: levels[0]}


def network_annotations(target: WorkloadTarget) -> dict[str, str]:
    """Annotate pods that use RDMA of machines without GPUs; no annotations if not all nodes have the same network."""
    networks = {pod_networks(target.plan, [each.pool.name]) for each in target.shapes}
    if len(networks) > 1 or any(each.rdma is None for each in target.shapes):
        return {}
    names = ("default", *networks.pop())
    interfaces = [{"interfaceName": f"eth{number}", "network": name} for number, name in enumerate(names)]
    return {"networking.gke.io/default-interface": "eth0", INTERFACES: json.dumps(interfaces)}


def _needs_request(target: WorkloadTarget) -> bool:
    """Return whether Kueue refuses the flavor to jobs without a topology request."""
    plan = target.plan
    forms = queue_forms(
        target.queue, {flavor.name: flavor for flavor in plan.flavors}, kueue_flavors(plan.flavors, plan.topologies)
    )
    return JobForm.PLAIN not in forms[target.shape.flavor.name]
