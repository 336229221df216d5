"""Warnings for a pool or reservation whose zone or region does not list its machine.

The table is Berth's copy of Google's pages (`berth/catalog/zones.yaml`). Google opens new zones, so a mismatch is only
a warning, and `acceptZone` in the stack file silences it.
"""

from __future__ import annotations

from collections.abc import Sequence

from berth import catalog
from berth.catalog import ListedZones, Machine
from berth.rules.gke.pool_request import GkeViolation, PoolRequest, gke_warning

_MAX_ZONES = 8
"""Maximum number of zones that a message lists."""


def pool_zone_violation(request: PoolRequest, region: str, cluster_zones: Sequence[str] = ()) -> GkeViolation | None:
    """Return the warning for a pool, or one priority of a compute class, whose zones or region lack its machine.

    For nodes that GKE creates, one zone that lists the machine is enough, because GKE chooses among them; a pool
    without zones uses `cluster_zones`. None for a named reservation, which is checked itself.
    """
    if request.reservation and request.is_specific:
        return None
    zones = request.zones or (tuple(cluster_zones) if request.made_by_gke else ())
    return zone_violation(request.machine, zones, region, dws=request.uses_dws, one_is_enough=request.made_by_gke)


def zone_violation(
    machine: Machine, zones: Sequence[str], region: str, *, dws: bool = False, one_is_enough: bool = False
) -> GkeViolation | None:
    """Return the warning for a machine that a zone (or, without zones, the region) does not list; None if all do.

    `dws`: TPUs need a zone with flex-start. `one_is_enough`: one listed zone suffices. None, too, for a machine
    without a row in the table.
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
    if not is_doubtful:
        return None
    what = f"Google's API lists {display_name(machine)} in {_quoted(doubtful)}, but Google's documentation does not"
    return gke_warning(
        "zone-undocumented", "zones", f"{what}; {_alternatives(listed, catalog.region_of_zone(doubtful[0]))}"
    )


def _not_listed(machine: Machine, listed: ListedZones, missing: Sequence[str], *, dws: bool) -> GkeViolation:
    place = missing[0]
    region = place if place in catalog.zone_table().regions else catalog.region_of_zone(place)
    flex_start = dws and listed is not catalog.listed_zones(machine)
    what = f"{'flex-start of ' if flex_start else ''}{display_name(machine)}"
    return gke_warning(
        "flex-start-zone" if flex_start else "zone-not-listed",
        "zones",
        f"Google does not list {what} in {_quoted(missing)}; {_alternatives(listed, region)}",
    )


def _alternatives(listed: ListedZones, region: str) -> str:
    """Return the zones that list the machine, and what to write."""
    accept = "acceptZone: true if Google gave your project access"
    if nearby := catalog.zones_in(region, listed.proposed):
        remedy = "write that zone" if len(nearby) == 1 else "write one of them"
        return f"{region} lists it in {_joined(nearby)}; {remedy}, or {accept}"
    first = listed.proposed[0]
    remedy = f"write region: {catalog.region_of_zone(first)} and zone {first}"
    others = ", or another zone of this list with its region" if len(listed.proposed) > 1 else ""
    return f"Google lists it in {_joined(listed.proposed)}; {remedy}{others}, or {accept}"


def display_name(machine: Machine) -> str:
    """Return the name under which a zone lists the machine: for attached GPUs, the accelerator's."""
    return machine.accelerator if machine.name in catalog.attachable_gpus().hosts else machine.name


def _quoted(places: Sequence[str]) -> str:
    return ", ".join(f"'{place}'" for place in places)


def _joined(zones: Sequence[str]) -> str:
    more = f", … ({len(zones)} in all)" if len(zones) > _MAX_ZONES else ""
    return ", ".join(zones[:_MAX_ZONES]) + more
