"""Plan multi-tier checkpointing: which nodes have the volume, what it needs of the cluster, and its rights.

Sources: GKE's page on multi-tier checkpointing; GoogleCloudPlatform's high-scale-checkpointing
(pkg/multitier-controller, one driver for a cluster); xpk, `core/mtc.py`. Read 2026-11-29.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from berth import catalog
from berth.diagnostics import FieldPath, join_or
from berth.manifests.quantities import quantity
from berth.plan.compute_classes import ComputeClassPlan
from berth.plan.fleet import PoolPlan
from berth.plan.gke import CheckpointingPlan
from berth.plan.grouping import grouped
from berth.plan.node_settings import Toleration
from berth.planner.context import PlanningContext
from berth.spec.machines.bucket_mounts import CheckpointingSpec

_PATH: Final[FieldPath] = ("cluster", "checkpointing")
_ACCOUNT: Final = "ns/gke-managed-checkpointing/sa/gke-checkpointing-multitier-node"
"""Kubernetes service account of GKE's driver."""
_GIB = 2**30


def checkpointing_plan(
    context: PlanningContext, pools: Iterable[PoolPlan], classes: Iterable[ComputeClassPlan]
) -> CheckpointingPlan | None:
    """Return the plan of the cluster's checkpointing; None without it, or if it cannot be on this cluster."""
    cluster = context.spec.cluster
    spec = cluster.checkpointing
    if spec is None or cluster.mode == "autopilot":
        return None
    stated = context.cluster_exists
    is_known = not stated and not context.is_set_aside("cluster", "storageDrivers")
    if is_known and "gcs-fuse" not in cluster.storage_drivers:
        drivers = ", ".join(("gcs-fuse", *cluster.storage_drivers))
        message = "copies checkpoints with the Cloud Storage FUSE driver, which is off"
        context.problems.fault("checkpointing", _PATH, f"{message}; write cluster.storageDrivers: [{drivers}]")
    used = _pools_by_machine(pools, classes)
    if spec.machine_type not in used:
        if not context.lacks_entries("pools", "computeClasses"):
            hint = f"; write {join_or(sorted(used))}" if used else "; remove checkpointing"
            message = f"no pool has machines of type '{spec.machine_type}', so no node has the volume"
            context.problems.fault("checkpointing", (*_PATH, "machineType"), message + hint)
        return None
    _check_memory(context, spec)
    taints = dict.fromkeys(
        (taint.key, taint.effect)
        for pool in used[spec.machine_type]
        for taint in pool.taints
        if taint.effect != "PreferNoSchedule"
    )
    return CheckpointingPlan(
        bucket=spec.bucket,
        machine_type=spec.machine_type,
        memory=spec.in_memory_volume_size,
        member="" if stated else _member(context),
        tolerations=tuple(Toleration(key=key, effect=effect) for key, effect in sorted(taints)),
    )


def _pools_by_machine(pools: Iterable[PoolPlan], classes: Iterable[ComputeClassPlan]) -> dict[str, list[PoolPlan]]:
    """Return the pools that have or may get nodes of each machine type."""
    machines = {each.name: [p.machine_type for p in each.priorities if p.machine_type] for each in classes}
    return grouped(
        (machine, pool)
        for pool in pools
        for machine in dict.fromkeys((pool.machine_type, *machines.get(pool.compute_class or "", ())))
    )


def _check_memory(context: PlanningContext, spec: CheckpointingSpec) -> None:
    """Report a volume that leaves no memory for pods of jobs."""
    machine = catalog.machines().get(spec.machine_type) or catalog.cpu_machine(spec.machine_type)
    size = catalog.node_allocatable(machine.vcpu, machine.memory_gb) if machine is not None else None
    if machine is None or size is None:
        return
    most = catalog.certain_allocatable(size, machine.memory_gb).memory // _GIB - 1
    if spec.in_memory_volume_size <= most * _GIB:
        return
    written = quantity("memory", spec.in_memory_volume_size)
    message = f"'{written}' leaves no memory for jobs on {spec.machine_type}, which has {machine.memory_gb:g} GB"
    remedy = f"write at most {most}Gi" if most > 0 else "write another machineType"
    context.problems.fault("checkpointing", (*_PATH, "inMemoryVolumeSize"), f"{message}; {remedy}")


def _member(context: PlanningContext) -> str:
    """Return the driver as a principal, which needs the number of the project."""
    number = context.spec.project_number
    if number is None and not context.is_set_aside("projectNumber", ""):
        message = "the right to write to the bucket needs the project number; write projectNumber at the top level"
        context.problems.fault("missing-project-number", (*_PATH, "bucket"), message)
    pool = f"projects/{number}/locations/global/workloadIdentityPools/{context.project}.svc.id.goog"
    return f"principal://iam.googleapis.com/{pool}/subject/{_ACCOUNT}"
