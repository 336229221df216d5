"""Schema of a pool's node settings; keys and bounds as in GKE's node system config."""

from __future__ import annotations

from typing import Annotated, Literal

from berth.spec.base import Entry, Model, Section, Sequence, Text, default_field, validation_fault
from berth.spec.model import Field, check_model

MAX_SURGE = 20
"""Maximum of nodes upgraded at a time, surge and unavailable nodes together (GKE docs: surge upgrades)."""

SysctlName = Annotated[str, Text(r"(fs|kernel|net|vm)(\.[a-z0-9_]+)+", "a sysctl such as net.core.somaxconn")]
SysctlValue = Annotated[str, Text(r"-?[0-9]+( [0-9]+)*", 'the value of a sysctl, in quotes, such as "2048"')]
GoDuration = Annotated[str, Text(r"([0-9]+(ns|us|ms|s|m|h))+", 'a duration such as "100ms" or "2m"')]
LogSize = Annotated[str, Text(r"[1-9][0-9]*(Ki|Mi|Gi)", "a size such as 10Mi")]
Percent = Annotated[int, Field(ge=10, le=85)]
Seconds = Annotated[int, Field(ge=0, le=86400)]


class SurgeSpec(Model):
    """How many nodes an upgrade adds before it drains others, and how many it drains first."""

    max_surge: int = Field(default=0, ge=0, le=MAX_SURGE)
    max_unavailable: int = Field(default=0, ge=0, le=MAX_SURGE)

    @check_model
    def _check_not_empty(self) -> SurgeSpec:
        together = self.max_surge + self.max_unavailable
        if not 1 <= together <= MAX_SURGE:
            message = f"maxSurge and maxUnavailable add up to {together}; write values that add up to 1 to {MAX_SURGE}"
            raise validation_fault("bad-value", message)
        return self


class KubeletSpec(Model):
    """Kubelet settings; omitted keys have GKE's defaults."""

    cpu_manager_policy: Literal["none", "static"] | None = None
    memory_manager_policy: Literal["None", "Static"] | None = None
    topology_manager_policy: Literal["none", "restricted", "best-effort", "single-numa-node"] | None = None
    topology_manager_scope: Literal["container", "pod"] | None = None
    cpu_cfs_quota: bool | None = None
    cpu_cfs_quota_period: GoDuration | None = None
    pod_pids_limit: int | None = Field(default=None, ge=1024, le=4_194_304)
    max_parallel_image_pulls: int | None = Field(default=None, ge=2, le=5)
    container_log_max_size: LogSize | None = None
    container_log_max_files: int | None = Field(default=None, ge=2, le=10)
    image_gc_high_threshold_percent: Percent | None = None
    image_gc_low_threshold_percent: Percent | None = None
    image_minimum_gc_age: GoDuration | None = None
    image_maximum_gc_age: GoDuration | None = None
    allowed_unsafe_sysctls: Sequence[str] = ()
    single_process_oom_kill: bool | None = None
    insecure_kubelet_readonly_port_enabled: bool | None = None
    shutdown_grace_period_seconds: Seconds | None = None
    shutdown_grace_period_critical_pods_seconds: Seconds | None = None

    @check_model
    def _check_gc_thresholds(self) -> KubeletSpec:
        low, high = self.image_gc_low_threshold_percent, self.image_gc_high_threshold_percent
        if low is not None and high is not None and low >= high:
            message = (
                f"imageGcLowThresholdPercent {low} is not below imageGcHighThresholdPercent {high}; write a lower "
                "imageGcLowThresholdPercent"
            )
            raise validation_fault("bad-value", message)
        return self


class HugepagesSpec(Model):
    """Huge pages to reserve, as counts of pages."""

    size_2m: int | None = Field(default=None, ge=0, alias="size2m")
    size_1g: int | None = Field(default=None, ge=0, alias="size1g")


class NodeSystemSpec(Model):
    """Kubelet and kernel settings of a pool's nodes; omitted keys have GKE's defaults."""

    kubelet: Entry[KubeletSpec] = default_field(KubeletSpec)
    sysctls: Section[SysctlName, SysctlValue] = Field(default_factory=dict)
    cgroup_mode: Literal["v1", "v2"] | None = None
    hugepages: Entry[HugepagesSpec] = default_field(HugepagesSpec)
    transparent_hugepages: Literal["always", "madvise", "never"] | None = None
    transparent_hugepage_defrag: Literal["always", "defer", "defer-with-madvise", "madvise", "never"] | None = None
