"""`berth render --nodes`: the nodes of a fleet, for KWOK to simulate on any cluster.

They have the labels and taints that flavors select and the resources that jobs request. Pods on them are only
simulated. KWOK keeps nodes with its annotation ready (KWOK docs: "Manage Nodes").
"""

from __future__ import annotations

from collections.abc import Iterator

from berth import catalog
from berth.catalog import node_allocatable
from berth.manifests.quantities import cpu, memory
from berth.plan.fleet import FleetPlan, PoolPlan
from berth.plan.kueue import FlavorPlan

SIMULATED = "berth.dev/simulated"
"""Label of every simulated node, by which they can be deleted."""
NODE_POOL, INSTANCE_TYPE = "cloud.google.com/gke-nodepool", "node.kubernetes.io/instance-type"
PROVISIONING = "cloud.google.com/gke-provisioning"
HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
_MAX_PODS = "110"
_UNKNOWN_SIZE = {"cpu": "1000", "memory": "4Ti"}
"""Resources of a machine without published size; so large that cpu and memory never run out."""


def simulated_nodes(plan: FleetPlan) -> Iterator[dict[str, object]]:
    """Yield one Node for each machine, up to the maximum of each pool."""
    flavors = {flavor.name: flavor for flavor in plan.flavors}
    levels = {topology.name: topology.levels for topology in plan.topologies}
    for pool in plan.own_pools:
        flavor = flavors[pool.flavor]
        blocks = dict.fromkeys(levels.get(flavor.topology or "", ()), pool.name)
        for number in range(pool.nodes.max):
            yield _node(pool, flavor, number, blocks)


def _node(pool: PoolPlan, flavor: FlavorPlan, number: int, blocks: dict[str, str]) -> dict[str, object]:
    name = f"{pool.name}-{number + 1}"
    labels = {
        **blocks,
        **flavor.node_labels,
        SIMULATED: "true",
        HOSTNAME: name,
        INSTANCE_TYPE: pool.machine_type,
        NODE_POOL: _node_pool_name(pool, number),
    }
    if pool.capacity not in ("flex-start", "queued"):  # whose values of GKE's label are not documented
        labels[PROVISIONING] = "spot" if pool.capacity == "spot" else "standard"
    if pool.resource == catalog.extended_resource("tpu"):
        labels[catalog.labels().accelerator_count] = str(pool.accelerators.max // pool.nodes.max)
    if pool.zones:
        labels[ZONE] = pool.zones[number * len(pool.zones) // pool.nodes.max]
    taints = [{"key": t.key, "value": t.value or "present", "effect": t.effect} for t in flavor.tolerations]
    resources = _node_resources(pool)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": dict(sorted(labels.items())),
            "annotations": {"kwok.x-k8s.io/node": "fake", "node.alpha.kubernetes.io/ttl": "0"},
        },
        "spec": {"taints": taints},
        "status": {"allocatable": resources, "capacity": dict(resources), "phase": "Running"},
    }


def _node_pool_name(pool: PoolPlan, number: int) -> str:
    """Return the name of a node's node pool; nodes that Berth does not create are in one for each slice."""
    hosts = pool.hosts_per_slice or 1
    index = number // hosts if hosts > 1 else 0
    if index < len(pool.node_pools):
        return pool.node_pools[index].name
    return f"{pool.name}-{index + 1}" if hosts > 1 else pool.name


def _node_resources(pool: PoolPlan) -> dict[str, str]:
    """Return the allocatable resources of a node."""
    machine_size = node_allocatable(pool.vcpu, pool.memory_gb)
    size = (
        {"cpu": cpu(machine_size.cpu), "memory": memory(machine_size.memory)} if machine_size else dict(_UNKNOWN_SIZE)
    )
    accelerators = {pool.resource: str(pool.accelerators.max // pool.nodes.max)} if pool.accelerator else {}
    return {**size, "pods": _MAX_PODS, **accelerators}
