"""Convert kubelet, kernel and network settings of nodes to the provider's values."""

from __future__ import annotations

from berth.plan.node_settings import KubeletPlan, LinuxPlan, NodeNetworkPlan
from berth.spec.cluster import ClusterSpec
from berth.spec.machines.node_system import KubeletSpec, NodeSystemSpec


def kubelet_plan(spec: NodeSystemSpec | None) -> KubeletPlan | None:
    """Return the kubelet's settings; None if none are set."""
    if spec is None or spec.kubelet == KubeletSpec():
        return None
    settings = spec.kubelet
    return KubeletPlan(
        cpu_manager=settings.cpu_manager_policy,
        memory_manager=settings.memory_manager_policy,
        topology_manager=settings.topology_manager_policy,
        topology_scope=settings.topology_manager_scope,
        cpu_cfs_quota=settings.cpu_cfs_quota,
        cpu_cfs_quota_period=settings.cpu_cfs_quota_period,
        pod_pids_limit=settings.pod_pids_limit,
        max_parallel_image_pulls=settings.max_parallel_image_pulls,
        container_log_max_size=settings.container_log_max_size,
        container_log_max_files=settings.container_log_max_files,
        image_gc_high_threshold_percent=settings.image_gc_high_threshold_percent,
        image_gc_low_threshold_percent=settings.image_gc_low_threshold_percent,
        image_minimum_gc_age=settings.image_minimum_gc_age,
        image_maximum_gc_age=settings.image_maximum_gc_age,
        allowed_unsafe_sysctls=settings.allowed_unsafe_sysctls,
        single_process_oom_kill=settings.single_process_oom_kill,
        insecure_readonly_port=settings.insecure_kubelet_readonly_port_enabled,
        shutdown_grace_seconds=settings.shutdown_grace_period_seconds,
        shutdown_grace_critical_seconds=settings.shutdown_grace_period_critical_pods_seconds,
    )


def linux_plan(spec: NodeSystemSpec | None) -> LinuxPlan | None:
    """Return the kernel's settings; None if none are set."""
    if spec is None:
        return None
    plan = LinuxPlan(
        sysctls=spec.sysctls,
        cgroup_mode=_provider_enum("CGROUP_MODE_", spec.cgroup_mode),
        hugepages_2m=spec.hugepages.size_2m,
        hugepages_1g=spec.hugepages.size_1g,
        transparent_hugepages=_provider_enum("TRANSPARENT_HUGEPAGE_ENABLED_", spec.transparent_hugepages),
        transparent_hugepage_defrag=_provider_enum("TRANSPARENT_HUGEPAGE_DEFRAG_", spec.transparent_hugepage_defrag),
    )
    return None if plan == LinuxPlan() else plan


def _provider_enum(prefix: str, word: str | None) -> str | None:
    return None if word is None else prefix + word.upper().replace("-", "_")


def default_node_network(spec: ClusterSpec) -> NodeNetworkPlan:
    """Return the network settings of nodes in the cluster's network: whether they are private, if the cluster sets it.

    If it is not set, nodes of existing pools do not change with the cluster's default.
    """
    return NodeNetworkPlan(private_nodes=spec.private_nodes if "private_nodes" in spec.model_fields_set else None)
