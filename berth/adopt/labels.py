"""The labels of a node pool's nodes: its own, and GKE's, which stand in no answer."""

from __future__ import annotations

from typing import cast

from berth import catalog
from berth.adopt import rest_fields
from berth.adopt.inventory import Answer, Entry, at, part, parts
from berth.catalog import Machine

_TAKEN = ("kubernetes.io", "k8s.io", "google.com", "gke.io", "nvidia.com", "berth.dev")
"""Domains whose labels and taints GKE, Kubernetes or Berth sets."""


def machine_type(one: Answer) -> str:
    """The machine type of a node pool."""
    return str(at(one, "config.machineType"))


def gpu_of(one: Answer) -> Answer:
    """The accelerators of a node pool's nodes; an empty object where it says none."""
    nothing: Answer = {}
    return cast("Answer", next(iter(parts(one, "config.accelerators")), nothing))


def own_label(key: str) -> bool:
    """Whether a label or taint is the owner's, and not one that something else sets."""
    domain = key.rpartition("/")[0]
    return not any(domain == taken or domain.endswith(f".{taken}") for taken in _TAKEN)


def node_labels(one: Answer, machine: Machine, topology: str | None, held: tuple[str, Entry] | None) -> dict[str, str]:
    """The labels by which a flavor selects the nodes; `held` is the reservation that they come from."""
    keys, gpu, seen = catalog.labels(), gpu_of(one), rest_fields.observed(rest_fields.NODE_POOL, one)
    labels: dict[str, str] = {**part(one, "config.labels"), "node.kubernetes.io/instance-type": machine_type(one)}
    if topology:
        labels |= {keys.tpu_accelerator: machine.accelerator, keys.tpu_topology: topology}
    else:
        labels[keys.gpu_accelerator] = machine.accelerator
    if gpu.get("gpuPartitionSize"):
        labels[keys.gpu_partition] = gpu["gpuPartitionSize"]
    if sharing := part(gpu, "gpuSharingConfig"):
        labels[keys.gpu_max_shared_clients] = str(sharing["maxSharedClientsPerGpu"])
        labels[keys.gpu_sharing_strategy] = "mps" if sharing.get("gpuSharingStrategy") == "MPS" else "time-sharing"
    labels |= _of_reservation(*held) if held else {}
    labels |= {keys.dra_driver: "true"} if seen["network.accelerator_profile"] else {}
    zones = parts(one, "locations")
    labels |= {"topology.kubernetes.io/zone": zones[0]} if len(zones) == 1 else {}
    marks = {"spot": keys.spot, "flex_start": keys.flex_start, "queued": keys.queued}
    return labels | {label: "true" for field, label in marks.items() if seen[field]}


def _of_reservation(name: str, entry: Entry) -> dict[str, str]:
    keys = catalog.labels()
    said = {
        keys.reservation_name: entry.get("name", name),
        keys.reservation_project: entry.get("project"),
        keys.reservation_blocks: entry.get("block"),
        keys.reservation_subblocks: entry.get("subBlock"),
    }
    return {label: value for label, value in said.items() if value}
