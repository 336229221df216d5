"""What a release changes for those who upgrade (`kueue.yaml`), and its known holes (`holes.yaml`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

from msgspec import Struct, convert, field

from berth.versions.numbers import Version, has_change, parse_release
from berth.versions.standing import version_table


class ReleaseChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What releases of Kueue change: a required action (with `do`), or another change.

    `releases` has the first release of each minor with it, and the pull request. `asks` is a condition of
    `berth.upgrade.conditions`, by which it concerns a stack; without one it concerns every stack. A change that
    `breaks` stops what runs where it concerns a stack. `companion` has the release that another component needs.
    """

    releases: Mapping[str, int] = field(name="in")
    says: str
    asks: Mapping[str, Any] = field(default_factory=dict[str, Any])
    do: str = ""
    when: Literal["before", "after"] = "before"
    breaks: bool = False
    companion: Mapping[str, str] = field(default_factory=dict[str, str])

    def comes_between(self, before: Version, after: Version) -> bool:
        """Return whether `after` has the change and `before` has not."""
        return has_change(after, self.releases) and not has_change(before, self.releases)


def changelogs_read() -> Mapping[str, str]:
    """Return minor → its newest patch whose changelog was read to its end."""
    read: Mapping[str, str] = version_table("kueue")["read"]
    return read


class Hole(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A known hole of Kueue: against the quota, or against the service itself.

    Releases have it from `since` (default: all) until `fixed`. `usable` is a condition, by which teams of a stack can
    use it. `closed_by` is Berth's admission policy that closes it, `closed_by_gate` a gate by the release that has it,
    `closed_without_gate` a gate that closes it where it is off.
    By `chance`, it happens without anybody who tries.
    """

    fixed: Mapping[str, int]
    says: str
    usable: Mapping[str, Any]
    since: Mapping[str, int] = field(default_factory=dict[str, int])
    closed_by: str | None = None
    closed_by_gate: Mapping[str, str] = field(default_factory=dict[str, str])
    closed_without_gate: Mapping[str, str] = field(default_factory=dict[str, str])
    chance: bool = False
    harms: Literal["quota", "service"] = "quota"

    def is_in(self, version: Version) -> bool:
        """Return whether a release has the hole."""
        return (not self.since or has_change(version, self.since)) and not has_change(version, self.fixed)

    def fixed_after(self, version: Version) -> str:
        """Return the first release without it that is newer than `version`, of the same minor if there is one."""
        later = sorted((parse_release(text), text) for text in self.fixed if parse_release(text) > version)
        return next((text for _, text in later), "")


@cache
def required_actions() -> Mapping[str, ReleaseChange]:
    """Return the actions that Kueue's changelogs require before an upgrade, by name."""
    return _changes("actions")


@cache
def other_changes() -> Mapping[str, ReleaseChange]:
    """Return other changes of releases of Kueue that a stack or its jobs may notice, by name."""
    return _changes("changes")


def _changes(section: str) -> Mapping[str, ReleaseChange]:
    return MappingProxyType(convert(version_table("kueue")[section], dict[str, ReleaseChange]))


@cache
def known_holes() -> Mapping[str, Hole]:
    """Return the known holes of Kueue by name."""
    return MappingProxyType(convert(version_table("holes"), dict[str, Hole]))


class GkeChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a minor version of GKE changes from `since` on; the rest is as in ReleaseChange."""

    since: str = field(name="in")
    says: str
    asks: Mapping[str, Any]
    do: str
    source: str
    when: Literal["before", "after"] = "before"
    breaks: bool = False


@cache
def gke_changes() -> Mapping[str, GkeChange]:
    """Return what GKE's minor versions change, by name."""
    return MappingProxyType(convert(version_table("gke")["changes"], dict[str, GkeChange]))


def gke_changes_read() -> str:
    """Return the first minor of GKE of which more than the API versions that it no longer serves was read."""
    read: str = version_table("gke")["read"]
    return read


class JobSetChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What releases of JobSet change; `every` is of each upgrade."""

    says: str
    do: str
    releases: Mapping[str, int] = field(name="in", default_factory=dict[str, int])
    every: bool = False


@cache
def jobset_changes() -> Mapping[str, JobSetChange]:
    """Return what releases of JobSet change, by name."""
    return MappingProxyType(convert(version_table("components")["jobset_changes"], dict[str, JobSetChange]))


@cache
def companions(minor: str) -> Mapping[str, str]:
    """Return what a minor of Kueue is built with: component → release; empty for a minor that no table has."""
    return version_table("components")["companions"].get(minor, {})
