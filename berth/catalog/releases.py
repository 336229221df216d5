"""How long GKE supports its minor versions (`releases.yaml`), on the day of `berth.clock`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec import Struct, convert

from berth.catalog.gke_versions import compare_version, gke_minor, parse_version
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
