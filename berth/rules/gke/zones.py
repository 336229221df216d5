"""Faults and warnings for a pool or reservation whose zone or region does not list its machine.

The tables are Berth's copies of Google's pages (`zones.yaml` and `cpu_zones.yaml` of `berth/catalog`). A page lists all
zones of a machine, so another zone is a fault, which `acceptZone` in the stack file accepts; where no page lists them,
the zone is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from berth import catalog
from berth.catalog import FactTable, ListedZones, Machine
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
    violation = zone_violation(
        request.machine, zones, region, dws=request.uses_dws, one_is_enough=one_is_enough, others=others
    )
    no_zones = not zones and not one_is_enough and request.machine.kind == catalog.CPU
    return violation or (lacking_zones(request.machine, (), region) if no_zones else None)


def lacking_zones(machine: Machine, zones: Sequence[str], region: str) -> GkeViolation | None:
    """Return the warning for nodes in `zones`, of which some do not list their machine; None if no source says.

    Without zones GKE chooses three of the region. Pools with accelerators get theirs from the table.
    """
    listed = catalog.listed_zones(machine)
    if listed is None or region in listed.unlettered:
        return None
    having, name = catalog.zones_in(region, listed.proposed), display_name(machine)
    lacking = [zone for zone in zones or catalog.open_zones(region) if zone not in (*having, *listed.unlettered)]
    if not lacking:
        return None
    what = f"Google does not list {name} in {', '.join(lacking)}"
    if not zones and having:
        what = f"GKE chooses three zones of {region}, and Google lists {name} only in {', '.join(having)}"
    remedy = f"write zones: [{', '.join(having)}]" if having else "write another machineType"
    return gke_warning("zone-not-listed", "zones", f"{what}; {remedy}")


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
    machines of the cluster, which another region needs to list too.
    """
    listed = catalog.listed_zones(machine)
    if listed is None:
        return _without_source(machine, zones or (region,))
    if missing := _missing(listed, zones, region, one_is_enough=one_is_enough):
        uncertain = [place for place in missing if {place, _region_of(place)} & {*listed.unlettered}]
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


def _without_source(machine: Machine, zones: Sequence[str]) -> GkeViolation:
    """Return the warning for a machine of which no source says which zones have it."""
    name, has = display_name(machine), "has" if len(zones) == 1 else "have"
    unknown = _table(machine).unknown(f"which zones have {name}", f"whether {join_or(zones)} {has} it is")
    command = f"gcloud compute machine-types list --filter='name={name} zone~{zones[0]}'"
    message = f"{unknown}; compare it with `{command}`, and write acceptZone: true"
    return gke_warning("zone-unknown", "zones", message)


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
    region = _region_of(places[0])
    value = f"which zone of {region} has {display_name(machine)}"
    unknown = _table(machine).unknown(value, f"whether {_quoted(places)} has it is")
    return gke_warning("zone-unknown", "zones", f"{unknown}; {_alternatives(listed, region)}")


def _no_flex_start(machine: Machine, listed: ListedZones, missing: Sequence[str]) -> GkeViolation:
    message = f"Google does not list flex-start of {display_name(machine)} in {_quoted(missing)}"
    return gke_warning("flex-start-zone", "zones", f"{message}; {_alternatives(listed, _region_of(missing[0]))}")


def _table(machine: Machine) -> FactTable:
    """Return the table with the zones of such a machine."""
    return catalog.fact_tables()["cpu-zones" if machine.kind == catalog.CPU else "zones"]


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
    is_host = machine.name in catalog.attachable_gpus().hosts and machine.kind != catalog.CPU
    return machine.accelerator if is_host else machine.name


def _quoted(places: Sequence[str]) -> str:
    return ", ".join(f"'{place}'" for place in places)


def _joined(zones: Sequence[str]) -> str:
    more = f", … ({len(zones)} in all)" if len(zones) > _MAX_ZONES else ""
    return ", ".join(zones[:_MAX_ZONES]) + more
