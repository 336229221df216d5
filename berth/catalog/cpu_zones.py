"""Where machines without accelerators are (`cpu_zones.yaml`): zones of each series, regions of each type."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from berth.yaml_loader import load_table


@cache
def _table() -> Mapping[str, Any]:
    return load_table(Path(__file__).with_suffix(".yaml"))


def cpu_zones_page() -> Mapping[str, Any]:
    """Return the page that lists the zones of every series, as fields of a `ZoneSource`."""
    return _table()["page"]


@cache
def cpu_series_zones() -> Mapping[str, frozenset[str]]:
    """Return series → every zone that Google's page lists it in."""
    found: dict[str, frozenset[str]] = {}
    for series, places in _table()["series"].items():
        letters = (each.partition(":") for each in str(places).split())
        found[series] = frozenset(f"{region}-{letter}" for region, _, all_letters in letters for letter in all_letters)
    return MappingProxyType(found)


@cache
def _regions_by_type() -> Mapping[str, frozenset[str]]:
    rows = _table()["rows"]
    return {name: frozenset(str(row["regions"]).split()) for row in rows for name in str(row["of"]).split()}


def cpu_regions(machine_type: str) -> frozenset[str] | None:
    """Return where Google's API listed a machine type; None for one that it does not list, such as a custom type."""
    return _regions_by_type().get(machine_type)
