"""GKE's versions: what one names, how two compare, and how long GKE supports a minor version (`releases.yaml`).

"1.34" and "1.34.1" name less than "1.34.1-gke.1829001", so a comparison can be undecided.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from msgspec import Struct, convert

from berth.clock import as_of
from berth.yaml_loader import load_table


class MinorRelease(Struct, frozen=True, kw_only=True):
    """The days on which standard support, and that of the extended channel, end for one minor version."""

    standard: date
    extended: date


class Releases(Struct, frozen=True, kw_only=True):
    """The table: the minors by name such as 1.35, the oldest first.

    `without_dates` are newer ones, with their source, whose ends of support the table does not have.
    """

    minors: Mapping[str, MinorRelease]
    without_dates: Mapping[str, str]

    @property
    def newest(self) -> str:
        """The newest minor whose ends of support the table has."""
        return list(self.minors)[-1]

    def is_known(self, version: str) -> bool:
        """Whether the table has the minor of a version, or a newer one than that of a version before all of it."""
        minor = gke_minor(version)
        return minor in self.minors or minor in self.without_dates or compare_version(minor, self.newest) == "older"


@cache
def releases() -> Releases:
    """The table of this release of Berth, read once."""
    data: dict[str, Any] = load_table(Path(__file__).with_name("releases.yaml"))
    minors = convert(data["minors"], dict[str, MinorRelease])
    return Releases(minors=MappingProxyType(minors), without_dates=MappingProxyType(data["without_dates"]))


def end_of_support(version: str, channel: str) -> date | None:
    """The day on which support ended, at the latest for a minor older than the table; None where it goes on.

    That depends on the clock, so only warnings and the words of remedies may.
    """
    table = releases()
    minor, oldest = gke_minor(version), next(iter(table.minors))
    row = table.minors.get(oldest if compare_version(minor, oldest) == "older" else minor)
    if row is None:
        return None
    end = row.extended if channel == "extended" else row.standard
    return end if end <= as_of() else None


def supported_minor(since: str, channel: str) -> str:
    """The oldest minor that has what came with the version `since`, and whose support goes on; without one, its own."""
    first = parse_version(gke_minor(since))
    later = (minor for minor in releases().minors if parse_version(minor) >= first)
    return next((minor for minor in later if end_of_support(minor, channel) is None), gke_minor(since))


VersionParts = tuple[int, ...]
"""The numbers that a version names: major, minor, patch, GKE's own; two to four of them."""

_VERSION = re.compile(r"([1-9][0-9]*)\.(0|[1-9][0-9]*)(?:\.(0|[1-9][0-9]*)(?:-gke\.([0-9]+))?)?")

VersionOrder = Literal["older", "newer", "unknown"]
"""A version before another · that one or after it · one that does not name enough to tell."""


class InvalidVersionError(ValueError):
    """Raised for text that is not a GKE version."""


def parse_version(version: str) -> VersionParts:
    """The numbers of a GKE version; NotAVersion if it is none."""
    match = _VERSION.fullmatch(version)
    if not match or not version.isascii():
        raise InvalidVersionError(f"'{version}' is not a GKE version such as 1.34 or 1.34.1-gke.1829001")
    return tuple(int(part) for part in match.groups() if part is not None)


def compare_version(version: str, since: str) -> VersionOrder:
    """How `version` stands to the first version that has something."""
    actual, required = parse_version(version), parse_version(since)
    for actual_part, required_part in zip(actual, required, strict=False):
        if actual_part != required_part:
            return "older" if actual_part < required_part else "newer"
    return "unknown" if any(required[len(actual) :]) else "newer"


def gke_minor(version: str) -> str:
    """The minor version: 1.34 of 1.34.1-gke.1829001. Raises InvalidVersionError."""
    return ".".join(map(str, parse_version(version)[:2]))
