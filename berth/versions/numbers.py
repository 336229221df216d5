"""Numbers of releases, and whether a release has a change that several minors got in different patches."""

from __future__ import annotations

import re
from collections.abc import Iterable

Version = tuple[int, ...]
"""The numbers of a release: major, minor and patch."""

_RELEASE = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?")


class InvalidReleaseError(ValueError):
    """Raised for text that is not a release such as 0.19.2."""


def parse_release(text: str) -> Version:
    """Return the numbers of a release; a pre-release counts as the release. Raises InvalidReleaseError."""
    match = _RELEASE.fullmatch(text)
    if match is None or not text.isascii():
        raise InvalidReleaseError(f"'{text}' is not a release such as 0.19.2")
    return tuple(map(int, match.groups()[:3]))


def dotted(version: Iterable[int]) -> str:
    """Return `0.19.2` of its numbers."""
    return ".".join(map(str, version))


def minor_of(version: Version) -> str:
    """Return the minor of a release: 0.19 of 0.19.2."""
    return dotted(version[:2])


def has_change(version: Version, first: Iterable[str]) -> bool:
    """Return whether a release has a change whose `first` release of each minor is given.

    A minor that is newer than one of those named has it; one that is older than all has it not. A minor between two of
    those named that is not named itself has it: the older one got it as a fix of the newer.
    """
    firsts = {version[:2]: version for version in map(parse_release, first)}
    if (own := firsts.get(version[:2])) is not None:
        return version >= own
    return any(minor < version[:2] for minor in firsts)
