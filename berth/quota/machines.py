"""The machines of a cluster as Google Cloud counts them: by pool, class and reservation, and their quotas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from berth import catalog
from berth.catalog import Machine, QuotaMetric, quota_table, quotas_of_accelerator, series_quotas
from berth.plan.capacity import FutureReservationPlan
from berth.plan.compute_classes import ClassPriorityPlan
from berth.plan.fleet import FleetPlan, PoolPlan
from berth.plan.gke import NodePoolPlan, ReservationPlan
from berth.plan.node_settings import Bounds

ON_DEMAND: Final = "on-demand"
RESERVATION: Final = "reservation"
PREEMPTIBLE: Final = frozenset({"spot", "flex-start", "queued"})
"""The kinds of capacity whose machines count against preemptible quotas (Compute Engine docs: provisioning models)."""

_GKE_DISK_GB = 100
"""The boot disk that GKE gives a node where nobody writes another size (GKE docs: custom boot disks)."""
_SHARED_CORE_VCPUS = 2
"""The vCPUs of a machine whose name has no number of them, such as e2-medium (Compute Engine docs: E2 shared-core)."""
_FUTURE_DOUBT = "Google may add the quota of a future reservation when it grants the request"


class Machines(Struct, frozen=True, kw_only=True):
    """Machines of one kind.

    `source` is where the stack file has them. Machines with one `pool` are ways to obtain the same nodes, of which the
    largest counts. `capacity` is how they are obtained: on-demand, spot, flex-start, queued or
    reservation. Everything but `nodes` is of one machine; `surge` counts the machines that an upgrade adds.
    `holds_quota` False: a reservation holds the quota of these machines. `is_running` False: nothing
    runs on them yet, so there are no VMs and no disks (the rows of a reservation).
    """

    source: str
    pool: str
    capacity: str
    machine_type: str
    nodes: Bounds
    vcpus: int
    accelerator: str | None = None
    accelerators: int = 0
    local_ssds: int = 0
    disk_type: str = catalog.DEFAULT_BOOT_DISK
    disk_gb: int = _GKE_DISK_GB
    surge: int = 0
    is_public: bool = False
    is_running: bool = True
    holds_quota: bool = True
    doubt: str = ""


def cluster_machines(plan: FleetPlan) -> Iterator[Machines]:
    """The machines of the cluster that a plan makes, and those of its reservations; none of a worker's."""
    for pool in plan.own_pools:
        yield from _pool_machines(plan, pool)
    for reservation in plan.reservations:
        yield _reserved_machines(reservation, reservation.count)
    for future in plan.future_reservations:
        if future.machine_type is not None:
            yield replace(_reserved_machines(future, future.count), doubt=_FUTURE_DOUBT)
    if plan.system_pool is not None:
        machine_type = plan.system_pool.machine_type
        machines = Machines(
            source="cluster.systemPool",
            pool="cluster.systemPool",
            capacity=ON_DEMAND,
            machine_type=machine_type,
            nodes=node_bounds(plan.system_pool),
            vcpus=_vcpus(machine_type),
        )
        yield _with_node_pool(machines, plan.system_pool)


# --- pools ------------------------------------------------------------------------------------------------------------


def _pool_machines(plan: FleetPlan, pool: PoolPlan) -> Iterator[Machines]:
    compute_class = next((each for each in plan.compute_classes if each.name == pool.compute_class), None)
    if compute_class is not None:
        for number, priority in enumerate(compute_class.priorities):
            yield _way_machines(pool, priority, f"computeClasses.{compute_class.name}.priorities[{number}]")
        return
    row = _row(pool.machine_type)
    machines = Machines(
        source=f"pools.{pool.name}",
        pool=pool.name,
        capacity=pool.capacity,
        machine_type=pool.machine_type,
        nodes=pool.nodes,
        vcpus=row.vcpu if row else pool.vcpu,  # also those that threadsPerCore switches off
        accelerator=pool.accelerator or None,
        accelerators=_accelerators_per_node(pool) if pool.accelerator else 0,
        local_ssds=_attached_ssds(pool.machine_type),
        disk_type=_boot_disk(pool.machine_type),
        holds_quota=pool.reservation is None,
    )
    yield _with_node_pool(machines, pool.node_pools[0]) if pool.node_pools else machines


def _way_machines(pool: PoolPlan, priority: ClassPriorityPlan, source: str) -> Machines:
    """One way of a compute class: GKE may obtain every node of the pool by it, and needs none at first."""
    machine_type = priority.machine_type or pool.machine_type
    row = catalog.machines().get(machine_type)
    counted = priority.gpu or priority.tpu
    per_node = counted.count if counted else _accelerators_per_node(pool)
    is_reserved = bool(priority.reservations)
    capacity = "spot" if priority.spot else "flex-start" if priority.flex_start else ON_DEMAND
    return Machines(
        source=source,
        pool=pool.name,
        capacity=RESERVATION if is_reserved else capacity,
        machine_type=machine_type,
        nodes=Bounds(min=0, max=-(-pool.accelerators.max // max(1, per_node))),
        vcpus=row.vcpu if row else pool.vcpu,
        accelerator=pool.accelerator,
        accelerators=per_node,
        local_ssds=_attached_ssds(machine_type),
        disk_type=_boot_disk(machine_type),
        holds_quota=not is_reserved,
    )


def _accelerators_per_node(pool: PoolPlan) -> int:
    """GPUs or chips of one node; a fraction of a GPU counts as a whole one."""
    if pool.node_pools and (gpu := pool.node_pools[0].gpu) is not None:
        return gpu.count
    if (row := catalog.machines().get(pool.machine_type)) is not None:
        return row.accelerators
    return pool.accelerators.max // max(1, pool.nodes.max)


def _with_node_pool(machines: Machines, node_pool: NodePoolPlan) -> Machines:
    ssds, surge = node_pool.settings.local_ssd, node_pool.settings.surge
    return replace(
        machines,
        local_ssds=max(machines.local_ssds, ssds.ephemeral + ssds.block if ssds else 0),
        disk_type=node_pool.settings.disk_type or machines.disk_type,
        disk_gb=node_pool.settings.disk_size_gb,
        surge=node_bounds(node_pool).max if node_pool.settings.blue_green else surge.max_surge if surge else 0,
        is_public=node_pool.network.private_nodes is False,
    )


def node_bounds(node_pool: NodePoolPlan) -> Bounds:
    """The fewest and the most nodes of a node pool, over all its zones."""
    zones = max(1, len(node_pool.zones))
    if node_pool.total_nodes is not None:
        return node_pool.total_nodes
    per_zone = node_pool.zone_nodes or Bounds(min=node_pool.nodes_per_zone or 0, max=node_pool.nodes_per_zone or 0)
    return Bounds(min=per_zone.min * zones, max=per_zone.max * zones)


# --- reservations -----------------------------------------------------------------------------------------------------


def _reserved_machines(reservation: ReservationPlan | FutureReservationPlan, count: int) -> Machines:
    machine_type = reservation.machine_type or ""
    row = catalog.machines().get(machine_type)
    return Machines(
        source=f"reservations.{reservation.key}",
        pool=f"reservations.{reservation.key}",
        capacity=RESERVATION,
        machine_type=machine_type,
        nodes=Bounds(min=count, max=count),
        vcpus=row.vcpu if row else _vcpus(machine_type),
        accelerator=row.accelerator if row else reservation.gpu_type,
        accelerators=row.accelerators if row else reservation.gpu_count,
        local_ssds=max(reservation.local_ssds, _attached_ssds(machine_type)),
        is_running=False,
    )


# --- one machine ------------------------------------------------------------------------------------------------------


def _attached_ssds(machine_type: str) -> int:
    """The local SSDs that come with a machine by themselves."""
    row = catalog.machines().get(machine_type)
    return row.ssd_automatic if row else 0


def _row(machine_type: str) -> Machine | None:
    return catalog.machines().get(machine_type) or catalog.cpu_machine(machine_type)


def _boot_disk(machine_type: str) -> str:
    row = _row(machine_type)
    return row.default_boot_disk if row else catalog.DEFAULT_BOOT_DISK


def _vcpus(machine_type: str) -> int:
    """The vCPUs in the name of a machine without accelerators: 4 of e2-standard-4, 6 of n2-custom-6-8192."""
    numbers = [int(word) for word in machine_type.split("-")[1:] if word.isdigit()]
    return numbers[0] if numbers else _SHARED_CORE_VCPUS


class MachineQuota(Struct, frozen=True, kw_only=True):
    """What one machine needs of a quota. `fallback` is used instead where the project has none of it."""

    metric: QuotaMetric
    per_node: int
    fallback: QuotaMetric | None = None
    is_optional: bool = False


def machine_quotas(machines: Machines) -> Iterator[MachineQuota]:
    """The quotas that a machine counts against; none twice, and none with an amount of 0."""
    if machines.holds_quota:
        yield from filter(_counts, (*_accelerator_quotas(machines), *_core_quotas(machines), *_ssd_quotas(machines)))
    if machines.is_running:
        yield from _running_quotas(machines)


def _counts(quota: MachineQuota) -> bool:
    return quota.per_node > 0


def _accelerator_quotas(machines: Machines) -> Iterator[MachineQuota]:
    if machines.accelerator is None:
        return
    table = quota_table()
    quotas, amount = quotas_of_accelerator(machines.accelerator), machines.accelerators
    if machines.capacity in PREEMPTIBLE:
        yield MachineQuota(metric=quotas.preemptible, per_node=amount, fallback=quotas.standard)
    else:
        yield MachineQuota(metric=quotas.standard, per_node=amount)
    if quotas.standard.unit == "GPUs":
        yield MachineQuota(metric=table.counts["gpus"], per_node=amount)
    if not machines.is_running and quotas.commitment is not None:
        yield MachineQuota(metric=quotas.commitment, per_node=amount, is_optional=True)


def _core_quotas(machines: Machines) -> Iterator[MachineQuota]:
    table, cpus = quota_table(), series_quotas(machines.machine_type).cpus
    if cpus is None:
        return
    if machines.capacity in PREEMPTIBLE:
        yield MachineQuota(metric=table.preemptible_cpus, per_node=machines.vcpus, fallback=cpus)
    else:
        yield MachineQuota(metric=cpus, per_node=machines.vcpus)
    yield MachineQuota(metric=table.counts["vcpus"], per_node=machines.vcpus)


def _ssd_quotas(machines: Machines) -> Iterator[MachineQuota]:
    table, standard = quota_table(), series_quotas(machines.machine_type).local_ssd
    amount = machines.local_ssds * table.local_ssd_gb
    if standard is None:
        return
    if machines.capacity in PREEMPTIBLE:
        yield MachineQuota(metric=table.preemptible_local_ssd, per_node=amount, fallback=standard)
    else:
        yield MachineQuota(metric=standard, per_node=amount)


def _running_quotas(machines: Machines) -> Iterator[MachineQuota]:
    """What a VM counts against whether or not a reservation holds its machine."""
    table = quota_table()
    yield MachineQuota(metric=table.counts["nodes"], per_node=1)
    yield MachineQuota(metric=table.counts["nodes_per_cluster"], per_node=1)
    if (disk := table.disks.get(machines.disk_type)) is not None:
        yield MachineQuota(metric=disk, per_node=machines.disk_gb)
    if machines.is_public:
        yield MachineQuota(metric=table.counts["public_addresses"], per_node=1)
