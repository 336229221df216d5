"""Allocatable resources of a node, by GKE's published formulas, and what of them is certain.

A real node of the same size has less for pods: the kernel takes about 2 % of the memory, the operating system about
6 GiB of the boot disk before GKE's reservations, and system DaemonSets request a part of the rest. No published formula
tells how much, so between the certain amounts and the formulas a request may fit or not.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from msgspec import Struct

from berth import catalog
from berth.nodes.model import PODS
from berth.nodes.sources import NodeSource
from berth.plan.gke import CheckpointingPlan

_GIB = 2**30
_SSD_GIB = 375
"""Size of a local SSD in GiB, unless the machine has others (Compute Engine docs: Local SSD)."""
_SYSTEM_STORAGE = Fraction("0.12")
"""The most of the storage for pods that the operating system takes: 11 % on a real n2-standard-4 with a 100 GB disk."""
_CHECKPOINT_DRIVER: Final = {"cpu": 285, "memory": 466 * 2**20, "ephemeral-storage": 5 * _GIB}
"""Requests of the driver's pod on each node with the volume of multi-tier checkpointing, and of its sidecar for buckets
(high-scale-checkpointing, `pkg/multitier-controller/preparer.go`, read 2026-11-29; berth/jobs/gke_webhooks.py)."""
_HUGEPAGE_BYTES = {"hugepages-2Mi": 2 * 2**20, "hugepages-1Gi": _GIB}


class NodeResources(Struct, frozen=True):
    """Allocatable amounts of one node, why others are unknown, and the lower bounds of those that are not certain.

    `taken` is what GKE's own pods certainly request of the known amounts. `held` is what a volume in the node's memory
    may take, which none of these amounts has.
    """

    known: dict[str, int]
    unknown: dict[str, str]
    least: dict[str, int]
    taken: dict[str, int]
    held: dict[str, int]


def node_resources(
    source: NodeSource, *, image_streaming: bool, checkpointing: CheckpointingPlan | None = None
) -> NodeResources:
    """Return the allocatable resources of a node: the most that pods may have beside what GKE reserves.

    `checkpointing` is set for nodes with the volume of multi-tier checkpointing.
    """
    pool, machine = source.pool, source.machine
    vcpu, memory_gb = (machine.vcpu, machine.memory_gb) if machine and machine.vcpu else (pool.vcpu, pool.memory_gb)
    known: dict[str, int] = {}
    unknown: dict[str, str] = {}
    size = catalog.node_allocatable(
        vcpu,
        memory_gb,
        image_streaming=image_streaming,
        max_pods=pool.max_pods or catalog.DEFAULT_MAX_PODS,
        shared_core=machine is not None and machine.shared_core,
    )
    if size is None:
        reason = f"no table has the size of {source.machine_type}"
        unknown |= {"cpu": reason, "memory": reason}
    else:
        hugepages = _hugepages(source)
        known |= {"cpu": size.cpu, "memory": size.memory - sum(hugepages.values()), **hugepages}
    if pool.max_pods is None:
        unknown[PODS] = "the cluster chooses the maximum number of pods per node"
    else:
        known[PODS] = pool.max_pods
    storage = _ephemeral_storage(source)
    if storage is None:
        unknown["ephemeral-storage"] = "the disks of these nodes are not in the stack file"
    else:
        known["ephemeral-storage"] = storage
    if pool.accelerator:
        known[pool.resource] = source.accelerators
    least = dict[str, int]()
    if source.maker != "autopilot":  # GKE sizes those machines for their pods
        if size is not None:
            certain = catalog.certain_allocatable(size, memory_gb)
            least = {"cpu": certain.cpu, "memory": max(0, certain.memory - sum(_hugepages(source).values()))}
        if pool.max_pods is not None:
            least[PODS] = catalog.pods_of_jobs(pool.max_pods)
        if storage is not None:
            least["ephemeral-storage"] = int(storage * (1 - _SYSTEM_STORAGE))
    # The nodes of an existing cluster need not run Workload Identity.
    own = catalog.SYSTEM_PODS_LEAST
    runs_own = size is not None and source.maker not in ("autopilot", "described") and not source.is_adopted
    taken, held = ({"cpu": own.cpu, "memory": own.memory} if runs_own else {}), dict[str, int]()
    if checkpointing is not None and size is not None:
        held = {"memory": checkpointing.memory}
        taken = {each: taken.get(each, 0) + amount for each, amount in _CHECKPOINT_DRIVER.items() if each in known}
        known |= _less(known, held)
        least = _less(_less(least, held), _CHECKPOINT_DRIVER)
    return NodeResources(known, unknown, least, taken, held)


def _less(amounts: dict[str, int], parts: Mapping[str, int]) -> dict[str, int]:
    """Return amounts without what is taken of them."""
    return {each: max(0, amount - parts.get(each, 0)) for each, amount in amounts.items()}


def _hugepages(source: NodeSource) -> dict[str, int]:
    """Return the bytes of huge pages of each size that the node pool reserves."""
    system = source.node_pool.settings.node_system_config if source.node_pool and not source.is_adopted else None
    if system is None:
        return {}
    counts = {"hugepages-2Mi": system.hugepages.size_2m, "hugepages-1Gi": system.hugepages.size_1g}
    return {name: count * _HUGEPAGE_BYTES[name] for name, count in counts.items() if count}


def _ephemeral_storage(source: NodeSource) -> int | None:
    """Return the ephemeral storage for pods in bytes; None if the disks are unknown.

    GKE reserves half of a boot disk, or 6 GiB and 35 % of it, at most 100 GiB; of local SSDs 50, 75 or 100 GiB for one,
    two or more. The kubelet evicts pods in the last tenth (GKE docs: Plan node sizes).
    """
    if source.node_pool is None or source.ephemeral_ssds is None:
        return None
    if source.ephemeral_ssds:
        size = source.ephemeral_ssds * _SSD_GIB
        reserved = {1: 50, 2: 75}.get(source.ephemeral_ssds, 100)
    else:
        size = source.node_pool.settings.disk_size_gb
        reserved = min(size // 2, 6 + size * 35 // 100, 100)
    return size * _GIB - size * _GIB // 10 - reserved * _GIB
