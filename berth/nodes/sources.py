"""Where the nodes of a pool come from: node pools of Berth, GKE's auto-provisioning, or an existing cluster."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from berth import catalog
from berth.catalog import Machine
from berth.nodes.model import Maker
from berth.plan.compute_classes import ClassPriorityPlan
from berth.plan.fleet import FleetPlan, PoolPlan
from berth.plan.gke import NodePoolPlan
from berth.plan.node_settings import Bounds


class NodeSource(Struct, frozen=True, kw_only=True):
    """The origin of nodes of one pool in one zone.

    `node_pool` is one of the alike node pools named in `node_pools`; None if Berth makes none. `accelerators` count one
    node as pods request them (shared or partitioned), cores for machines without. SSD counts are None where no source
    tells them.
    """

    pool: PoolPlan
    maker: Maker
    machine_type: str
    machine: Machine | None
    capacity: str
    node_pool: NodePoolPlan | None
    node_pools: tuple[str, ...]
    slices: int
    nodes: Bounds
    zone: str | None
    accelerators: int
    ephemeral_ssds: int | None
    block_ssds: int | None
    priority: int = 1

    @property
    def is_adopted(self) -> bool:
        """Whether another tool created the node pool, which keeps settings of its nodes that the plan does not have."""
        return self.node_pool is not None and bool(self.node_pool.adopted)


def node_sources(plan: FleetPlan, pool: PoolPlan) -> Iterator[NodeSource]:
    """Yield the origins of a pool's nodes: one for each zone, and for each priority of its compute class."""
    if not pool.nodes.max:
        return
    maker = _maker(plan, pool)
    slices = pool.nodes.max // (pool.hosts_per_slice or 1) if (pool.hosts_per_slice or 1) > 1 else 0
    classes = {each.name: each for each in plan.compute_classes}
    priorities = classes[pool.compute_class].priorities if pool.compute_class in classes else (None,)
    for number, priority in enumerate(priorities, 1):
        machine_type = (priority.machine_type if priority else None) or pool.machine_type
        machine = _machine(machine_type, pool)
        if machine is not None and machine_type == pool.machine_type and 0 < pool.vcpu < machine.vcpu:
            machine = catalog.with_one_thread(machine)
        ephemeral, block = _local_ssds(machine, pool, maker)
        zones = (priority.zones if priority else ()) or pool.zones or (None,)
        for zone in zones:
            yield NodeSource(
                pool=pool,
                maker=maker,
                machine_type=machine_type,
                machine=machine,
                capacity=_class_capacity(priority) if priority else pool.capacity,
                node_pool=pool.node_pools[0] if pool.node_pools else None,
                node_pools=tuple(each.name for each in pool.node_pools),
                slices=slices,
                nodes=_nodes_of_zone(pool, len(zones)),
                zone=zone,
                accelerators=pool.accelerators.max // pool.nodes.max,
                ephemeral_ssds=ephemeral,
                block_ssds=block,
                priority=number,
            )


def _maker(plan: FleetPlan, pool: PoolPlan) -> Maker:
    if pool.made_by == "others":
        return "described"
    if pool.made_by == "berth":
        return "berth"
    if pool.compute_class is not None:
        return "compute-class"
    return "autopilot" if plan.cluster.mode == "autopilot" else "auto-provisioned"


def _class_capacity(priority: ClassPriorityPlan) -> str:
    if priority.flex_start:
        return "flex-start"
    if priority.affinity is not None and priority.affinity != "None":
        return "reservation"
    return "spot" if priority.spot else "on-demand"


def _machine(machine_type: str, pool: PoolPlan) -> Machine | None:
    """Return the machine type's facts; None if no table has it."""
    machine = catalog.machines().get(machine_type) or catalog.cpu_machine(machine_type)
    table = catalog.attachable_gpus()
    if machine is not None or machine_type not in table.hosts:
        return machine
    if not pool.accelerator:
        return catalog.host_without_gpus(machine_type)
    # Shared GPUs count several times in the plan, so the number of GPUs is the least that the machine can have.
    vcpu, _ = table.hosts[machine_type]
    fewest = min(count for count, most_vcpus in table.gpus[pool.accelerator].items() if most_vcpus >= vcpu)
    return catalog.attach_gpus(machine_type, pool.accelerator, fewest)


def _nodes_of_zone(pool: PoolPlan, zones: int) -> Bounds:
    """Return the bounds of one node pool in one zone: a share of a fixed number, or up to the total of all zones."""
    hosts = pool.hosts_per_slice or 1
    if hosts > 1:
        return Bounds(min=hosts if pool.nodes.min == pool.nodes.max else 0, max=hosts)
    node_pool = pool.node_pools[0] if pool.node_pools else None
    if node_pool is not None and node_pool.zone_nodes is not None:
        return node_pool.zone_nodes
    if zones == 1:
        return pool.nodes
    if pool.nodes.min == pool.nodes.max and pool.made_by == "berth":
        return Bounds(min=pool.nodes.max // zones, max=pool.nodes.max // zones)
    return Bounds(min=0, max=pool.nodes.max)


def _local_ssds(machine: Machine | None, pool: PoolPlan, maker: Maker) -> tuple[int | None, int | None]:
    """Return the local SSDs of a node for ephemeral storage and as block devices, each None if no source tells.

    SSDs that a machine type includes are for ephemeral storage unless the node pool says otherwise (GKE docs: About
    Local SSD, third generation of machine series).
    """
    settings = pool.node_pools[0].settings if pool.node_pools else None
    if settings is not None and settings.local_ssd is not None:
        return settings.local_ssd.ephemeral, settings.local_ssd.block
    if machine is None or (maker == "described" and (machine.ssd_automatic or machine.ssd_options)):
        return None, None
    return machine.ssd_automatic, 0
