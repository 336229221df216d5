"""Where Google lists a machine: a pool or reservation in a zone, or a region, that does not list it.

The table is Berth's copy of Google's pages (`berth/catalog/zones.yaml`), which new zones outdate, so its word is a
warning, and `acceptZone` in the stack file ends it.
"""

from __future__ import annotations

from collections.abc import Sequence

from berth import catalog
from berth.catalog import ListedZones, Machine
from berth.diagnostics import Severity
from berth.rules.gke.pool_request import GkeViolation, PoolRequest

_MAX_ZONES = 8
"""Zones that a message lists."""


def pool_zone_violation(request: PoolRequest, region: str, cluster_zones: Sequence[str] = ()) -> GkeViolation | None:
    """The warning of a pool, or of one way of a compute class, whose zones or region do not list its machine.

    GKE chooses among the zones of nodes that it makes itself: one that lists the machine is enough. Where such a pool
    names none, `cluster_zones` are those that it chooses from. Machines of a named reservation are the reservation's.
    """
    if request.reservation and request.is_specific:
        return None
    zones = request.zones or (tuple(cluster_zones) if request.made_by_gke else ())
    return zone_violation(request.machine, zones, region, dws=request.uses_dws, one_is_enough=request.made_by_gke)


def zone_violation(
    machine: Machine, zones: Sequence[str], region: str, *, dws: bool = False, one_is_enough: bool = False
) -> GkeViolation | None:
    """The warning of a machine that is not listed in each of these zones (or in one); without zones, in the region.

    `dws` holds TPUs to the zones with flex-start. None where all is well, or the table has no row for the machine.
    """
    listed = catalog.listed_zones(machine, dws=dws)
    if listed is None:
        return None
    missing = [zone for zone in zones if zone not in listed.all]
    if not zones:
        missing = [] if catalog.zones_in(region, listed.all) else [region]
    elif one_is_enough and len(missing) < len(zones):
        missing = []
    if missing:
        return _not_listed(machine, listed, missing, dws=dws)
    candidates = zones or catalog.zones_in(region, listed.all)
    doubtful = [zone for zone in candidates if zone in listed.undocumented]
    is_doubtful = doubtful if zones and not one_is_enough else len(doubtful) == len(candidates)
    return _undocumented(machine, listed, doubtful) if is_doubtful else None


def _not_listed(machine: Machine, listed: ListedZones, missing: Sequence[str], *, dws: bool) -> GkeViolation:
    place = missing[0]
    region = place if place in catalog.zone_table().regions else catalog.region_of(place)
    flex_start = dws and listed is not catalog.listed_zones(machine)
    what = f"{'flex-start of ' if flex_start else ''}{display_name(machine)}"
    message = f"Google lists no {what} in {_quoted(missing)}; {_alternatives(listed, region)}"
    return GkeViolation(
        code="flex-start-zone" if flex_start else "zone-not-listed",
        key="zones",
        message=message,
        severity=Severity.WARNING,
    )


def _undocumented(machine: Machine, listed: ListedZones, doubtful: Sequence[str]) -> GkeViolation:
    what = (
        f"only a catalogue of Google's API lists {display_name(machine)} in {_quoted(doubtful)}, and no page of Google"
    )
    message = f"{what}; {_alternatives(listed, catalog.region_of(doubtful[0]))}"
    return GkeViolation(code="zone-undocumented", key="zones", message=message, severity=Severity.WARNING)


def _alternatives(listed: ListedZones, region: str) -> str:
    """Where the machine is instead, and what to write."""
    accept = "acceptZone: true if Google gave your project access"
    if nearby := catalog.zones_in(region, listed.proposed):
        remedy = "write that zone" if len(nearby) == 1 else "write one of them"
        return f"in {region} it is in {_joined(nearby)}; {remedy}, or {accept}"
    return f"it is in {_joined(listed.proposed)}; plan a fleet there, or write {accept}"


def display_name(machine: Machine) -> str:
    """The name that a zone lists the machine by: of GPUs attached to a machine, theirs."""
    return machine.accelerator if machine.name in catalog.attachable_gpus().hosts else machine.name


def _quoted(places: Sequence[str]) -> str:
    return ", ".join(f"'{place}'" for place in places)


def _joined(zones: Sequence[str]) -> str:
    more = f", … ({len(zones)} in all)" if len(zones) > _MAX_ZONES else ""
    return ", ".join(zones[:_MAX_ZONES]) + more
