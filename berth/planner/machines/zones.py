"""The zones of a pool: written, those of its reservation or cluster, or derived from the zone table."""

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
    """The zones of a pool: its own, its reservation's, the cluster's, or those of the region that list its machine."""
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
    """Whether the zones of a pool are its owner's to choose: nodes of one zone, or a number that zones divide."""
    size = spec.slices or spec.nodes
    return (
        isinstance(size, FixedCount)
        or spec.topology not in (None, machine.single_host_topology)
        or spec.compact_placement
        or spec.networking is not None
        or machine.domain_topology is not None
    )


def _default_zones(context: PlanningContext, name: str, spec: PoolSpec, machine: Machine) -> tuple[str, ...]:
    """The zones of the region that list the machine: GKE would take three of any, and refuse one that does not.

    TPUs of flex-start have bounds per zone, so they get one zone. See docs/decisions.md for why the table's growth
    changes none of them.
    """
    dws = spec.capacity.kind in DWS
    listed = None if context.is_set_aside("region", "") else catalog.listed_zones(machine, dws=dws)
    zones = listed.defaults(context.region) if listed else ()
    if dws and machine.kind == "tpu":
        zones = zones[:1]
    if zones:
        as_of = catalog.zone_table().as_of
        message = f"names no zone: {', '.join(zones)}, which list {display_name(machine)} in the table of {as_of}"
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
    """Report zones that do not exist or do not divide the nodes; False, with the pool set aside, after a fault."""
    path: FieldPath = ("pools", name)
    if spec.zone and spec.zones:
        context.reject("pools", name, "bad-zone", (*path, "zone"), "write zone or zones, not both")
        return False
    if spec.zone:
        context.check_zone((*path, "zone"), spec.zone, accepted=spec.accept_zone)
    for index, zone in enumerate(spec.zones):
        context.check_zone((*path, "zones", index), zone, accepted=spec.accept_zone)
    if made_by_berth and not context.is_set_aside("cluster", "mode") and not context.is_set_aside("cluster", "zones"):
        _check_even_spread(context, path, name, machines, zones)
    return ("pools", name) not in context.set_aside


def _check_even_spread(
    context: PlanningContext, path: FieldPath, name: str, machines: Hardware, zones: tuple[str, ...]
) -> None:
    is_fixed = machines.nodes.min == machines.nodes.max > 0
    if machines.shape and machines.shape.multi_host:
        return  # a slice stands in one zone: a rule of placement
    if is_fixed and not zones:
        message = (
            f"a fixed number of nodes needs to know its zones; write zones: [{context.region}-…], "
            f"or a range: {{max: {machines.slices.max if machines.slices else machines.nodes.max}}}"
        )
        context.reject("pools", name, "bad-zone", (*path, "zones"), message)
    elif is_fixed and machines.nodes.max % len(zones):
        key = "slices" if machines.shape else "nodes"
        message = (
            f"'{machines.nodes.max}' nodes cannot be spread evenly over {len(zones)} zones ({', '.join(zones)}); "
            f"GKE counts per zone: write a multiple of {len(zones)}, or name one zone"
        )
        context.reject("pools", name, "bad-size", (*path, key), message)
