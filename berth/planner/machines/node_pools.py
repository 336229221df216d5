"""Node pools: what GKE is asked for, pool by pool and slice by slice."""

from __future__ import annotations

from collections.abc import Mapping

from berth.names import COMPUTE, NODE_POOL, shorten
from berth.plan.accelerator_networks import AcceleratorNetworksPlan
from berth.plan.capacity import WorkloadPolicyPlan
from berth.plan.fleet import PoolPlan
from berth.plan.gke import GpuPlan, NodePoolPlan
from berth.plan.node_settings import GpuSharingPlan, LocalSsdPlan, NodeNetworkPlan, PlacementPlan, UpgradePlan
from berth.plan.nodes import Bounds
from berth.planner.allowances import protected
from berth.planner.cluster.versions import knows_flex_start
from berth.planner.context import Draft
from berth.planner.machines.accelerator_networks import node_network
from berth.planner.machines.node_settings import kubelet, linux
from berth.planner.machines.pools import BERTH, SYSTEM, Pool
from berth.planner.machines.reservations import is_there
from berth.rules.gke.gpu import DRIVERS
from berth.rules.gke.placement import placement
from berth.rules.gke.pool_request import Upgrade
from berth.rules.gke.settings import settings


def pool_plans(
    draft: Draft, known: dict[str, Pool], flavor_of: dict[str, str], networks: tuple[AcceleratorNetworksPlan, ...]
) -> tuple[PoolPlan, ...]:
    """Every pool that has a flavor. No two node pools may be one to the program (by key) or to GKE (by name)."""
    plans = tuple(_pool_plan(draft, p, flavor_of[n], networks) for n, p in known.items() if n in flavor_of)
    taken = {("key", SYSTEM): "the system pool", ("name", SYSTEM): "the system pool"}
    for plan in plans:
        claims = {(kind, text) for n in plan.node_pools for kind, text in (("key", n.key), ("name", n.name))}
        if first := next((taken[claim] for claim in sorted(claims) if claim in taken), None):
            message = f"a node pool of '{plan.name}' would have the name of one of {first}; name the pool otherwise"
            draft.problems.fault("duplicate-name", ("pools", plan.name), message)
        taken.update(dict.fromkeys(claims, f"pool '{plan.name}'"))
    return plans


def _pool_plan(draft: Draft, pool: Pool, flavor: str, networks: tuple[AcceleratorNetworksPlan, ...]) -> PoolPlan:
    """The pool as people read it, with the node pools it becomes."""
    machines = pool.hardware
    return PoolPlan(
        name=pool.name,
        formerly=pool.spec.formerly,
        machine_type=pool.spec.machine_type,
        topology=machines.shape.topology if machines.shape else None,
        slices=machines.slices,
        hosts_per_slice=machines.shape.hosts if machines.shape else None,
        nodes=machines.nodes,
        accelerators=machines.accelerators,
        accelerator=machines.machine.accelerator,
        resource=machines.machine.resource,
        vcpu=machines.machine.vcpu,
        memory_gb=machines.machine.memory_gb,
        capacity="compute-class" if pool.ladder else pool.spec.capacity.kind,
        compute_class=pool.ladder.name if pool.ladder else None,
        reservation=pool.reservation,
        made_by=pool.made_by,
        zones=pool.zones,
        flavor=flavor,
        node_pools=_node_pools(draft, pool, node_network(draft, pool, networks)) if is_made(draft, pool) else (),
    )


def is_made(draft: Draft, pool: Pool) -> bool:
    """Whether Berth makes the node pools, and can: GKE refuses those of a reservation that is not there yet."""
    return pool.made_by == BERTH and is_there(draft, pool.spec.capacity.reservation)


def _node_pools(draft: Draft, pool: Pool, network: NodeNetworkPlan) -> tuple[NodePoolPlan, ...]:
    shape, slices = pool.hardware.shape, pool.hardware.slices
    if shape is None or slices is None or not shape.multi_host:
        return (_node_pool(draft, pool, pool.key, pool.key, pool.hardware.nodes, network),)
    return tuple(
        _node_pool(
            draft,
            pool,
            f"{pool.key}-{number}",
            f"{pool.key}-{shape.topology}-{number}",
            Bounds(min=shape.hosts if number <= slices.min else 0, max=shape.hosts),
            network,
        )
        for number in range(1, slices.max + 1)
    )


def _node_pool(draft: Draft, pool: Pool, key: str, name: str, nodes: Bounds, network: NodeNetworkPlan) -> NodePoolPlan:
    machine, shape = pool.hardware.machine, pool.hardware.shape
    wanted = settings(pool.asked, nodes, flex_start_known=knows_flex_start(draft, pool.asked))
    return NodePoolPlan(
        key=key,
        name=shorten(name, NODE_POOL),
        machine_type=pool.spec.machine_type,
        zones=pool.zones,
        nodes_per_zone=wanted.nodes_per_zone,
        total_nodes=wanted.total,
        zone_nodes=wanted.per_zone,
        location_policy=wanted.location_policy,
        slice_topology=shape.topology if shape and shape.multi_host else None,
        gpu=_gpu(pool),
        placement=_placement(draft, pool),
        spot=wanted.spot,
        reservation=wanted.affinity.value,
        affinity=wanted.affinity.type if wanted.affinity.type.startswith("ANY") else None,
        flex_start=wanted.flex_start,
        queued=wanted.queued,
        max_run_seconds=pool.asked.max_run_seconds if wanted.max_run_duration else None,
        auto_repair=wanted.auto_repair,
        local_ssd=_local_ssd(pool),
        attached_ssds=machine.ssd_automatic > 0,
        network=network,
        labels=dict(sorted({**pool.spec.labels, **dict(wanted.labels)}.items())),
        taints=pool.taints,
        disk_type=machine.default_boot_disk,
        disk_size_gb=pool.spec.disk_size_gb,
        secure_boot=pool.spec.secure_boot is not False,
        upgrade=_upgrade(wanted.upgrade),
        confidential=pool.spec.confidential_nodes,
        max_pods_per_node=pool.spec.max_pods_per_node,
        kubelet=kubelet(pool.spec.node_system_config),
        linux=linux(pool.spec.node_system_config),
        image_streaming=draft.spec.cluster.image_streaming,
        protect=protected(draft, pool.name),
    )


def _gpu(pool: Pool) -> GpuPlan | None:
    machine = pool.hardware.machine
    if machine.kind != "gpu":
        return None
    sharing = pool.asked.sharing
    return GpuPlan(
        type=machine.accelerator,
        count=machine.accelerators,
        driver_version=DRIVERS[pool.spec.driver_version],
        partition_size=pool.asked.partition,
        sharing=GpuSharingPlan(strategy=sharing.strategy, clients=sharing.clients) if sharing else None,
    )


def _upgrade(wanted: Upgrade | None) -> UpgradePlan | None:
    if wanted is None:
        return None
    return UpgradePlan(strategy=wanted.strategy, max_surge=wanted.max_surge, max_unavailable=wanted.max_unavailable)


def _local_ssd(pool: Pool) -> LocalSsdPlan | None:
    ssd = pool.spec.local_ssd
    return LocalSsdPlan(ephemeral=ssd.ephemeral, block=ssd.block) if ssd else None


# --- placement --------------------------------------------------------------------------------------------------------


def _placement(draft: Draft, pool: Pool) -> PlacementPlan | None:
    """None where the topology of a slice says all there is to say, and where nodes may stand anywhere."""
    near = placement(pool.asked)
    policy = _policy(draft, pool)
    if near.type is None or (policy is None and near.tpu_topology):
        return None
    return PlacementPlan(type=near.type, policy=policy.name if policy else None, tpu_topology=near.tpu_topology)


def _policy(draft: Draft, pool: Pool) -> WorkloadPolicyPlan | None:
    wanted = placement(pool.asked).policy
    if wanted is None:
        return None
    key = f"{pool.hardware.machine.accelerator}-{wanted.accelerator_topology}"
    return WorkloadPolicyPlan(
        key=key,
        name=shorten(f"{draft.stack}-{key}", COMPUTE),
        region=draft.region,
        accelerator_topology=wanted.accelerator_topology,
        topology_mode=wanted.topology_mode,
    )


def workload_policies(draft: Draft, known: Mapping[str, Pool]) -> tuple[WorkloadPolicyPlan, ...]:
    """The policies by which accelerators are wired; pools of one accelerator and topology share one."""
    found = [_policy(draft, pool) for pool in known.values() if is_made(draft, pool)]
    return tuple({policy.key: policy for policy in found if policy}.values())
