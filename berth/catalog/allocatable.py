"""Allocatable cpu and memory of a machine: GKE reserves a part of every node.

Sources: GKE docs, "Plan GKE Standard node sizes" (the same fractions for every machine above 1 GiB) and "Use Image
streaming"; GKE's autoscaler, pkg/cloudprovider/gke/reserved.go (7d25050, 2026-08-21). The kernel and system DaemonSets
use some of the rest, so this is an upper bound; `certain_allocatable` is a lower one.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Final

from msgspec import Struct

from berth.catalog.table import attachable_gpus, machines

_CPU_RESERVED = ((1, Fraction("0.06")), (1, Fraction("0.01")), (2, Fraction("0.005")), (None, Fraction("0.0025")))
"""Tiers of cores, and the fraction of each that GKE reserves; None is all remaining cores."""
_MEMORY_RESERVED = (
    (4, Fraction("0.25")),
    (4, Fraction("0.2")),
    (8, Fraction("0.1")),
    (112, Fraction("0.06")),
    (None, Fraction("0.02")),
)
"""Tiers of memory in GiB, and the fraction of each that GKE reserves; None is all remaining memory."""
_SHARED_CORE_RESERVED = 1060
"""Milli-cpu that GKE reserves on a machine with shared cores (the same page)."""
_EVICTION_THRESHOLD = 100 * 2**20
"""Bytes below which the kubelet evicts pods."""
_STREAMING_SHARE = Fraction("0.04")
"""What image streaming reserves of memory, as a part of what GKE reserves without it: 1 % of the first 4 GiB, …"""
DEFAULT_MAX_PODS: Final = 110
"""GKE's pods per node in a Standard cluster without another number (GKE docs: "Configure maximum Pods per node")."""
_PODS_OF_SYSTEM = 20
"""The most pods of the system on a node, which count among the pods per node (the same page).

A choice, because GKE documents no list of them: kube-proxy, logging, metrics, the metadata server, network, storage,
device plugins and Berth's installers are at most this many.
"""
_MANY_PODS_CPU = 400
"""Milli-cpu that GKE reserves in addition on a node with more pods than that default."""


_KERNEL_PART = Fraction(1, 64) + Fraction("0.004")
_KERNEL_BYTES = 128 * 2**20
"""The most that the kernel takes of a machine's memory, as a part and in bytes.

The autoscaler expects 1/64 and 0.175 %, with 80 to 92 MiB (kubernetes/autoscaler, cloudprovider/gce/reserved.go, read
2026-11-27); a real n2-standard-4 lacks 24 MiB more (tests/vendored/facts/nodes.yaml).
"""


class Allocatable(Struct, frozen=True):
    """What pods can use of one node: cpu in milli, memory in bytes."""

    cpu: int
    memory: int


def allocatable(machine_type: str) -> Allocatable | None:
    """Return the allocatable resources of a machine type with accelerators; None if its size is unknown."""
    hosts = attachable_gpus().hosts
    row = machines().get(machine_type)
    cores, gib = (row.vcpu, row.memory_gb) if row else hosts.get(machine_type, (0, 0))
    return node_allocatable(cores, gib)


@cache  # machines have few sizes
def node_allocatable(
    cores: int,
    gib: float,
    *,
    image_streaming: bool = False,
    max_pods: int = DEFAULT_MAX_PODS,
    shared_core: bool = False,
) -> Allocatable | None:
    """Return the allocatable resources of a node of this size; None if its size is unknown (0)."""
    if not (cores and gib):
        return None
    reserved_cpu = _SHARED_CORE_RESERVED if shared_core else _reserved(Fraction(cores), _CPU_RESERVED) * 1000
    cpu = int(cores * 1000 - reserved_cpu) - (_MANY_PODS_CPU if max_pods > DEFAULT_MAX_PODS else 0)
    reserved = _reserved(Fraction(gib), _MEMORY_RESERVED) * (1 + _STREAMING_SHARE * image_streaming)
    return Allocatable(cpu, int((Fraction(gib) - reserved) * 2**30 - _EVICTION_THRESHOLD))


def pods_of_jobs(max_pods: int) -> int:
    """Return the pods of jobs that a node certainly has room for: at least half of its pods."""
    return max_pods - min(_PODS_OF_SYSTEM, max_pods // 2)


SYSTEM_PODS: Final = Allocatable(cpu=500, memory=2**30)
"""What Berth leaves to the system DaemonSets of a node: a choice, because GKE documents no sum of their requests."""


SYSTEM_PODS_LEAST: Final = Allocatable(cpu=100, memory=100 * 2**20)
"""What the system DaemonSets of every node request at least: the metadata server of Workload Identity alone does so.

Source: a real node of GKE 1.29 (cryptnono/cryptnono#34, kubectl describe node), read 2026-11-28.
"""


def certain_allocatable(size: Allocatable, gib: float) -> Allocatable:
    """Return what is certainly left of a node's allocatable resources beside the kernel and the system's pods."""
    kernel = int(Fraction(gib) * _KERNEL_PART * 2**30) + _KERNEL_BYTES
    return Allocatable(max(0, size.cpu - SYSTEM_PODS.cpu), max(0, size.memory - kernel - SYSTEM_PODS.memory))


def _reserved(total: Fraction, tiers: tuple[tuple[int | None, Fraction], ...]) -> Fraction:
    reserved, remaining = Fraction(0), total
    for size, fraction in tiers:
        if not remaining:
            break
        in_tier = remaining if size is None else min(remaining, size)
        reserved += in_tier * fraction
        remaining -= in_tier
    return reserved
