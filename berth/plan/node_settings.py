"""Settings of a pool's nodes besides their machine type; values as in Google's API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field


class LocalSsdPlan(Struct, frozen=True, kw_only=True):
    """Local SSDs of one node, as counts: for ephemeral storage, or raw NVMe blocks. At most one is above 0."""

    ephemeral: int = 0
    block: int = 0


class GpuSharingPlan(Struct, frozen=True, kw_only=True):
    """One GPU, or one MIG partition of it, for several containers. `strategy` is TIME_SHARING or MPS."""

    strategy: str
    clients: int


class PlacementPlan(Struct, frozen=True, kw_only=True):
    """Placement of a pool's nodes relative to each other.

    `policy` is a resource policy in the pool's project and region: the workload policy of a TPU7x slice or of an NVLink
    domain. Google's Terraform blueprint requests a TPU7x slice as COMPACT with both policy and topology.
    """

    type: str
    policy: str | None = None
    tpu_topology: str | None = None


class UpgradePlan(Struct, frozen=True, kw_only=True):
    """Surge upgrades: both counts in nodes, together at most 20."""

    max_surge: int | None = None
    max_unavailable: int | None = None


SURGE_ONE: Final = UpgradePlan(max_surge=1, max_unavailable=0)
"""One node at a time; its replacement is created first."""
DRAIN_FIRST: Final = UpgradePlan(max_surge=0, max_unavailable=1)
"""One node at a time; it is drained and deleted before its replacement is created."""


class NodeInterfacePlan(Struct, frozen=True, kw_only=True):
    """An additional network interface of every node: names of a VPC and of its subnet.

    GKE reports names, and with paths the provider would replace the pool.
    """

    network: str
    subnetwork: str


class NodeNetworkPlan(Struct, frozen=True, kw_only=True):
    """The network settings of a pool's nodes.

    `private_nodes` None: a new pool follows the cluster, an existing pool keeps its value. It must be set if any other
    field is: the provider then sends false for it by default, and nodes of a private cluster would get public
    addresses. `interfaces` follow the node's first interface, in order; they belong to the AcceleratorNetworksPlan with
    the key `accelerator_networks`, or to existing networks. `accelerator_profile` ("auto": GKE creates networks and
    interfaces, for DRANET) excludes interfaces. `pod_range` names the secondary range of the pods' addresses; None is
    the cluster's.
    """

    private_nodes: bool | None = None
    interfaces: tuple[NodeInterfacePlan, ...] = ()
    accelerator_networks: str | None = None
    accelerator_profile: str | None = None
    pod_range: str | None = None


class KubeletPlan(Struct, frozen=True, kw_only=True):
    """Kubelet settings of a pool's nodes; None is GKE's default. Durations and sizes in the kubelet's format.

    `cpu_manager` is none or static; `memory_manager` None or Static; `topology_manager` none, restricted, best-effort
    or single-numa-node, within the `topology_scope` container or pod.
    """

    cpu_manager: str | None = None
    memory_manager: str | None = None
    topology_manager: str | None = None
    topology_scope: str | None = None
    cpu_cfs_quota: bool | None = None
    cpu_cfs_quota_period: str | None = None
    pod_pids_limit: int | None = None
    max_parallel_image_pulls: int | None = None
    container_log_max_size: str | None = None
    container_log_max_files: int | None = None
    image_gc_high_threshold_percent: int | None = None
    image_gc_low_threshold_percent: int | None = None
    image_minimum_gc_age: str | None = None
    image_maximum_gc_age: str | None = None
    allowed_unsafe_sysctls: tuple[str, ...] = ()
    single_process_oom_kill: bool | None = None
    insecure_readonly_port: bool | None = None
    shutdown_grace_seconds: int | None = None
    shutdown_grace_critical_seconds: int | None = None


class LinuxPlan(Struct, frozen=True, kw_only=True):
    """Kernel settings of a pool's nodes; None or empty is GKE's default.

    `cgroup_mode` is CGROUP_MODE_V1 or _V2, `hugepages_2m` and `hugepages_1g` are counts of pages,
    `transparent_hugepages` is TRANSPARENT_HUGEPAGE_ENABLED_ALWAYS and the like, `transparent_hugepage_defrag`
    TRANSPARENT_HUGEPAGE_DEFRAG_DEFER and the like.
    """

    sysctls: Mapping[str, str] = field(default_factory=dict[str, str])
    cgroup_mode: str | None = None
    hugepages_2m: int | None = None
    hugepages_1g: int | None = None
    transparent_hugepages: str | None = None
    transparent_hugepage_defrag: str | None = None
