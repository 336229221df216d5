"""Schema of a pool's node settings; keys and bounds as in GKE's node system config."""

from __future__ import annotations

from typing import Annotated, Literal

from berth.spec.amounts import Seconds
from berth.spec.base import Entry, Model, Section, Sequence, Text, default_field, validation_fault
from berth.spec.model import Field, check_model

MAX_SURGE = 20
"""Maximum of nodes upgraded at a time, surge and unavailable nodes together (GKE docs: surge upgrades)."""

SysctlName = Annotated[str, Text(r"(fs|kernel|net|vm)(\.[a-z0-9_]+)+", "a sysctl such as net.core.somaxconn")]
SysctlValue = Annotated[str, Text(r"-?[0-9]+( [0-9]+)*", 'the value of a sysctl, in quotes, such as "2048"')]
GoDuration = Annotated[str, Text(r"([0-9]+(ns|us|ms|s|m|h))+", 'a duration such as "100ms" or "2m"')]
LogSize = Annotated[str, Text(r"[1-9][0-9]*(Ki|Mi|Gi)", "a size such as 10Mi")]
Percent = Annotated[int, Field(ge=10, le=85)]
GraceSeconds = Annotated[int, Field(ge=0, le=86400)]


class SurgeSpec(Model):
    """Nodes that an upgrade adds before it drains others, and drains first. Together at most 20."""

    max_surge: int = Field(default=0, ge=0, le=MAX_SURGE)
    """Nodes that are added before others are drained."""
    max_unavailable: int = Field(default=0, ge=0, le=MAX_SURGE)
    """Nodes that are drained first."""

    @check_model
    def _check_not_empty(self) -> SurgeSpec:
        together = self.max_surge + self.max_unavailable
        if not 1 <= together <= MAX_SURGE:
            message = f"maxSurge and maxUnavailable add up to {together}; write values that add up to 1 to {MAX_SURGE}"
            raise validation_fault("bad-value", message)
        return self


class BlueGreenSpec(Model):
    """An upgrade that creates all new nodes first, then drains the old ones in batches, and deletes them."""

    batch_node_count: int = Field(default=1, ge=1, le=1000)
    """Number of old nodes that are drained at a time."""
    batch_soak_duration: Seconds | None = None
    """Pause after each batch, such as `30m`. By default GKE's."""
    node_pool_soak_duration: Seconds | None = None
    """Time for which the drained nodes stay, at most 7 days. By default GKE's, an hour."""


class KubeletSpec(Model):
    """Kubelet settings. Keys that are left out have GKE's defaults."""

    cpu_manager_policy: Literal["none", "static"] | None = None
    """Policy of the CPU manager."""
    memory_manager_policy: Literal["None", "Static"] | None = None
    """Policy of the memory manager."""
    topology_manager_policy: Literal["none", "restricted", "best-effort", "single-numa-node"] | None = None
    """Policy of the topology manager."""
    topology_manager_scope: Literal["container", "pod"] | None = None
    """Scope of the topology manager."""
    cpu_cfs_quota: bool | None = None
    """Enforce CPU limits by CFS quota."""
    cpu_cfs_quota_period: GoDuration | None = None
    """Period of the CFS quota, such as `100ms`."""
    pod_pids_limit: int | None = Field(default=None, ge=1024, le=4_194_304)
    """Maximum number of processes of a pod."""
    max_parallel_image_pulls: int | None = Field(default=None, ge=2, le=5)
    """Maximum number of image pulls at once."""
    container_log_max_size: LogSize | None = None
    """Size at which a container's log is rotated, such as `10Mi`."""
    container_log_max_files: int | None = Field(default=None, ge=2, le=10)
    """Number of log files of a container."""
    image_gc_high_threshold_percent: Percent | None = None
    """Disk usage at which image garbage collection starts."""
    image_gc_low_threshold_percent: Percent | None = None
    """Disk usage at which image garbage collection stops."""
    image_minimum_gc_age: GoDuration | None = None
    """Age from which an unused image may be removed."""
    image_maximum_gc_age: GoDuration | None = None
    """Age at which an unused image is removed."""
    allowed_unsafe_sysctls: Sequence[str] = ()
    """Unsafe sysctls that pods may set."""
    single_process_oom_kill: bool | None = None
    """Kill only the process that runs out of memory, not its container."""
    insecure_kubelet_readonly_port_enabled: bool | None = None
    """Serve the insecure read-only port."""
    shutdown_grace_period_seconds: GraceSeconds | None = None
    """Time that pods have to end when a node shuts down, in seconds."""
    shutdown_grace_period_critical_pods_seconds: GraceSeconds | None = None
    """Part of that time for critical pods, in seconds."""

    @check_model
    def _check_gc_thresholds(self) -> KubeletSpec:
        low, high = self.image_gc_low_threshold_percent, self.image_gc_high_threshold_percent
        if low is not None and high is not None and low >= high:
            raise validation_fault(
                "bad-value",
                f"imageGcLowThresholdPercent {low} is not below imageGcHighThresholdPercent {high}; write a lower "
                "imageGcLowThresholdPercent",
            )
        return self


class HugepagesSpec(Model):
    """Huge pages that each node reserves."""

    size_2m: int | None = Field(default=None, ge=0, alias="size2m")
    """Number of pages of 2 MiB."""
    size_1g: int | None = Field(default=None, ge=0, alias="size1g")
    """Number of pages of 1 GiB."""


class NodeSystemSpec(Model):
    """Kubelet and kernel settings of nodes. Keys that are left out have GKE's defaults."""

    kubelet: Entry[KubeletSpec] = default_field(KubeletSpec)
    """Kubelet settings."""
    sysctls: Section[SysctlName, SysctlValue] = Field(default_factory=dict)
    """Kernel settings by name, values in quotes."""
    cgroup_mode: Literal["v1", "v2"] | None = None
    """Version of cgroups. By default GKE's."""
    hugepages: Entry[HugepagesSpec] = default_field(HugepagesSpec)
    """Huge pages that each node reserves."""
    transparent_hugepages: Literal["always", "madvise", "never"] | None = None
    """When the kernel uses transparent huge pages. By default GKE's."""
    transparent_hugepage_defrag: Literal["always", "defer", "defer-with-madvise", "madvise", "never"] | None = None
    """How the kernel defragments memory for transparent huge pages. By default GKE's."""
