"""GKE versions: what one names, and how two compare.

"1.34" and "1.34.1" name less than "1.34.1-gke.1829001", so a comparison can be undecided.
"""

from __future__ import annotations

import re
from typing import Literal

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
