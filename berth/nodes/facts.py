"""Facts of the nodes of one pool, by name, for the table of labels: text, unknown with the reason, or None."""

from __future__ import annotations

from berth.catalog import Machine
from berth.nodes.labels import Fact, Unknown
from berth.nodes.sources import NodeSource
from berth.plan.fleet import ExistingGkeClusterPlan, FleetPlan
from berth.plan.gke import ClusterPlan

_PROVISIONING = {"spot": "spot", "flex-start": "flex-start", "on-demand": "standard", "reservation": "standard"}
"""Capacity of a pool → GKE's label of how a machine is provisioned (system_labels.go of GKE's autoscaler)."""
_UNNAMED_DRIVER = Unknown("GKE's label for a node without its driver is not documented", maybe_absent=True)
_KEPT = Unknown("another tool created the node pool, which keeps what it chose", maybe_absent=True)
_DRIVERS: dict[str, Fact] = {"default": "default", "latest": "latest", "disabled": _UNNAMED_DRIVER}
_OS = {None: "cos", "COS_CONTAINERD": "cos", "UBUNTU_CONTAINERD": "ubuntu"}
_CHOSEN_BY_GKE = Unknown("GKE chooses it when it creates the node pool")
_CLUSTERS_OWN = Unknown("it is a setting of the existing cluster, which the stack file does not have")
_SANDBOX_UNKNOWN = Unknown("GKE may create nodes of GKE Sandbox for pods that ask for them", maybe_absent=True)
_NOT_STATED = Unknown("the stack file does not state it")


def node_facts(plan: FleetPlan, source: NodeSource) -> dict[str, Fact]:
    """Return every fact that the table of labels may name, for the nodes of a source in one zone."""
    pool, node_pool, machine = source.pool, source.node_pool, source.machine
    by_gke = source.maker in ("auto-provisioned", "compute-class", "autopilot")
    chosen: Fact = _CHOSEN_BY_GKE if by_gke else None
    settings = node_pool.settings if node_pool else None
    return {
        "arch": machine.arch if machine else _NOT_STATED,
        "machine_type": source.machine_type,
        "family": source.machine_type.partition("-")[0],
        "region": plan.region or _NOT_STATED,
        "zone": source.zone or (_NOT_STATED if source.maker == "described" else _CHOSEN_BY_GKE),
        "node_pool": _node_pool(source),
        "provisioning": _provisioning(source),
        "spot": _flag(source.capacity == "spot"),
        "preemptible": None,
        "flex_start": _flag(source.capacity == "flex-start" or (node_pool is not None and node_pool.flex_start)),
        "queued": _flag(source.capacity == "queued"),
        "made_by_gke": _flag(by_gke),
        "autopilot": _flag(source.maker == "autopilot"),
        "os_distribution": _OS[settings.image_type] if settings else "cos" if by_gke else _NOT_STATED,
        "boot_disk": _boot_disk(plan, source) or chosen or _NOT_STATED,
        "max_pods": str(pool.max_pods) if pool.max_pods else _KEPT if source.is_adopted else _CLUSTERS_OWN,
        "vcpu": str(vcpu) if (vcpu := machine.vcpu if machine else pool.vcpu) else _NOT_STATED,
        # GKE's level of memory: the MiB of the machine by a thousand, as on real nodes.
        "memory_level": str(int(machine.memory_gb * 1024 / 1000)) if machine and machine.memory_gb else _NOT_STATED,
        "stack_type": "IPV4" if isinstance(plan.cluster, ClusterPlan) else _CLUSTERS_OWN,
        "private_node": _private_node(plan, source),
        "metadata_server": _flag(source.maker != "described"),
        "image_streaming": _image_streaming(plan, source),
        "ephemeral_ssds": _flag(source.ephemeral_ssds > 0) if source.ephemeral_ssds is not None else chosen,
        "block_ssds": _flag(source.block_ssds > 0) if source.block_ssds is not None else chosen,
        "tpu_chips": str(source.accelerators) if machine and machine.kind == "tpu" else None,
        "gpu": _flag(machine is not None and machine.kind == "gpu"),
        "gpu_driver": _gpu_driver(source),
        "gpu_dra_driver": None,
        "tpu_dra_driver": None,
        "network_dra_driver": None,
        "accelerator_network_profile": node_pool.network.accelerator_profile if node_pool else None,
        "gpudirect": _flag(node_pool is not None and node_pool.network.accelerator_networks is not None),
        "networks": _flag(node_pool is not None and bool(node_pool.network.interfaces)),
        "placement_group": _placement_group(source),
        "placement_policy": node_pool.placement.policy if node_pool and node_pool.placement else None,
        "has_block": _location(machine, "cloud.google.com/gce-topology-block"),
        "has_subblock": _location(machine, "cloud.google.com/gce-topology-subblock"),
        "has_host": _location(machine, "cloud.google.com/gce-topology-host"),
        "confidential": _confidential(plan, source),
        "sandbox": _KEPT if source.is_adopted else None if settings else _SANDBOX_UNKNOWN,
    }


def _flag(value: bool) -> Fact:
    return "true" if value else None


def _node_pool(source: NodeSource) -> Fact:
    """Return the one node pool; None for several, which the group lists."""
    if source.node_pools:
        return source.node_pools[0] if len(source.node_pools) == 1 else None
    return _NOT_STATED if source.maker == "described" else _CHOSEN_BY_GKE


def _provisioning(source: NodeSource) -> Fact:
    if source.capacity in _PROVISIONING:
        return _PROVISIONING[source.capacity]
    if source.capacity == "queued":
        return Unknown("GKE documents no value of this label for queued nodes")
    return "standard" if source.capacity.startswith("any-reservation") else _CHOSEN_BY_GKE


def _boot_disk(plan: FleetPlan, source: NodeSource) -> Fact:
    """Return the boot disk of a node pool, or of auto-provisioned nodes where the cluster's default suits them."""
    if source.node_pool is not None:
        return _KEPT if source.is_adopted else source.node_pool.settings.disk_type
    cluster = plan.cluster
    if source.maker != "auto-provisioned" or not isinstance(cluster, ClusterPlan) or cluster.auto_provisioning is None:
        return None
    allowed = source.machine.boot_disk_types if source.machine else ()
    disk = cluster.auto_provisioning.disk_type
    return disk if disk in allowed or not allowed else None


def _private_node(plan: FleetPlan, source: NodeSource) -> Fact:
    if source.is_adopted:
        return _KEPT
    network = source.node_pool.network if source.node_pool else None
    if network is not None and network.private_nodes is not None:
        return "true" if network.private_nodes else "false"
    if isinstance(plan.cluster, ClusterPlan):
        return "true" if plan.cluster.control_plane.private_nodes else "false"
    return _CLUSTERS_OWN


def _image_streaming(plan: FleetPlan, source: NodeSource) -> Fact:
    if source.is_adopted:
        return _KEPT
    if source.node_pool is not None:
        return _flag(source.node_pool.image_streaming)
    if source.maker == "autopilot":
        return "true"
    return _flag(plan.cluster.image_streaming) if isinstance(plan.cluster, ClusterPlan) else _CLUSTERS_OWN


def _gpu_driver(source: NodeSource) -> Fact:
    if source.machine is None or source.machine.kind != "gpu":
        return None
    if source.is_adopted:
        return _KEPT
    if source.node_pool is not None:
        return _DRIVERS[source.node_pool.settings.driver_version]
    return _CHOSEN_BY_GKE


def _placement_group(source: NodeSource) -> Fact:
    """Return the group of nodes that are placed close to each other: the node pool's own name, as on real nodes."""
    if source.pool.grouped:
        return Unknown("GKE names it after the placement group that a pod selects")
    if source.slices:
        return Unknown("no source tells whether hosts of a slice have this label", maybe_absent=True)
    placement = source.node_pool.placement if source.node_pool else None
    if placement is not None and placement.type == "COMPACT" and placement.tpu_topology is None:
        return source.node_pools[0] if len(source.node_pools) == 1 else _CHOSEN_BY_GKE
    return None


def _location(machine: Machine | None, key: str) -> Fact:
    """Return whether machines tell their place in the data centre; unknown for accelerators that no source lists."""
    if machine is None:
        return _NOT_STATED
    if key in machine.topology_levels:
        return "true"
    return None if machine.kind == "cpu" else Unknown(f"no source tells whether {machine.name} has this label")


def _confidential(plan: FleetPlan, source: NodeSource) -> Fact:
    written = source.node_pool.settings.confidential_nodes if source.node_pool else None
    cluster = plan.cluster
    if written is None and isinstance(cluster, (ClusterPlan, ExistingGkeClusterPlan)):
        return cluster.confidential_nodes
    return written
