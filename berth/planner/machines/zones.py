"""Choose the zones of a pool: as written, those of its reservation or cluster, or from the zone table."""

from __future__ import annotations

from berth import catalog
from berth.catalog import Machine
from berth.diagnostics import FieldPath
from berth.planner.context import PlanningContext
from berth.planner.machines.hardware import Hardware
from berth.rules.gke.pool_request import DWS
from berth.rules.gke.zones import display_name
from berth.spec.amounts import FixedCount
from berth.spec.machines.pools import PoolSpec


def pool_zones(
    context: PlanningContext, name: str, spec: PoolSpec, machine: Machine, *, made_by_berth: bool
) -> tuple[str, ...]:
    """Return the zones of a pool: its own, its reservation's, the cluster's, or those in the zone table."""
    if spec.zone:
        return (spec.zone,)
    if spec.zones:
        return tuple(sorted(spec.zones))
    reservation = context.spec.reservations.get(spec.capacity.reservation or "")
    if reservation:
        return (reservation.zone,)
    if context.spec.cluster.zones or not made_by_berth or _needs_named_zones(spec, machine):
        return tuple(sorted(context.spec.cluster.zones))
    return _default_zones(context, name, spec, machine)


def _needs_named_zones(spec: PoolSpec, machine: Machine) -> bool:
    """Return whether a pool must set its zones: its nodes are in one zone, or their number divides by zones."""
    size = spec.slices or spec.nodes
    return (
        isinstance(size, FixedCount)
        or spec.topology not in (None, machine.single_host_topology)
        or spec.compact_placement
        or spec.networking is not None
        or machine.domain_topology is not None
    )


def _default_zones(context: PlanningContext, name: str, spec: PoolSpec, machine: Machine) -> tuple[str, ...]:
    """Return the zones of the region that list the machine; GKE would choose any three and reject others.

    TPUs of flex-start get one zone, because their limits are per zone. docs/decisions.md explains why a newer table
    does not change them.
    """
    dws = spec.capacity.kind in DWS
    listed = None if context.is_set_aside("region", "") else catalog.listed_zones(machine, dws=dws)
    zones = listed.defaults(context.region) if listed else ()
    if dws and machine.kind == "tpu":
        zones = zones[:1]
    if zones:
        as_of = catalog.fact_tables()["zones"].as_of
        message = f"has no zones; Berth uses {', '.join(zones)}, which list {display_name(machine)} (table of {as_of})"
        context.problems.note("zones-derived", ("pools", name), message)
    return tuple(sorted(zones))


def check_zones(
    context: PlanningContext,
    name: str,
    spec: PoolSpec,
    machines: Hardware,
    zones: tuple[str, ...],
    *,
    made_by_berth: bool,
) -> bool:
    """Report unknown zones and zones that do not divide the nodes; after a fault set the pool aside, return False."""
    path: FieldPath = ("pools", name)
    if spec.zone and spec.zones:
        context.reject("pools", name, "bad-zone", (*path, "zone"), "zone and zones are both set; remove one of them")
        return False
    if spec.zone:
        context.check_zone((*path, "zone"), spec.zone, accepted=spec.accept_zone, machine=machines.machine)
    for index, zone in enumerate(spec.zones):
        context.check_zone((*path, "zones", index), zone, accepted=spec.accept_zone, machine=machines.machine)
    if made_by_berth and not context.is_set_aside("cluster", "mode") and not context.is_set_aside("cluster", "zones"):
        _check_even_spread(context, path, name, machines, zones)
    return ("pools", name) not in context.set_aside


def _check_even_spread(
    context: PlanningContext, path: FieldPath, name: str, machines: Hardware, zones: tuple[str, ...]
) -> None:
    is_fixed = machines.nodes.min == machines.nodes.max > 0
    if machines.shape and machines.shape.multi_host:
        return  # a slice is in one zone, which is a rule of placement
    if is_fixed and not zones:
        count = (
            f"slices: {{max: {machines.slices.max}}}" if machines.slices else f"nodes: {{max: {machines.nodes.max}}}"
        )
        listed = catalog.listed_zones(machines.machine)
        known = catalog.zones_in(context.region, listed.proposed) if listed else ()
        zone = next(iter(known), f"{context.region}-…")
        zones_of_it = f"zones: [{zone}]" if context.region else "the zones of the nodes"
        message = f"a fixed number of nodes needs zones; write {zones_of_it}, or {count}"
        context.reject("pools", name, "bad-zone", (*path, "zones"), message)
    elif is_fixed and machines.nodes.max % len(zones):
        key = "slices" if machines.shape else "nodes"
        message = (
            f"'{machines.nodes.max}' nodes do not divide evenly by {len(zones)} zones ({', '.join(zones)}), which GKE "
            f"requires; write a multiple of {len(zones)}, or one zone"
        )
        context.reject("pools", name, "bad-size", (*path, key), message)
