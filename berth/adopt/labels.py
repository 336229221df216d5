"""The labels of a node pool's nodes: its own, and GKE's, which no answer contains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from berth import catalog
from berth.adopt.api_objects import ApiObject, StackEntry, list_at, mapping_at, other_than, stated, value_at
from berth.catalog import Machine
from berth.plan.dynamic_slices import PROVISION_ONLY

PROVISIONING = "cloud.google.com/gke-provisioning"
"""Label with spot or standard, which GKE sets on every node (GKE docs: Spot VMs)."""
QUEUED = "queuedProvisioning.enabled"
"""Field of a node pool whose nodes are for queued provisioning."""
_RESERVED_DOMAINS = ("kubernetes.io", "k8s.io", "google.com", "gke.io", "nvidia.com", "berth.dev")
"""Domains whose labels and taints GKE, Kubernetes or Berth sets."""


def machine_type(node_pool: ApiObject) -> str:
    """Return the machine type of a node pool."""
    return str(value_at(node_pool, "config.machineType"))


def gpu_config(node_pool: ApiObject) -> ApiObject:
    """Return the accelerators of a node pool's nodes; an empty object if it names none."""
    nothing: ApiObject = {}
    return cast("ApiObject", next(iter(list_at(node_pool, "config.accelerators")), nothing))


def is_user_label(key: str) -> bool:
    """Return whether a label or taint is the owner's, and not set by GKE, Kubernetes or Berth."""
    domain = key.rpartition("/")[0]
    return not any(domain == taken or domain.endswith(f".{taken}") for taken in _RESERVED_DOMAINS)


def taint_entry(taint: Mapping[str, Any], effect: str) -> StackEntry:
    """Return a taint of the owner; its effect is not stated if it is the usual one."""
    return {"key": taint["key"], "value": taint.get("value", "")} | stated({"effect": other_than("NoSchedule", effect)})


def node_labels(
    node_pool: ApiObject, machine: Machine, entry: StackEntry, reservation: tuple[str, StackEntry] | None
) -> dict[str, str]:
    """Return the labels by which a flavor selects the nodes of a pool's `entry` and `reservation`."""
    keys, gpu = catalog.labels(), gpu_config(node_pool)
    sharing, zones = mapping_at(gpu, "gpuSharingConfig"), list_at(node_pool, "locations")
    provisioning = {"config.spot": keys.spot, "config.flexStart": keys.flex_start, QUEUED: keys.queued}
    return {
        **mapping_at(node_pool, "config.labels"),
        "node.kubernetes.io/instance-type": machine_type(node_pool),
        **_accelerator_labels(machine, entry),
        **stated(
            {
                keys.gpu_partition: gpu.get("gpuPartitionSize"),
                keys.gpu_max_shared_clients: sharing and str(sharing["maxSharedClientsPerGpu"]),
                keys.gpu_sharing_strategy: sharing
                and ("mps" if sharing.get("gpuSharingStrategy") == "MPS" else "time-sharing"),
            }
        ),
        **(_reservation_labels(*reservation) if reservation else {}),
        **({keys.dra_driver: "true"} if value_at(node_pool, "networkConfig.acceleratorNetworkProfile") else {}),
        **({"topology.kubernetes.io/zone": zones[0]} if len(zones) == 1 else {}),
        PROVISIONING: "spot" if value_at(node_pool, "config.spot") else "standard",
        **{label: "true" for field, label in provisioning.items() if value_at(node_pool, field)},
    }


def _accelerator_labels(machine: Machine, entry: StackEntry) -> dict[str, str]:
    """Return the label of the accelerator, and that of its topology, or of the controller that connects its chips."""
    keys = catalog.labels()
    if topology := entry.get("topology"):
        slicing = catalog.slicing_of(machine) if "dynamicSlicing" in entry else None
        mode_label = slicing.mode_label if slicing is not None else None
        connection = {mode_label: PROVISION_ONLY} if mode_label is not None else {keys.tpu_topology: topology}
        return {keys.tpu_accelerator: machine.accelerator, **connection}
    return {keys.gpu_accelerator: machine.accelerator} if machine.accelerator else {}


SHARED_KEYS = ("topology", "topologyAware", "dynamicSlicing", "gpuSharing", "gpuPartition", "networking")
"""Keys that pools of one flavor have in common, besides their accelerator and capacity."""


def shared_settings(entry: StackEntry, labels: Mapping[str, str]) -> list[object]:
    """Return what pools that no flavor selects have in common to share one; a reservation and its blocks are alike."""
    capacity = labels.get(catalog.labels().reservation_name, entry.get("capacity"))
    return [capacity, *(entry.get(key) for key in (*SHARED_KEYS, "compactPlacement"))]


def _reservation_labels(name: str, entry: StackEntry) -> dict[str, str]:
    keys = catalog.labels()
    return stated(
        {
            keys.reservation_name: entry.get("name", name),
            keys.reservation_project: entry.get("project"),
            keys.reservation_blocks: entry.get("block"),
            keys.reservation_subblocks: entry.get("subBlock"),
        }
    )
