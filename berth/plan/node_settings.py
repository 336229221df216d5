"""What may be said of the nodes of a pool beyond their machine; every value in Google's own spelling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field


class LocalSsdPlan(Struct, frozen=True, kw_only=True):
    """Local SSDs of one node, as counts: behind ephemeral storage, or raw NVMe blocks. At most one is above 0."""

    ephemeral: int = 0
    block: int = 0


class GpuSharingPlan(Struct, frozen=True, kw_only=True):
    """One GPU, or one MIG partition of it, for several containers. `strategy` is TIME_SHARING or MPS."""

    strategy: str
    clients: int


class PlacementPlan(Struct, frozen=True, kw_only=True):
    """How the nodes of a pool stand to each other.

    `policy` names a resource policy of the pool's project and region: the workload policy of a TPU7x slice or of an
    NVLink domain. Google's Terraform blueprint sends a TPU7x slice as COMPACT with policy and topology together.
    """

    type: str
    policy: str | None = None
    tpu_topology: str | None = None


class UpgradePlan(Struct, frozen=True, kw_only=True):
    """How nodes are upgraded by GKE's strategy SURGE: both counts in nodes, 20 together at most."""

    max_surge: int | None = None
    max_unavailable: int | None = None


SURGE_ONE: Final = UpgradePlan(max_surge=1, max_unavailable=0)
"""One node at a time, which is replaced before it is deleted."""
DRAIN_FIRST: Final = UpgradePlan(max_surge=0, max_unavailable=1)
"""One node at a time, which is drained and deleted before another exists."""


class NodeInterfacePlan(Struct, frozen=True, kw_only=True):
    """One more network interface of every node: names, never paths, of a VPC and of its subnet.

    Names, because GKE reports names, and the provider would replace the pool over any other spelling.
    """

    network: str
    subnetwork: str


class NodeNetworkPlan(Struct, frozen=True, kw_only=True):
    """The network settings of a pool's nodes.

    `private_nodes` None leaves it to the cluster in a new pool, and as it was in one that stands. Whoever says anything
    else says it too: the provider sends false with the block where it is left out, and the nodes of a private cluster
    would get public addresses. `interfaces` come after the node's first one, in order, and
    are those of the AcceleratorNetworksPlan with the key `accelerator_networks`, or somebody else's.
    `accelerator_profile` ("auto": GKE makes networks and interfaces itself, for DRANET) excludes interfaces.
    """

    private_nodes: bool | None = None
    interfaces: tuple[NodeInterfacePlan, ...] = ()
    accelerator_networks: str | None = None
    accelerator_profile: str | None = None


class KubeletPlan(Struct, frozen=True, kw_only=True):
    """The kubelet of a pool's nodes; whatever is None is left to GKE. Durations and sizes as the kubelet spells them.

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
    """The kernel of a pool's nodes; whatever is None or empty is left to GKE.

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
