"""Pools and reservations: where their machines stand, and the node pools that GKE is asked for."""

from __future__ import annotations

from dataclasses import dataclass

from components.names import NODE_POOL, shorten
from components.plan.fleet import PoolPlan
from components.plan.gke import GpuPlan, NodePoolPlan, ReservationPlan
from components.plan.nodes import Bounds, Taint
from stacks.planner.draft import Draft
from stacks.planner.hardware import Hardware, hardware, reservation_machine
from stacks.problems import Path
from stacks.spec.pools import PoolSpec

CAPACITY_TAINT = "berth.dev/capacity"
"""Keeps jobs of other flavors, and jobs outside Kueue, off machines that were bought for a purpose."""

AUTOPILOT = "autopilot"


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool that can exist: what its owner wrote, its machines, and where they stand."""

    name: str
    spec: PoolSpec
    hardware: Hardware
    zones: tuple[str, ...]
    made_by_gke: bool
    reservation: str | None

    @property
    def taints(self) -> tuple[Taint, ...]:
        """The taints that its nodes carry beside those of GKE."""
        own = tuple(Taint(key=t.key, value=t.value, effect=t.effect) for t in self.spec.taints)
        return own if self.made_by_gke else own + capacity_taints(self.spec.capacity.kind)


def capacity_taints(kind: str) -> tuple[Taint, ...]:
    """The taint that marks nodes of a special capacity; on-demand nodes are open to all."""
    return () if kind == "on-demand" else (Taint(key=CAPACITY_TAINT, value=kind, effect="NoSchedule"),)


def pools(draft: Draft) -> dict[str, Pool]:
    """Every pool of the spec that can exist, by name."""
    found = (_pool(draft, name, spec) for name, spec in sorted(draft.spec.pools.items()))
    return {pool.name: pool for pool in found if pool}


def _pool(draft: Draft, name: str, spec: PoolSpec) -> Pool | None:
    machines = hardware(draft, name, spec)
    if machines is None or not _reservation_fits(draft, name, spec, machines):
        return None
    by_gke = spec.auto_provisioned or draft.spec.cluster.mode == AUTOPILOT
    zones = _zones(draft, name, spec)
    if not _places_fit(draft, name, spec, machines, zones, by_gke):
        return None
    return Pool(name, spec, machines, zones, by_gke, _reservation_name(draft, spec))


# --- zones ------------------------------------------------------------------------------------------------------------


def _zones(draft: Draft, name: str, spec: PoolSpec) -> tuple[str, ...]:
    if spec.zone:
        return (spec.zone,)
    if spec.zones:
        return tuple(sorted(spec.zones))
    reserved = draft.spec.reservations.get(spec.capacity.reservation or "")
    return (reserved.zone,) if reserved else tuple(sorted(draft.spec.cluster.zones))


def _places_fit(
    draft: Draft, name: str, spec: PoolSpec, machines: Hardware, zones: tuple[str, ...], by_gke: bool
) -> bool:
    path: Path = ("pools", name)
    if spec.zone and spec.zones:
        draft.drop("pools", name, "bad-zone", (*path, "zone"), "write zone or zones, not both")
    elif stray := [z for z in zones if not z.startswith(draft.spec.region + "-")]:
        key = "zone" if spec.zone else "zones"
        message = f"'{stray[0]}' is outside the region {draft.spec.region}; write one of its zones"
        draft.drop("pools", name, "bad-zone", (*path, key), message)
    elif not by_gke:
        _own_places_fit(draft, path, name, machines, zones)
    return ("pools", name) not in draft.set_aside


def _own_places_fit(draft: Draft, path: Path, name: str, machines: Hardware, zones: tuple[str, ...]) -> None:
    fixed = machines.nodes.min == machines.nodes.max
    if machines.shape and machines.shape.multi_host and len(zones) != 1:
        named = f"{len(zones)} zones are named" if zones else "none is named"
        message = f"a slice stands in exactly one zone, and {named}; write zone: {draft.spec.region}-…"
        draft.drop("pools", name, "bad-zone", (*path, "zone"), message)
    elif fixed and not zones:
        message = f"a fixed number of nodes needs to know its zones; write zones: [{draft.spec.region}-…]"
        draft.drop("pools", name, "bad-zone", (*path, "zones"), message)
    elif fixed and machines.nodes.max % len(zones):
        key = "slices" if machines.shape else "nodes"
        message = (
            f"'{machines.nodes.max}' nodes cannot be spread evenly over {len(zones)} zones ({', '.join(zones)}); "
            f"GKE counts per zone: write a multiple of {len(zones)}, or name one zone"
        )
        draft.drop("pools", name, "bad-size", (*path, key), message)


# --- reservations -----------------------------------------------------------------------------------------------------


def reservations(draft: Draft, known: dict[str, Pool]) -> tuple[ReservationPlan, ...]:
    """The reservations that the fleet owns. Pools may not ask one for more machines than it holds."""
    plans: list[ReservationPlan] = []
    for name, spec in sorted(draft.spec.reservations.items()):
        path: Path = ("reservations", name)
        machine = reservation_machine(draft, name, spec)
        if machine is None:
            continue
        if not spec.zone.startswith(draft.spec.region + "-"):
            message = f"'{spec.zone}' is outside the region {draft.spec.region}; write one of its zones"
            draft.problems.fault("bad-zone", (*path, "zone"), message)
        _not_overused(draft, name, known)
        plans.append(
            ReservationPlan(
                key=name,
                name=spec.name or f"{draft.stack}-{name}",
                zone=spec.zone,
                machine_type=spec.machine_type,
                count=spec.count,
                gpu_type=machine.accelerator if machine.kind == "gpu" else None,
                gpu_count=machine.accelerators if machine.kind == "gpu" else 0,
                protect=protected(draft, f"reservations.{name}"),
            )
        )
    return tuple(plans)


def _not_overused(draft: Draft, name: str, known: dict[str, Pool]) -> None:
    users = [p for p in known.values() if p.spec.capacity.reservation == name]
    asked, held = sum(p.hardware.nodes.max for p in users), draft.spec.reservations[name].count
    if asked > held:
        named = ", ".join(f"{p.name} {p.hardware.nodes.max}" for p in users)
        message = f"'{held}' machines are reserved, but pools ask for {asked} of them ({named})"
        draft.problems.fault("reservation-overused", ("reservations", name, "count"), message)


def _reservation_name(draft: Draft, spec: PoolSpec) -> str | None:
    key = spec.capacity.reservation
    if key is None:
        return None
    return draft.spec.reservations[key].name or f"{draft.stack}-{key}"


def _reservation_fits(draft: Draft, name: str, spec: PoolSpec, machines: Hardware) -> bool:
    key = spec.capacity.reservation
    if key is None:
        return True
    path: Path = ("pools", name, "capacity", "reservation")
    reserved = draft.find("reservations", key, draft.spec.reservations, path)
    if reserved is None:
        draft.set_aside.add(("pools", name))
        return False
    zone = spec.zone or (spec.zones[0] if len(spec.zones) == 1 else None)
    if reserved.machine_type != spec.machine_type:
        message = f"reservation '{key}' holds {reserved.machine_type}, and this pool is {spec.machine_type}"
        draft.drop("pools", name, "reservation-mismatch", path, message)
    elif reserved.accelerator != spec.accelerator:
        message = f"reservation '{key}' holds other GPUs than this pool; write the same accelerator on both"
        draft.drop("pools", name, "reservation-mismatch", path, message)
    elif spec.zones[1:] or (zone and zone != reserved.zone):
        message = f"reservation '{key}' is in {reserved.zone}, and this pool is not; leave its zone out"
        draft.drop("pools", name, "reservation-mismatch", path, message)
    return ("pools", name) not in draft.set_aside


def protected(draft: Draft, key: str) -> bool:
    """Whether a thing is protected: it is, unless the fleet is not, or an allowance names it."""
    spec = draft.spec
    return spec.protect and key not in spec.allow_replacement and key not in spec.allow_deletion


# --- node pools -------------------------------------------------------------------------------------------------------


def pool_plan(draft: Draft, pool: Pool, flavor: str) -> PoolPlan:
    """The pool as people read it, with the node pools it becomes."""
    machines = pool.hardware
    return PoolPlan(
        name=pool.name,
        machine_type=pool.spec.machine_type,
        topology=machines.shape.topology if machines.shape else None,
        slices=machines.slices,
        hosts_per_slice=machines.shape.hosts if machines.shape else None,
        nodes=machines.nodes,
        accelerators=machines.accelerators,
        accelerator=machines.machine.accelerator,
        resource=machines.machine.resource,
        capacity=pool.spec.capacity.kind,
        reservation=pool.reservation,
        made_by="gke" if pool.made_by_gke else "berth",
        zones=pool.zones,
        flavor=flavor,
        node_pools=() if pool.made_by_gke else _node_pools(draft, pool),
    )


def _node_pools(draft: Draft, pool: Pool) -> tuple[NodePoolPlan, ...]:
    shape, slices = pool.hardware.shape, pool.hardware.slices
    if shape is None or slices is None or not shape.multi_host:
        return (_node_pool(draft, pool, pool.name, pool.name, pool.hardware.nodes),)
    return tuple(
        _node_pool(
            draft,
            pool,
            f"{pool.name}-{number}",
            f"{pool.name}-{shape.topology}-{number}",
            Bounds(min=shape.hosts if number <= slices.min else 0, max=shape.hosts),
        )
        for number in range(1, slices.max + 1)
    )


def _node_pool(draft: Draft, pool: Pool, key: str, name: str, nodes: Bounds) -> NodePoolPlan:
    machine, shape = pool.hardware.machine, pool.hardware.shape
    fixed = nodes.min == nodes.max
    return NodePoolPlan(
        key=key,
        name=shorten(name, NODE_POOL),
        machine_type=pool.spec.machine_type,
        zones=pool.zones,
        nodes_per_zone=nodes.max // len(pool.zones) if fixed else None,
        total_nodes=None if fixed else nodes,
        location_policy=None if fixed else "ANY",
        slice_topology=shape.topology if shape and shape.multi_host else None,
        gpu=_gpu(pool),
        spot=pool.spec.capacity.kind == "spot",
        reservation=pool.reservation,
        labels=dict(sorted(pool.spec.labels.items())),
        taints=pool.taints,
        disk_type=machine.default_boot_disk,
        disk_size_gb=pool.spec.disk_size_gb,
        secure_boot=True,
        image_streaming=draft.spec.cluster.image_streaming,
        protect=protected(draft, pool.name),
    )


def _gpu(pool: Pool) -> GpuPlan | None:
    machine = pool.hardware.machine
    if machine.kind != "gpu":
        return None
    return GpuPlan(
        type=machine.accelerator, count=machine.accelerators, driver_version=pool.spec.driver_version.upper()
    )
