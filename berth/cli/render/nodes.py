"""`berth render --nodes`: the nodes of a fleet (`berth.nodes`) as objects, for KWOK to simulate on any cluster.

Pods on them are only simulated. KWOK keeps nodes with its annotation ready (KWOK docs: "Manage Nodes"). Where no source
tells a value that a simulation needs, the node has a stand-in, and an annotation lists the stand-ins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from berth.manifests.quantities import cpu, memory
from berth.nodes import NodeGroup, pool_nodes
from berth.nodes.model import HOSTNAME, NODE_POOL
from berth.plan.fleet import FleetPlan

SIMULATED = "berth.dev/simulated"
"""Label of every simulated node, by which they can be deleted."""
STAND_INS = "berth.dev/stand-ins"
"""Annotation with the labels and resources whose real value no source tells."""
_TOPOLOGY = "cloud.google.com/gce-topology-"
_STAND_IN_RESOURCES = {"cpu": "1000", "memory": "4Ti", "ephemeral-storage": "1Ti", "pods": "110"}
"""Amounts of unknown resources; so large that they never run out before the accelerators do."""
_BYTES = ("memory", "ephemeral-storage", "hugepages-")


def simulated_nodes(plan: FleetPlan) -> Iterator[dict[str, object]]:
    """Yield one Node for each machine, up to the maximum of each pool.

    Nodes of a pool with several zones are spread over them; those of a compute class are of its first priority.
    """
    for pool in plan.own_pools:
        groups = [group for group in pool_nodes(plan, pool) if group.priority == 1]
        if not groups:
            continue
        total = groups[0].pool_nodes.max
        for number in range(total):
            yield _node(pool.name, groups[number * len(groups) // total], number)


def _node(pool: str, group: NodeGroup, number: int) -> dict[str, object]:
    name = f"{pool}-{number + 1}"
    # All nodes of a pool are in one place.
    stand_ins = {
        key: re.sub("[^a-z0-9-]", "-", group.place.get(key, pool))
        for key in group.unknown_labels
        if key.startswith(_TOPOLOGY)
    }
    node_pool, in_pool = _node_pool(pool, group, number), number % group.nodes.max
    stand_ins |= {key: f"{node_pool}-{in_pool // nodes}" for key, nodes in group.parts.items()}
    labels = {
        **group.labels,
        NODE_POOL: node_pool,
        HOSTNAME: name,
        **stand_ins,
        SIMULATED: "true",
    }
    unknown = {key: _STAND_IN_RESOURCES[key] for key in group.unknown_resources if key in _STAND_IN_RESOURCES}
    resources = {**{key: _quantity(key, amount) for key, amount in group.allocatable.items()}, **unknown}
    marked = sorted({HOSTNAME, *stand_ins, *unknown, *(() if group.node_pools else (NODE_POOL,))})
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": dict(sorted(labels.items())),
            "annotations": {
                "kwok.x-k8s.io/node": "fake",
                "node.alpha.kubernetes.io/ttl": "0",
                STAND_INS: ", ".join(marked),
            },
        },
        "spec": {"taints": [{"key": t.key, "value": t.value, "effect": t.effect} for t in group.taints]},
        "status": {"allocatable": resources, "capacity": dict(resources), "phase": "Running"},
    }


def _node_pool(pool: str, group: NodeGroup, number: int) -> str:
    """Return the name of a node's node pool; nodes that Berth does not create are in one for each slice."""
    index = number // group.nodes.max if group.slices else 0
    if index < len(group.node_pools):
        return group.node_pools[index]
    return f"{pool}-{index + 1}" if group.slices else pool


def _quantity(resource: str, amount: int) -> str:
    """Return an amount as a Kubernetes quantity."""
    if resource == "cpu":
        return cpu(amount)
    return memory(amount) if resource.startswith(_BYTES) else str(amount)
