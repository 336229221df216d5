"""Plan node pools: one per pool, or one per slice of several hosts."""

from __future__ import annotations

from collections.abc import Mapping

from berth import catalog
from berth.names import workload_policy_name
from berth.plan.capacity import WorkloadPolicyPlan
from berth.plan.fleet import PoolPlan
from berth.plan.gke import GpuPlan, NodePoolPlan
from berth.plan.node_settings import AcceleratorNetworksPlan, Bounds, NodeNetworkPlan, PlacementPlan
from berth.planner.allowances import is_protected
from berth.planner.cluster.gke import planned_node_account
from berth.planner.cluster.versions import may_support_flex_start
from berth.planner.context import PlanningContext
from berth.planner.machines.accelerator_networks import node_network
from berth.planner.machines.node_pool_names import node_pool_names
from berth.planner.machines.pools import BERTH, SYSTEM, PlannedPool
from berth.planner.machines.reservations import is_delivered
from berth.planner.queueing.node_labels import (
    accelerator_taints,
    all_node_labels,
    node_taints,
    sandbox_taints,
)
from berth.rules.gke.placement import placement
from berth.rules.gke.settings import node_pool_settings, upgrade_surge
from berth.spec.machines.pools import NodeSettings


def plan_pools(
    context: PlanningContext,
    planned_pools: dict[str, PlannedPool],
    flavor_of: dict[str, str],
    networks: tuple[AcceleratorNetworksPlan, ...],
) -> tuple[PoolPlan, ...]:
    """Plan every pool that has a flavor; report node pools with the same key (in Pulumi) or name (in GKE)."""
    plans = tuple(pool_plan(context, p, flavor_of[n], networks) for n, p in planned_pools.items() if n in flavor_of)
    has_system_pool = context.spec.cluster.existing is None
    owner_by_name = {(kind, SYSTEM): "the system pool" for kind in ("key", "name") if has_system_pool}
    for plan in plans:
        used_names = {(kind, text) for n in plan.node_pools for kind, text in (("key", n.key), ("name", n.name))}
        if clash := next((used_name for used_name in sorted(used_names) if used_name in owner_by_name), None):
            key = ("nodePoolName",) if planned_pools[plan.name].spec.node_pool_name else ()
            remedy = f"write another {'nodePoolName' if key else 'pool name'}"
            same = f"the same name, '{clash[1]}', as {owner_by_name[clash]}"
            message = f"a node pool of '{plan.name}' would have {same}; {remedy}"
            context.problems.fault("duplicate-name", ("pools", plan.name, *key), message)
        owner_by_name.update(dict.fromkeys(used_names, f"a node pool of '{plan.name}'"))
    return plans


def pool_plan(
    context: PlanningContext, pool: PlannedPool, flavor: str, networks: tuple[AcceleratorNetworksPlan, ...]
) -> PoolPlan:
    """Return the plan of a pool with its node pools."""
    hardware = pool.hardware
    return PoolPlan(
        name=pool.name,
        formerly=pool.spec.formerly,
        machine_type=pool.spec.machine_type,
        topology=hardware.shape.topology if hardware.shape else None,
        slices=hardware.slices,
        hosts_per_slice=hardware.shape.hosts if hardware.shape else None,
        nodes=hardware.nodes,
        accelerators=hardware.accelerators,
        accelerator=hardware.machine.accelerator,
        resource=hardware.machine.resource,
        vcpu=hardware.machine.vcpu,
        memory_gb=hardware.machine.memory_gb,
        capacity="compute-class" if pool.compute_class else pool.spec.capacity.kind,
        compute_class=pool.compute_class.name if pool.compute_class else None,
        reservation=pool.reservation,
        made_by=pool.made_by,
        grouped=pool.made_by_gke and pool.spec.compact_placement,
        zones=pool.zones,
        max_pods=pool.max_pods,
        flavor=flavor,
        node_labels=all_node_labels(pool),
        taints=(*accelerator_taints(pool), *node_taints(pool), *sandbox_taints(pool)),
        node_pools=_node_pools(context, pool, node_network(context, pool, networks))
        if is_created(context, pool)
        else (),
    )


def is_created(context: PlanningContext, pool: PlannedPool) -> bool:
    """Return whether Berth creates the node pools now; GKE refuses those of a reservation that is not delivered."""
    return pool.made_by == BERTH and is_delivered(context, pool.spec.capacity.reservation)


def _node_pools(context: PlanningContext, pool: PlannedPool, network: NodeNetworkPlan) -> tuple[NodePoolPlan, ...]:
    shape, slices = pool.hardware.shape, pool.hardware.slices
    names, settings = node_pool_names(pool.spec, pool.key, pool.hardware), _node_settings(context, pool)
    if shape is None or slices is None or not shape.multi_host:
        return (_node_pool(context, pool, pool.key, names[pool.key], pool.hardware.nodes, network, settings),)
    return tuple(
        _node_pool(
            context,
            pool,
            key,
            name,
            Bounds(min=shape.hosts if count <= slices.min else 0, max=shape.hosts),
            network,
            settings,
        )
        for count, (key, name) in enumerate(names.items(), 1)
    )


def _node_pool(
    context: PlanningContext,
    pool: PlannedPool,
    key: str,
    name: str,
    nodes: Bounds,
    network: NodeNetworkPlan,
    settings: NodeSettings,
) -> NodePoolPlan:
    machine, shape = pool.hardware.machine, pool.hardware.shape
    pool_settings = node_pool_settings(
        pool.request, nodes, flex_start_known=may_support_flex_start(context, pool.request)
    )
    consume_type = pool_settings.affinity.type
    is_unnamed = consume_type == "SPECIFIC_RESERVATION" and pool_settings.affinity.value is None
    return NodePoolPlan(
        key=key,
        name=name,
        machine_type=pool.spec.machine_type,
        settings=settings,
        zones=pool.zones,
        nodes_per_zone=pool_settings.nodes_per_zone,
        total_nodes=pool_settings.total,
        zone_nodes=pool_settings.per_zone,
        location_policy=pool_settings.location_policy,
        slice_topology=shape.topology if shape and shape.multi_host else None,
        gpu=GpuPlan(type=machine.accelerator, count=machine.accelerators) if machine.kind == "gpu" else None,
        placement=_placement_plan(context, pool),
        spot=pool_settings.spot,
        reservation=pool_settings.affinity.value,
        affinity=consume_type if consume_type.startswith("ANY") or is_unnamed else None,
        flex_start=pool_settings.flex_start,
        queued=pool_settings.queued,
        max_run_seconds=pool.request.node_run_seconds,
        auto_repair=pool_settings.auto_repair,
        attached_ssds=machine.ssd_automatic > 0,
        network=network,
        labels=dict(
            sorted(
                {
                    **pool.spec.labels,
                    **pool.own_labels,
                    **dict(pool_settings.labels),
                    # GKE runs its DRANET driver on nodes with this label.
                    **({catalog.labels().dra_driver: "true"} if network.accelerator_profile is not None else {}),
                }.items()
            )
        ),
        taints=pool.taints,
        image_streaming=context.spec.cluster.image_streaming,
        protect=is_protected(context, pool.name),
        adopted=pool.spec.adopted or None,
    )


def _node_settings(context: PlanningContext, pool: PlannedPool) -> NodeSettings:
    """Return the settings of a pool's nodes with Berth's defaults.

    The account is None for the cluster's, also where the stack file writes its address. An adopted pool keeps the
    written address, which a look-up compares with its nodes'.
    """
    account = pool.spec.service_account
    is_default = account == planned_node_account(context) and not pool.spec.adopted
    return pool.request.settings.model_copy(
        {
            "secure_boot": pool.spec.secure_boot is not False,
            "surge": upgrade_surge(pool.request),
            "service_account": None if is_default else account,
            "disk_type": pool.spec.disk_type or pool.hardware.machine.default_boot_disk,
            "boot_disk_kms_key": pool.spec.boot_disk_kms_key or context.spec.cluster.boot_disk_kms_key,
        }
    )


# --- placement --------------------------------------------------------------------------------------------------------


def _placement_plan(context: PlanningContext, pool: PlannedPool) -> PlacementPlan | None:
    """Return the placement; None if it has no constraint, or the slice's topology already implies it."""
    pool_placement = placement(pool.request)
    policy = _workload_policy(context, pool)
    name = policy.name if policy else pool_placement.existing_policy
    if pool_placement.type is None or (name is None and pool_placement.tpu_topology):
        return None
    return PlacementPlan(type=pool_placement.type, policy=name, tpu_topology=pool_placement.tpu_topology)


def _workload_policy(context: PlanningContext, pool: PlannedPool) -> WorkloadPolicyPlan | None:
    policy = placement(pool.request).policy
    if policy is None:
        return None
    mode = policy.topology_mode
    key = f"{pool.hardware.machine.accelerator}-{policy.accelerator_topology}{'-provision-only' if mode else ''}"
    return WorkloadPolicyPlan(
        key=key,
        name=workload_policy_name(context.stack, key),
        region=context.region,
        accelerator_topology=policy.accelerator_topology,
        topology_mode=mode,
    )


def workload_policies(
    context: PlanningContext, planned_pools: Mapping[str, PlannedPool]
) -> tuple[WorkloadPolicyPlan, ...]:
    """Return the workload policies; pools with the same accelerator and topology share one."""
    policies = [_workload_policy(context, pool) for pool in planned_pools.values() if is_created(context, pool)]
    return tuple({policy.key: policy for policy in policies if policy}.values())
