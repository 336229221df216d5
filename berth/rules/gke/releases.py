"""Whether GKE still creates clusters of a version: minors past their end of support, and exact patches.

The dates are data (`releases.yaml`) and are compared with the date of the table, not with the clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from berth.diagnostics import Severity
from berth.rules.gke.pool_request import GkeViolation
from berth.rules.gke.versions import compare_version, parse_version
from berth.yaml_loader import load_table


class MinorRelease(Struct, frozen=True, kw_only=True):
    """The days on which standard support, and that of the extended channel, end for one minor version."""

    standard: date
    extended: date


class Releases(Struct, frozen=True, kw_only=True):
    """The table: its date, and the minors by name such as 1.35, the oldest first."""

    as_of: date
    minors: Mapping[str, MinorRelease]

    @property
    def newest(self) -> str:
        """The newest minor in the table."""
        return list(self.minors)[-1]


@cache
def releases() -> Releases:
    """The table of this release of Berth, read once."""
    data: dict[str, Any] = load_table(Path(__file__).with_name("releases.yaml"))
    minors = {name: MinorRelease(**row) for name, row in data["minors"].items()}
    return Releases(as_of=data["as_of"], minors=MappingProxyType(minors))


def release_violation(version: str, channel: str) -> GkeViolation | None:
    """The warning of a version that GKE may refuse to create a cluster of."""
    numbers = parse_version(version)
    if ended := _end_of_support(version, channel):
        remedy = f'write "{releases().newest}", or no version for that of the channel'
        message = f"support of GKE '{version}' ended by {ended} ({_support(channel)}); {remedy}"
        return GkeViolation(code="version-unsupported", key="version", message=message, severity=Severity.WARNING)
    if len(numbers) == _EXACT:
        minor = ".".join(map(str, numbers[:2]))
        message = f"'{version}' is one exact patch, which GKE offers for some weeks and then refuses for new clusters"
        message = f'{message}; write "{minor}", which means its newest patch'
        return GkeViolation(code="version-exact", key="version", message=message, severity=Severity.WARNING)
    return None


_EXACT = 4
"""Numbers of a version that names a patch and GKE's own build of it."""


def _end_of_support(version: str, channel: str) -> date | None:
    """The day on which support ended, at the latest for a minor older than the table; None where it goes on."""
    table = releases()
    minor, oldest = ".".join(map(str, parse_version(version)[:2])), next(iter(table.minors))
    row = table.minors.get(oldest if compare_version(minor, oldest) == "older" else minor)
    if row is None:
        return None
    end = row.extended if channel == "extended" else row.standard
    return end if end <= table.as_of else None


def _support(channel: str) -> str:
    return "extended support" if channel == "extended" else "standard support; the extended channel goes on longer"
