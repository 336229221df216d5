"""Faults and warnings for a pool or reservation whose zone or region does not list its machine.

The table is Berth's copy of Google's pages (`berth/catalog/zones.yaml`). A page lists all zones of a machine, so
another zone is a fault, which `acceptZone` in the stack file accepts; where no page lists them, the zone is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from berth import catalog
from berth.catalog import ListedZones, Machine
from berth.diagnostics import Severity, join_or
from berth.rules.gke.pool_request import GkeViolation, PoolRequest, gke_warning

_MAX_ZONES = 8
"""Maximum number of zones that a message lists."""


def pool_zone_violation(
    request: PoolRequest, region: str, cluster_zones: Sequence[str] = (), others: Iterable[Machine] = ()
) -> GkeViolation | None:
    """Return what is wrong with the zones of a pool, or of one priority of a compute class.

    For nodes that GKE creates, one zone that lists the machine is enough, because GKE chooses among them; a pool
    without zones uses `cluster_zones`. None for a named reservation, which is checked itself. `others`: see
    `zone_violation`.
    """
    if request.reservation and request.is_specific:
        return None
    zones = request.zones or (tuple(cluster_zones) if request.made_by_gke else ())
    one_is_enough = request.made_by_gke
    return zone_violation(
        request.machine, zones, region, dws=request.uses_dws, one_is_enough=one_is_enough, others=others
    )


def zone_violation(
    machine: Machine,
    zones: Sequence[str],
    region: str,
    *,
    dws: bool = False,
    one_is_enough: bool = False,
    others: Iterable[Machine] = (),
) -> GkeViolation | None:
    """Return what is wrong with the zones of a machine (or, without zones, the region); None if nothing is.

    A fault if the page that lists the machine's zones lacks one, a warning if no page says, or if only Google's API
    lists it. `dws`: TPUs need a zone with flex-start. `one_is_enough`: one listed zone suffices. `others`: the
    machines of the cluster, which another region needs to list too. Machines without accelerators have no rows;
    `zones_without_source` is their warning.
    """
    listed = catalog.listed_zones(machine)
    if listed is None:
        message = zones_without_source((display_name(machine),), zones or (region,))
        return None if machine.kind == catalog.CPU else gke_warning("zone-unknown", "zones", message)
    if missing := _missing(listed, zones, region, one_is_enough=one_is_enough):
        uncertain = [place for place in missing if _region_of(place) in listed.unlettered]
        return _unlettered(machine, listed, uncertain) if uncertain else _not_listed(machine, listed, missing, others)
    flex_start = catalog.listed_zones(machine, dws=dws)
    if flex_start is not None and flex_start is not listed:
        if missing := _missing(flex_start, zones, region, one_is_enough=one_is_enough):
            return _no_flex_start(machine, flex_start, missing)
        listed = flex_start
    candidates = zones or catalog.zones_in(region, listed.all)
    doubtful = [zone for zone in candidates if zone in listed.undocumented]
    is_doubtful = doubtful if zones and not one_is_enough else len(doubtful) == len(candidates)
    if not is_doubtful:
        return None
    what = f"Google's API lists {display_name(machine)} in {_quoted(doubtful)}, but Google's documentation does not"
    remedy = _remedy(machine, listed, catalog.region_of_zone(doubtful[0]), others)
    return gke_warning("zone-undocumented", "zones", f"{what}; {remedy}")


def cpu_region_violation(machine_type: str, region: str) -> str:
    """Return the warning for a machine without accelerators that Google's API did not list in a region.

    Empty if it did, and if the table does not have the machine type: which zones have it is then unknown.
    """
    places = catalog.cpu_places(machine_type)
    if places is None or region in places.regions:
        return ""
    regions = _joined(places.regions)
    what = f"Google's API did not list {machine_type} in {region} on {places.day}"
    return f"{what}; it listed it in {regions}: write one of these regions, or acceptZone: true if {region} has it now"


def has_cpu_zones(machine_type: str, zones: Sequence[str], region: str) -> bool:
    """Return whether listings name all these zones, or without any all zones of the region, for the machine type."""
    places = catalog.cpu_places(machine_type)
    return places is not None and places.zones >= {*(zones or catalog.open_zones(region) or (region,))}


def zones_without_source(machine_types: Sequence[str], zones: Sequence[str], table_key: str = "zones") -> str:
    """Return the warning for machines of which no source says which zones have them."""
    has = "has" if len(zones) == 1 else "have"
    table = catalog.fact_tables()[table_key]
    unknown = table.unknown(f"which zones have {join_or(machine_types)}", f"whether {join_or(zones)} {has} it is")
    command = f"gcloud compute machine-types list --filter='name={machine_types[0]} zone~{zones[0]}'"
    return f"{unknown}; compare it with `{command}`, and write acceptZone: true in the pool"


def _missing(listed: ListedZones, zones: Sequence[str], region: str, *, one_is_enough: bool) -> list[str]:
    """Return the zones that are not listed; without zones the region, if none of its zones is."""
    if not zones:
        return [] if catalog.zones_in(region, listed.all) else [region]
    missing = [zone for zone in zones if zone not in listed.all]
    return [] if one_is_enough and len(missing) < len(zones) else missing


def _not_listed(
    machine: Machine, listed: ListedZones, missing: Sequence[str], others: Iterable[Machine]
) -> GkeViolation:
    page = f" ({listed.source.dated})" if listed.source else ""
    message = f"Google does not list {display_name(machine)} in {_quoted(missing)}{page}"
    message = f"{message}; {_remedy(machine, listed, _region_of(missing[0]), others)}"
    severity = Severity.FAULT if listed.source else Severity.WARNING
    return GkeViolation(code="zone-not-listed", key="zones", message=message, severity=severity)


def _unlettered(machine: Machine, listed: ListedZones, places: Sequence[str]) -> GkeViolation:
    table, region = catalog.fact_tables()["zones"], _region_of(places[0])
    value = f"which zone of {region} has {display_name(machine)}"
    unknown = table.unknown(value, f"whether {_quoted(places)} has it is")
    return gke_warning("zone-unknown", "zones", f"{unknown}; {_alternatives(listed, region)}")


def _no_flex_start(machine: Machine, listed: ListedZones, missing: Sequence[str]) -> GkeViolation:
    message = f"Google does not list flex-start of {display_name(machine)} in {_quoted(missing)}"
    return gke_warning("flex-start-zone", "zones", f"{message}; {_alternatives(listed, _region_of(missing[0]))}")


def _region_of(place: str) -> str:
    return place if place in catalog.zone_table().regions else catalog.region_of_zone(place)


def _remedy(machine: Machine, listed: ListedZones, region: str, others: Iterable[Machine]) -> str:
    """Return zones of the region if it has every machine of the cluster, else the whole change to another region."""
    rows = {display_name(each): row for each in others if (row := catalog.listed_zones(each)) is not None}
    rows[display_name(machine)] = listed
    stays = all(catalog.zones_in(region, row.proposed) for row in rows.values())
    return _alternatives(listed, region) if stays or len(rows) == 1 else _move(listed, region, rows)


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


def _move(listed: ListedZones, region: str, rows: Mapping[str, ListedZones]) -> str:
    """Return the whole change to a region that lists every machine of `rows`, the same in each pool's message.

    Regions of the same continent are proposed first.
    """
    regions = set[str].intersection(*({*map(catalog.region_of_zone, row.proposed)} for row in rows.values()))
    where = f"Google lists it in {_joined(listed.proposed)}"
    accept = "acceptZone: true if Google gave your project access"
    if not regions:
        return f"{where}; no region lists {' and '.join(sorted(rows))}: write it in another cluster, or {accept}"
    continent = region.partition("-")[0]
    chosen = min(regions, key=lambda each: (each.partition("-")[0] != continent, each))
    zones = {name: catalog.zones_in(chosen, row.proposed)[0] for name, row in sorted(rows.items())}
    change = " and ".join(f"zone {zone} for {name}" for name, zone in zones.items())
    also = sorted(regions - {chosen})
    more = f" ({_joined(also)} list{'s' if len(also) == 1 else ''} all of them too)" if also else ""
    return f"{where}; write region: {chosen} with {change}{more}, or {accept}"


def display_name(machine: Machine) -> str:
    """Return the name under which a zone lists the machine: for attached GPUs, the accelerator's."""
    return machine.accelerator if machine.name in catalog.attachable_gpus().hosts else machine.name


def _quoted(places: Sequence[str]) -> str:
    return ", ".join(f"'{place}'" for place in places)


def _joined(zones: Sequence[str]) -> str:
    more = f", … ({len(zones)} in all)" if len(zones) > _MAX_ZONES else ""
    return ", ".join(zones[:_MAX_ZONES]) + more
