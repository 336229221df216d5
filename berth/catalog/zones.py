"""The zones of each region, and in which of them Google lists each machine (`zones.yaml`, `cpu_zones.yaml`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec import Struct, convert

from berth.catalog.cpu_machines import CPU
from berth.catalog.rows import Machine
from berth.catalog.table import attachable_gpus
from berth.yaml_loader import load_table

_LettersByRegion = Mapping[str, Iterable[str]]


class ZoneSource(Struct, frozen=True, kw_only=True):
    """A page that lists all zones of a machine: its name in messages, and its day, or the one of reading a copy."""

    says: str
    day: date
    dating: str = "of"

    @property
    def dated(self) -> str:
        """The page with its day, as messages name it."""
        return f"{self.says} {self.dating} {self.day}"


class ListedZones(Struct, frozen=True, kw_only=True):
    """The zones that list one accelerator, or one machine without accelerators, as full names.

    `documented` zones are on a page of Google, `undocumented` ones only in its API; `later` ones are documented but
    were added after the first version of the row, and are never chosen for a pool without zones. `source` is the page
    that lists them all, None if no source does. Which zones of the regions in `unlettered` have it is unknown, as are
    the zones in it.
    """

    documented: tuple[str, ...] = ()
    undocumented: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    source: ZoneSource | None = None
    unlettered: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """Return every zone that lists it, sorted by name."""
        return tuple(sorted((*self.documented, *self.undocumented, *self.later)))

    @property
    def proposed(self) -> tuple[str, ...]:
        """Zones to propose: the documented ones, or all if there are none."""
        return tuple(sorted((*self.documented, *self.later))) or self.all

    def defaults(self, region: str) -> tuple[str, ...]:
        """Return the zones in a region for a pool without zones. They do not change when the table grows."""
        return zones_in(region, self.documented) or zones_in(region, self.undocumented)


class ZoneTable(Struct, frozen=True, kw_only=True):
    """The whole table. `listed` is by machine type and by attached GPU, `flex_start` by family of TPU machines."""

    regions: Mapping[str, tuple[str, ...]]
    listed: Mapping[str, ListedZones]
    flex_start: Mapping[str, ListedZones]


@cache
def zone_table() -> ZoneTable:
    """Return the zone table of this release, loaded once."""
    return build_zone_table(load_table(Path(__file__).with_name("zones.yaml")))


def build_zone_table(data: Mapping[str, Any]) -> ZoneTable:
    """Build the table from the content of `zones.yaml`."""
    rows = (*data["machines"], *data["attached"])
    sources = convert(data.get("sources", {}), dict[str, ZoneSource])
    return ZoneTable(
        regions=MappingProxyType(
            {region: _full_names({region: letters}) for region, letters in data["regions"].items()}
        ),
        listed=MappingProxyType(
            {
                name: ListedZones(
                    documented=_full_names(row.get("zones", {})),
                    undocumented=_full_names(row.get("undocumented", {})),
                    later=_full_names(row.get("later", {})),
                    source=sources[row["source"]] if "source" in row else None,
                    unlettered=tuple(row.get("unlettered", ())),
                )
                for row in rows
                for name in row["of"]
            }
        ),
        flex_start=MappingProxyType(
            {family: ListedZones(documented=_full_names(letters)) for family, letters in data["flex_start"].items()}
        ),
    )


def _full_names(letters_by_region: _LettersByRegion) -> tuple[str, ...]:
    return tuple(f"{region}-{letter}" for region, letters in letters_by_region.items() for letter in letters)


def listed_zones(machine: Machine, *, dws: bool = False) -> ListedZones | None:
    """Return the zones that list a machine, or the GPU attached to it; None if no table has a row for it.

    `dws`: only zones where Google documents flex-start and queued provisioning of TPUs; there is no such list for GPUs.
    """
    table = zone_table()
    if machine.kind == CPU:
        return _zones_of_cpu_machine(machine.name)
    family = machine.name.partition("-")[0]
    if dws and family in table.flex_start:
        return table.flex_start[family]
    key = machine.accelerator if machine.name in attachable_gpus().hosts else machine.name
    return table.listed.get(key) or table.listed.get(key.removesuffix("-nolssd"))


@cache
def _zones_of_cpu_machine(name: str) -> ListedZones | None:
    """Return the zones of a machine's series in the regions that list its type; None for a series without a row.

    None is `documented`: a pool without zones keeps having none. A region that only the page or only the API has is
    unknown, as is a zone that the page does not cover, such as an AI zone.
    """
    zones = cpu_series_zones().get(name.partition("-")[0])
    if zones is None:
        return None
    on_page = {*map(region_of_zone, zones)}
    regions = on_page if (listed := cpu_regions(name)) is None else listed
    covered = frozenset[str]().union(*cpu_series_zones().values())
    every_zone = {zone for all_zones in zone_table().regions.values() for zone in all_zones}
    return ListedZones(
        later=tuple(sorted(zone for zone in zones if region_of_zone(zone) in regions)),
        source=convert(cpu_zones_page(), ZoneSource),
        unlettered=tuple(sorted({*(on_page ^ regions), *(every_zone - covered)})),
    )


def zones_in(region: str, zones: Iterable[str]) -> tuple[str, ...]:
    """Return the zones of `zones` that are in a region."""
    return tuple(zone for zone in zones if region_of_zone(zone) == region)


def open_zones(region: str) -> tuple[str, ...]:
    """Return the zones of a region without the AI zones, which a project has to enable; all if it has only those."""
    zones = zone_table().regions.get(region, ())
    return tuple(zone for zone in zones if len(zone.rpartition("-")[2]) == 1) or zones


def region_of_zone(zone: str) -> str:
    """Return the region of a zone: us-central1 for us-central1-a."""
    return zone.rpartition("-")[0]


@cache
def _cpu_table() -> Mapping[str, Any]:
    return load_table(Path(__file__).with_name("cpu_zones.yaml"))


def cpu_zones_page() -> Mapping[str, Any]:
    """Return the page that lists the zones of every series, as fields of a `ZoneSource`."""
    return _cpu_table()["page"]


@cache
def cpu_series_zones() -> Mapping[str, frozenset[str]]:
    """Return series → every zone that Google's page lists it in."""
    found: dict[str, frozenset[str]] = {}
    for series, places in _cpu_table()["series"].items():
        letters = (each.partition(":") for each in str(places).split())
        found[series] = frozenset(f"{region}-{letter}" for region, _, all_letters in letters for letter in all_letters)
    return MappingProxyType(found)


@cache
def _regions_by_type() -> Mapping[str, frozenset[str]]:
    rows = _cpu_table()["rows"]
    return {name: frozenset(str(row["regions"]).split()) for row in rows for name in str(row["of"]).split()}


def cpu_regions(machine_type: str) -> frozenset[str] | None:
    """Return where Google's API listed a machine type; None for one that it does not list, such as a custom type."""
    return _regions_by_type().get(machine_type)
