"""Convert the nodes of a pool to arguments of the provider: machine, accelerators, disks, identity, reservation."""

from __future__ import annotations

from typing import Final

import pulumi
import pulumi_gcp as gcp

from berth.google.auto_provisioning import SCOPE
from berth.plan.gke import GpuPlan, NodePoolPlan
from berth.plan.node_settings import GpuSharingPlan
from components.gke import node_system

_EFFECTS: Final = {"NoSchedule": "NO_SCHEDULE", "PreferNoSchedule": "PREFER_NO_SCHEDULE", "NoExecute": "NO_EXECUTE"}
"""Taint effect in Kubernetes → in Google's API, the only form that the provider accepts."""


def node_config(
    plan: NodePoolPlan, service_account: pulumi.Input[str] | None, reservation: pulumi.Input[str] | None
) -> gcp.container.NodePoolNodeConfigArgs:
    """Return the node config of a pool; `reservation` is the live name of a reservation of the same program."""
    arguments = gcp.container.NodePoolNodeConfigArgs(
        machine_type=plan.machine_type,
        spot=plan.spot,
        reservation_affinity=_affinity(plan, reservation),
        guest_accelerators=None if plan.gpu is None else [_gpu(plan.gpu)],
        labels=dict(sorted(plan.labels.items())),
        taints=_taints(plan),
        disk_type=plan.disk_type,
        disk_size_gb=plan.disk_size_gb,
        service_account=plan.service_account or service_account,
        oauth_scopes=[SCOPE],
        gvnic=gcp.container.NodePoolNodeConfigGvnicArgs(enabled=True),
        gcfs_config=gcp.container.NodePoolNodeConfigGcfsConfigArgs(enabled=plan.image_streaming),
        workload_metadata_config=gcp.container.NodePoolNodeConfigWorkloadMetadataConfigArgs(mode="GKE_METADATA"),
        shielded_instance_config=gcp.container.NodePoolNodeConfigShieldedInstanceConfigArgs(
            enable_secure_boot=plan.secure_boot, enable_integrity_monitoring=True
        ),
    )
    _lifetime(arguments, plan)
    _hardware(arguments, plan)
    _local_ssds(arguments, plan)
    arguments.kubelet_config = node_system.kubelet(plan.kubelet)
    arguments.linux_node_config = node_system.linux(plan.linux)
    return arguments


def _affinity(
    plan: NodePoolPlan, reservation: pulumi.Input[str] | None
) -> gcp.container.NodePoolNodeConfigReservationAffinityArgs:
    """Return the affinity, always explicit: without it, Google would use any open reservation that matches."""
    if plan.reservation is None:
        return gcp.container.NodePoolNodeConfigReservationAffinityArgs(
            consume_reservation_type=plan.affinity or "NO_RESERVATION"
        )
    return gcp.container.NodePoolNodeConfigReservationAffinityArgs(
        consume_reservation_type=plan.affinity or "SPECIFIC_RESERVATION",
        key="compute.googleapis.com/reservation-name",
        values=[plan.reservation if reservation is None else reservation],
    )


def _gpu(plan: GpuPlan) -> gcp.container.NodePoolNodeConfigGuestAcceleratorArgs:
    driver = gcp.container.NodePoolNodeConfigGuestAcceleratorGpuDriverInstallationConfigArgs(
        gpu_driver_version=plan.driver_version
    )
    return gcp.container.NodePoolNodeConfigGuestAcceleratorArgs(
        type=plan.type,
        count=plan.count,
        gpu_driver_installation_config=driver,
        gpu_partition_size=plan.partition_size,
        gpu_sharing_config=None if plan.sharing is None else _sharing(plan.sharing),
    )


def _sharing(plan: GpuSharingPlan) -> gcp.container.NodePoolNodeConfigGuestAcceleratorGpuSharingConfigArgs:
    return gcp.container.NodePoolNodeConfigGuestAcceleratorGpuSharingConfigArgs(
        gpu_sharing_strategy=plan.strategy, max_shared_clients_per_gpu=plan.clients
    )


def _taints(plan: NodePoolPlan) -> list[gcp.container.NodePoolNodeConfigTaintArgs]:
    return [
        gcp.container.NodePoolNodeConfigTaintArgs(key=taint.key, value=taint.value, effect=_EFFECTS[taint.effect])
        for taint in sorted(plan.taints, key=lambda taint: (taint.key, taint.value, taint.effect))
    ]


def _lifetime(arguments: gcp.container.NodePoolNodeConfigArgs, plan: NodePoolPlan) -> None:
    """Set the maximum lifetime of a node."""
    if plan.flex_start:
        arguments.flex_start = True
    if plan.max_run_seconds is not None:
        arguments.max_run_duration = f"{plan.max_run_seconds}s"  # the API accepts only seconds, not 7d


def _hardware(arguments: gcp.container.NodePoolNodeConfigArgs, plan: NodePoolPlan) -> None:
    """Set features that only some machines have; sets only what the plan sets."""
    if plan.confidential is not None:
        arguments.confidential_nodes = gcp.container.NodePoolNodeConfigConfidentialNodesArgs(
            enabled=True, confidential_instance_type=plan.confidential
        )


def _local_ssds(arguments: gcp.container.NodePoolNodeConfigArgs, plan: NodePoolPlan) -> None:
    if plan.local_ssd is None:
        return
    if plan.local_ssd.ephemeral:
        arguments.ephemeral_storage_local_ssd_config = (
            gcp.container.NodePoolNodeConfigEphemeralStorageLocalSsdConfigArgs(local_ssd_count=plan.local_ssd.ephemeral)
        )
    if plan.local_ssd.block:
        arguments.local_nvme_ssd_block_config = gcp.container.NodePoolNodeConfigLocalNvmeSsdBlockConfigArgs(
            local_ssd_count=plan.local_ssd.block
        )
