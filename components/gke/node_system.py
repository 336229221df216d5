"""Convert kubelet and kernel settings of nodes to arguments of the provider; sets only what the plan sets."""

from __future__ import annotations

import pulumi_gcp as gcp

from berth.plan.node_settings import KubeletPlan, LinuxPlan


def kubelet(plan: KubeletPlan | None) -> gcp.container.NodePoolNodeConfigKubeletConfigArgs | None:
    """Return the kubelet's settings; None if the plan sets none."""
    if plan is None or plan == KubeletPlan():
        return None
    return gcp.container.NodePoolNodeConfigKubeletConfigArgs(
        cpu_manager_policy=plan.cpu_manager,
        memory_manager=_memory_manager(plan),
        topology_manager=_topology_manager(plan),
        cpu_cfs_quota=plan.cpu_cfs_quota,
        cpu_cfs_quota_period=plan.cpu_cfs_quota_period,
        pod_pids_limit=plan.pod_pids_limit,
        max_parallel_image_pulls=plan.max_parallel_image_pulls,
        container_log_max_size=plan.container_log_max_size,
        container_log_max_files=plan.container_log_max_files,
        image_gc_high_threshold_percent=plan.image_gc_high_threshold_percent,
        image_gc_low_threshold_percent=plan.image_gc_low_threshold_percent,
        image_minimum_gc_age=plan.image_minimum_gc_age,
        image_maximum_gc_age=plan.image_maximum_gc_age,
        allowed_unsafe_sysctls=sorted(plan.allowed_unsafe_sysctls) or None,
        single_process_oom_kill=plan.single_process_oom_kill,
        insecure_kubelet_readonly_port_enabled=switch(plan.insecure_readonly_port),
        shutdown_grace_period_seconds=plan.shutdown_grace_seconds,
        shutdown_grace_period_critical_pods_seconds=plan.shutdown_grace_critical_seconds,
    )


def linux(plan: LinuxPlan | None) -> gcp.container.NodePoolNodeConfigLinuxNodeConfigArgs | None:
    """Return the kernel's settings; None if the plan sets none."""
    if plan is None or plan == LinuxPlan():
        return None
    return gcp.container.NodePoolNodeConfigLinuxNodeConfigArgs(
        sysctls=dict(sorted(plan.sysctls.items())) or None,
        cgroup_mode=plan.cgroup_mode,
        hugepages_config=_hugepages(plan),
        transparent_hugepage_enabled=plan.transparent_hugepages,
        transparent_hugepage_defrag=plan.transparent_hugepage_defrag,
    )


def switch(on: bool | None) -> str | None:
    """Return a boolean as the text that the provider expects here."""
    return None if on is None else "TRUE" if on else "FALSE"


def _memory_manager(plan: KubeletPlan) -> gcp.container.NodePoolNodeConfigKubeletConfigMemoryManagerArgs | None:
    if plan.memory_manager is None:
        return None
    return gcp.container.NodePoolNodeConfigKubeletConfigMemoryManagerArgs(policy=plan.memory_manager)


def _topology_manager(plan: KubeletPlan) -> gcp.container.NodePoolNodeConfigKubeletConfigTopologyManagerArgs | None:
    if plan.topology_manager is None and plan.topology_scope is None:
        return None
    return gcp.container.NodePoolNodeConfigKubeletConfigTopologyManagerArgs(
        policy=plan.topology_manager, scope=plan.topology_scope
    )


def _hugepages(plan: LinuxPlan) -> gcp.container.NodePoolNodeConfigLinuxNodeConfigHugepagesConfigArgs | None:
    if plan.hugepages_2m is None and plan.hugepages_1g is None:
        return None
    return gcp.container.NodePoolNodeConfigLinuxNodeConfigHugepagesConfigArgs(
        hugepage_size2m=plan.hugepages_2m, hugepage_size1g=plan.hugepages_1g
    )
