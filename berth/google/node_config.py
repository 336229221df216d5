"""The nodes of a pool as arguments: machine, accelerators, disks, identity, reservation, kubelet and kernel."""

from __future__ import annotations

from typing import Any, Final

from berth.plan.gke import GpuPlan, NodePoolPlan
from berth.plan.node_settings import KubeletPlan, LinuxPlan

SCOPE: Final = "https://www.googleapis.com/auth/cloud-platform"
"""The only OAuth scope of nodes; their permissions come from the roles of their service account."""

_EFFECTS: Final = {"NoSchedule": "NO_SCHEDULE", "PreferNoSchedule": "PREFER_NO_SCHEDULE", "NoExecute": "NO_EXECUTE"}
"""Taint effect in Kubernetes → in Google's API, the only form that the provider accepts."""

_SWITCHES: Final = {None: None, True: "TRUE", False: "FALSE"}
"""A boolean → the text that the provider expects for the kubelet's read-only port."""


def node_config(plan: NodePoolPlan, service_account: object, reservation: object) -> dict[str, Any]:
    """Return the node config of a pool, with None for what is not set.

    `service_account` is that of nodes without one of their own; `reservation` replaces the plan's name of it.
    """
    ssd = plan.local_ssd
    return {
        "machine_type": plan.machine_type,
        "spot": plan.spot,
        "reservation_affinity": _affinity(plan, reservation),
        "guest_accelerators": None if plan.gpu is None else [_guest_accelerator(plan.gpu)],
        "labels": dict(sorted(plan.labels.items())),
        "taints": [
            {"key": taint.key, "value": taint.value, "effect": _EFFECTS[taint.effect]}
            for taint in sorted(plan.taints, key=lambda taint: (taint.key, taint.value, taint.effect))
        ],
        "disk_type": plan.disk_type,
        "disk_size_gb": plan.disk_size_gb,
        "service_account": plan.service_account or service_account,
        "oauth_scopes": [SCOPE],
        "gvnic": {"enabled": True},
        "gcfs_config": {"enabled": plan.image_streaming},
        "workload_metadata_config": {"mode": "GKE_METADATA"},
        "shielded_instance_config": {"enable_secure_boot": plan.secure_boot, "enable_integrity_monitoring": True},
        "flex_start": plan.flex_start or None,
        # The API accepts only seconds, not 7d.
        "max_run_duration": None if plan.max_run_seconds is None else f"{plan.max_run_seconds}s",
        "confidential_nodes": plan.confidential and {"enabled": True, "confidential_instance_type": plan.confidential},
        "ephemeral_storage_local_ssd_config": {"local_ssd_count": ssd.ephemeral} if ssd and ssd.ephemeral else None,
        "local_nvme_ssd_block_config": {"local_ssd_count": ssd.block} if ssd and ssd.block else None,
        "kubelet_config": _kubelet_config(plan.kubelet),
        "linux_node_config": _linux_node_config(plan.linux),
    }


def _affinity(plan: NodePoolPlan, reservation: object) -> dict[str, Any]:
    """Return the affinity, always explicit: without it, Google would use any open reservation that matches."""
    if plan.reservation is None:
        return {"consume_reservation_type": plan.affinity or "NO_RESERVATION"}
    return {
        "consume_reservation_type": plan.affinity or "SPECIFIC_RESERVATION",
        "key": "compute.googleapis.com/reservation-name",
        "values": [plan.reservation if reservation is None else reservation],
    }


def _guest_accelerator(gpu: GpuPlan) -> dict[str, Any]:
    sharing = gpu.sharing
    return {
        "type": gpu.type,
        "count": gpu.count,
        "gpu_driver_installation_config": {"gpu_driver_version": gpu.driver_version},
        "gpu_partition_size": gpu.partition_size,
        "gpu_sharing_config": sharing
        and {"gpu_sharing_strategy": sharing.strategy, "max_shared_clients_per_gpu": sharing.clients},
    }


def _kubelet_config(kubelet: KubeletPlan | None) -> dict[str, Any] | None:
    if kubelet is None or kubelet == KubeletPlan():
        return None
    topology_manager = {"policy": kubelet.topology_manager, "scope": kubelet.topology_scope}
    return {
        "cpu_manager_policy": kubelet.cpu_manager,
        "memory_manager": kubelet.memory_manager and {"policy": kubelet.memory_manager},
        "topology_manager": topology_manager if any(topology_manager.values()) else None,
        "cpu_cfs_quota": kubelet.cpu_cfs_quota,
        "cpu_cfs_quota_period": kubelet.cpu_cfs_quota_period,
        "pod_pids_limit": kubelet.pod_pids_limit,
        "max_parallel_image_pulls": kubelet.max_parallel_image_pulls,
        "container_log_max_size": kubelet.container_log_max_size,
        "container_log_max_files": kubelet.container_log_max_files,
        "image_gc_high_threshold_percent": kubelet.image_gc_high_threshold_percent,
        "image_gc_low_threshold_percent": kubelet.image_gc_low_threshold_percent,
        "image_minimum_gc_age": kubelet.image_minimum_gc_age,
        "image_maximum_gc_age": kubelet.image_maximum_gc_age,
        "allowed_unsafe_sysctls": sorted(kubelet.allowed_unsafe_sysctls) or None,
        "single_process_oom_kill": kubelet.single_process_oom_kill,
        "insecure_kubelet_readonly_port_enabled": _SWITCHES[kubelet.insecure_readonly_port],
        "shutdown_grace_period_seconds": kubelet.shutdown_grace_seconds,
        "shutdown_grace_period_critical_pods_seconds": kubelet.shutdown_grace_critical_seconds,
    }


def _linux_node_config(linux: LinuxPlan | None) -> dict[str, Any] | None:
    if linux is None or linux == LinuxPlan():
        return None
    hugepages = {"hugepage_size2m": linux.hugepages_2m, "hugepage_size1g": linux.hugepages_1g}
    return {
        "sysctls": dict(sorted(linux.sysctls.items())) or None,
        "cgroup_mode": linux.cgroup_mode,
        "hugepages_config": None if all(count is None for count in hugepages.values()) else hugepages,
        "transparent_hugepage_enabled": linux.transparent_hugepages,
        "transparent_hugepage_defrag": linux.transparent_hugepage_defrag,
    }
