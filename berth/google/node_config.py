"""The nodes of a pool as arguments: machine, accelerators, disks, identity, reservation, kubelet and kernel."""

from __future__ import annotations

from typing import Any, Final

from berth.plan.gke import GpuPlan, NodePoolPlan
from berth.spec.machines.node_system import NodeSystemSpec
from berth.spec.machines.pools import NodeSettings

SCOPE: Final = "https://www.googleapis.com/auth/cloud-platform"
"""The only OAuth scope of nodes; their permissions come from the roles of their service account."""

_EFFECTS: Final = {"NoSchedule": "NO_SCHEDULE", "PreferNoSchedule": "PREFER_NO_SCHEDULE", "NoExecute": "NO_EXECUTE"}
"""Taint effect in Kubernetes → in Google's API, the only form that the provider accepts."""

DRIVER_VERSIONS: Final = {"default": "DEFAULT", "latest": "LATEST", "disabled": "INSTALLATION_DISABLED"}
"""Value of driverVersion → the provider's enum; `disabled` requires an installer DaemonSet."""

_SWITCHES: Final = {None: None, True: "TRUE", False: "FALSE"}
"""A boolean → the text that the provider expects for the kubelet's read-only port."""


def node_config(
    plan: NodePoolPlan, service_account: object, reservation: object, boot_disk_key: object = None
) -> dict[str, Any]:
    """Return the node config of a pool, with None for what is not set.

    `service_account` is that of nodes without one of their own; `reservation` and `boot_disk_key` replace the plan's.
    """
    settings = plan.settings
    ssd, system, interval = settings.local_ssd, settings.node_system_config, settings.maintenance_interval
    return {
        "machine_type": plan.machine_type,
        "spot": plan.spot,
        "reservation_affinity": _affinity(plan, reservation),
        "guest_accelerators": None if plan.gpu is None else [_guest_accelerator(plan.gpu, settings)],
        "labels": dict(sorted(plan.labels.items())),
        "taints": [
            {"key": taint.key, "value": taint.value, "effect": _EFFECTS[taint.effect]}
            for taint in sorted(plan.taints, key=lambda taint: (taint.key, taint.value, taint.effect))
        ],
        "disk_type": settings.disk_type,
        "disk_size_gb": settings.disk_size_gb,
        "boot_disk_kms_key": settings.boot_disk_kms_key if boot_disk_key is None else boot_disk_key,
        "secondary_boot_disks": [
            {"disk_image": each.disk_image, "mode": each.mode} for each in settings.secondary_boot_disks
        ]
        or None,
        "image_type": settings.image_type,
        "tags": sorted(settings.tags) or None,
        "sandbox_config": settings.sandbox and {"type": settings.sandbox.upper()},
        "advanced_machine_features": settings.threads_per_core and {"threads_per_core": settings.threads_per_core},
        "host_maintenance_policy": interval and {"maintenance_interval": interval},
        "service_account": settings.service_account or service_account,
        "oauth_scopes": [SCOPE],
        "gvnic": {"enabled": True},
        "gcfs_config": {"enabled": plan.image_streaming},
        "workload_metadata_config": {"mode": "GKE_METADATA"},
        "shielded_instance_config": {
            "enable_secure_boot": settings.secure_boot is not False,
            "enable_integrity_monitoring": True,
        },
        "flex_start": plan.flex_start or None,
        # The API accepts only seconds, not 7d.
        "max_run_duration": None if plan.max_run_seconds is None else f"{plan.max_run_seconds}s",
        "confidential_nodes": settings.confidential_nodes
        and {"enabled": True, "confidential_instance_type": settings.confidential_nodes},
        "ephemeral_storage_local_ssd_config": {"local_ssd_count": ssd.ephemeral} if ssd and ssd.ephemeral else None,
        "local_nvme_ssd_block_config": {"local_ssd_count": ssd.block} if ssd and ssd.block else None,
        "kubelet_config": system and _kubelet_config(system),
        "linux_node_config": system and _linux_node_config(system),
    }


def _affinity(plan: NodePoolPlan, reservation: object) -> dict[str, Any]:
    """Return the affinity, always explicit: without it, Google would use any open reservation that matches."""
    name = plan.reservation if reservation is None else reservation
    if name is None:
        return {"consume_reservation_type": plan.affinity or "NO_RESERVATION"}
    return {
        "consume_reservation_type": plan.affinity or "SPECIFIC_RESERVATION",
        "key": "compute.googleapis.com/reservation-name",
        "values": [name],
    }


def _guest_accelerator(gpu: GpuPlan, settings: NodeSettings) -> dict[str, Any]:
    sharing = settings.gpu_sharing
    return {
        "type": gpu.type,
        "count": gpu.count,
        "gpu_driver_installation_config": {"gpu_driver_version": DRIVER_VERSIONS[settings.driver_version]},
        "gpu_partition_size": settings.gpu_partition,
        "gpu_sharing_config": sharing
        and {
            "gpu_sharing_strategy": _enum(sharing.strategy),
            "max_shared_clients_per_gpu": sharing.max_shared_clients,
        },
    }


def _kubelet_config(system: NodeSystemSpec) -> dict[str, Any] | None:
    """Return the kubelet's settings; None if none is set, for an empty block is a change to the provider."""
    kubelet = system.kubelet
    topology_manager = {"policy": kubelet.topology_manager_policy, "scope": kubelet.topology_manager_scope}
    return _unless_empty(
        {
            "cpu_manager_policy": kubelet.cpu_manager_policy,
            "memory_manager": kubelet.memory_manager_policy and {"policy": kubelet.memory_manager_policy},
            "topology_manager": _unless_empty(topology_manager),
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
            "insecure_kubelet_readonly_port_enabled": _SWITCHES[kubelet.insecure_kubelet_readonly_port_enabled],
            "shutdown_grace_period_seconds": kubelet.shutdown_grace_period_seconds,
            "shutdown_grace_period_critical_pods_seconds": kubelet.shutdown_grace_period_critical_pods_seconds,
        }
    )


def _linux_node_config(system: NodeSystemSpec) -> dict[str, Any] | None:
    """Return the kernel's settings; None if none is set."""
    hugepages, enabled = system.hugepages, system.transparent_hugepages
    return _unless_empty(
        {
            "sysctls": dict(sorted(system.sysctls.items())) or None,
            "cgroup_mode": system.cgroup_mode and f"CGROUP_MODE_{_enum(system.cgroup_mode)}",
            "hugepages_config": _unless_empty(
                {"hugepage_size2m": hugepages.size_2m, "hugepage_size1g": hugepages.size_1g}
            ),
            "transparent_hugepage_enabled": enabled and f"TRANSPARENT_HUGEPAGE_ENABLED_{_enum(enabled)}",
            "transparent_hugepage_defrag": system.transparent_hugepage_defrag
            and f"TRANSPARENT_HUGEPAGE_DEFRAG_{_enum(system.transparent_hugepage_defrag)}",
        }
    )


def _unless_empty(block: dict[str, Any]) -> dict[str, Any] | None:
    return None if all(value is None for value in block.values()) else block


def _enum(word: str) -> str:
    """Return a word of the stack file as a name of an enum of the provider: time-sharing as TIME_SHARING."""
    return word.upper().replace("-", "_")
