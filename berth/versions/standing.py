"""Where a release stands: run here, known by its changelog, refused, or unknown (`components.yaml`)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from enum import StrEnum
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from msgspec import Struct, convert

from berth.catalog.tables import fact_tables
from berth.versions.numbers import minor_of, parse_release
from berth.yaml_loader import load_table

FOLDER: Final = Path(__file__).parent


@cache
def version_table(name: str) -> Mapping[str, Any]:
    """Return a table of this folder, loaded once."""
    return load_table(FOLDER / f"{name}.yaml")


class Standing(StrEnum):
    """What Berth knows of a release."""

    RAN = "ran"
    """It ran here against the recordings of decisions and of clusters."""
    CHANGELOG = "changelog"
    """A tag or a changelog of the project names it; it never ran here."""
    REFUSED = "refused"
    """It is older than the oldest that Berth's objects can be used with."""
    UNKNOWN = "unknown"
    """No table names it."""


class Minor(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The newest patch of a minor that `source` names, and its day, if the source has one."""

    newest: str
    source: str
    released: date | None = None


class Component(Struct, frozen=True, kw_only=True):
    """A project with releases; `oldest` and `ran` are None for one that Berth does not install.

    `oldest_because` completes the sentence `JobSet '0.2.0' …`.
    """

    name: str
    minors: Mapping[str, Minor]
    oldest: str | None = None
    oldest_because: str = ""
    ran: str | None = None


@cache
def components() -> Mapping[str, Component]:
    """Return every component by its key (`kueue`, `jobset`, …), loaded once."""
    named = {key: row for key, row in version_table("components").items() if "name" in row}
    return MappingProxyType(convert(named, dict[str, Component]))


def component(key: str) -> Component:
    """Return a component by its key. Raises KeyError."""
    return components()[key]


def newest_run(key: str) -> str:
    """Return the newest release of a component that ran here: what Berth installs by default."""
    ran = component(key).ran
    assert ran is not None, f"Berth does not install {key}"
    return ran


def standing(key: str, version: str) -> Standing:
    """Return where a release of a component stands. Raises InvalidReleaseError."""
    known, numbers = component(key), parse_release(version)
    if known.ran is not None and version == known.ran:
        return Standing.RAN
    if known.oldest is not None and numbers < parse_release(known.oldest):
        return Standing.REFUSED
    minor = known.minors.get(minor_of(numbers))
    is_listed = minor is not None and numbers <= parse_release(minor.newest) and "-" not in version
    return Standing.CHANGELOG if is_listed else Standing.UNKNOWN


def describe_standing(key: str, version: str) -> str:
    """Return the message for a release, with what is unchecked of one that did not run here."""
    known = component(key)
    table = fact_tables()["component-releases"]
    match standing(key, version):
        case Standing.RAN:
            return f"{known.name} '{version}' ran here against the recordings"
        case Standing.REFUSED:
            return f"{known.name} '{version}' {known.oldest_because}; write {known.oldest} or later" + (
                f", preferably {known.ran}" if known.ran else ""
            )
        case Standing.CHANGELOG:
            return (
                f"{known.name} '{version}' is known by its changelog ({table.dated_name}) and has not run here; "
                f"{known.ran} is the newest release that has, so try '{version}' in a stack of its own first"
            )
        case Standing.UNKNOWN:
            unchecked = "its feature gates, required actions, defaults and known holes are"
            listed = list(known.minors.values())[-1].newest
            remedy = f"read its changelog, and try '{version}' in a stack of its own first"
            if known.ran is not None and parse_release(version) < parse_release(known.ran):
                remedy = f"write {known.ran}"  # never a release below the written one
            return (
                f"{table.unknown(f'{known.name} {version!r}', unchecked)}; the newest release in it is {listed}, and "
                f"{known.ran} is the newest that has run here: {remedy}"
            )
