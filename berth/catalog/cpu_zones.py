"""The table of regions and zones of machines without accelerators (`cpu_zones.yaml`), as Google's API listed them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from berth.yaml_loader import load_table


class CpuPlaces(Struct, frozen=True, kw_only=True):
    """Where a machine type is listed: in `regions` on `day`, and in `zones` of them by an older listing.

    A region may have it in zones that no listing names.
    """

    regions: tuple[str, ...]
    zones: frozenset[str]
    day: date


@cache
def _places() -> Mapping[str, CpuPlaces]:
    table: Mapping[str, Any] = load_table(Path(__file__).with_suffix(".yaml"))
    day: date = table["listings"]["regions"]["day"]
    found: dict[str, CpuPlaces] = {}
    for row in table["rows"]:
        letters: dict[str, str] = {}
        for each in str(row["regions"]).split():
            region, _, letters[region] = each.partition(":")
        zones = frozenset(f"{region}-{letter}" for region, all_letters in letters.items() for letter in all_letters)
        found |= dict.fromkeys(str(row["of"]).split(), CpuPlaces(regions=tuple(letters), zones=zones, day=day))
    return MappingProxyType(found)


def cpu_places(machine_type: str) -> CpuPlaces | None:
    """Return where a machine type is listed; None for a type that the table does not have, such as a custom one."""
    return _places().get(machine_type)
