"""Which pools a capacity buffer can be on: those to which GKE's autoscaler adds single nodes for waiting pods."""

from __future__ import annotations

from msgspec import Struct

from berth.plan.fleet import PoolPlan
from berth.plan.kueue import CPU
from berth.planner.context import PlanningContext


class Unfit(Struct, frozen=True):
    """Why a pool cannot have a buffer, at which key of the buffer, and what to write; "" for another pool."""

    key: str
    reason: str
    remedy: str


def unfit_pool(context: PlanningContext, pool: PoolPlan) -> Unfit | None:
    """Return why a pool cannot have a buffer; None if it can."""
    name, other = f"pool '{pool.name}'", ""
    if pool.made_by == "others":
        return Unfit("pool", f"others make the nodes of {name}, and Berth does not know how they scale", other)
    if (pool.hosts_per_slice or 1) > 1:
        return Unfit(
            "pool",
            f"GKE adds the {pool.hosts_per_slice} hosts of a slice of {name} together, and a buffer is of single pods",
            other,
        )
    if pool.capacity == "queued":
        return Unfit("pool", f"GKE adds nodes to {name} for requests of queued provisioning only", other)
    if pool.capacity == "flex-start":
        return Unfit("pool", f"no source says whether GKE keeps a buffer on flex-start nodes, as {name} has", other)
    if pool.nodes.max == 0 or (pool.nodes.min == pool.nodes.max and pool.compute_class is None):
        key, most = ("slices", pool.slices.max) if pool.slices is not None else ("nodes", pool.nodes.max)
        reason = f"{name} has a fixed number of nodes, to which GKE adds none"
        return Unfit("pool", reason, f"write pools.{pool.name}.{key}: {{min: 0, max: {max(1, most)}}}")
    if context.spec.cluster.mode == "autopilot" and pool.resource == CPU and pool.compute_class is None:
        reason = f"Autopilot bills pods on {name} and not nodes, and a buffer is of nodes"
        return Unfit("pool", reason, f"write computeClass for {name}")
    return None


def unfit_for_standby(context: PlanningContext) -> Unfit | None:
    """Return why the cluster cannot have suspended nodes (GKE's page on capacity buffers, requirements)."""
    cluster, key, active = (
        context.spec.cluster,
        "provisioningStrategy",
        "write provisioningStrategy: active with a pool",
    )
    if cluster.mode == "autopilot":
        reason = "standby nodes of Autopilot need a ComputeClass without accelerators, which Berth does not make"
        return Unfit(key, reason, active)
    if cluster.node_auto_provisioning is None and not context.is_set_aside("cluster", "nodeAutoProvisioning"):
        reason = "node auto-provisioning makes standby nodes, and it is off"
        return Unfit(key, reason, "write cluster.nodeAutoProvisioning: {cpu: {max: 400}, memory: {max: 1600}}")
    if cluster.confidential_nodes:
        return Unfit(key, "GKE does not suspend confidential nodes", active)
    if cluster.boot_disk_kms_key:
        return Unfit(key, "GKE does not suspend nodes whose boot disk has a key of Cloud KMS", active)
    return None
