"""Which components of a stack change their version, and in which direction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from msgspec import Struct

from berth.catalog import InvalidVersionError, parse_version, releases
from berth.plan.fleet import FleetPlan
from berth.plan.gke import ClusterPlan
from berth.versions.numbers import InvalidReleaseError, Version, parse_release
from berth.versions.standing import Standing, standing

Key = Literal["gke", "jobset", "kueue"]
"""A component: GKE's control plane and nodes, or a chart that Berth installs."""

NAMES: Final[Mapping[Key, str]] = {"gke": "GKE", "jobset": "JobSet", "kueue": "Kueue"}
"""Component → its name in messages, in the order in which an upgrade takes them."""


class Move(Struct, frozen=True):
    """A component that changes from one version to another."""

    key: Key
    before: str
    after: str

    @property
    def name(self) -> str:
        """The component's name."""
        return NAMES[self.key]

    @property
    def is_downgrade(self) -> bool:
        """Whether the new version is the older one."""
        before, after = self.numbers
        return after < before

    @property
    def numbers(self) -> tuple[Version, Version]:
        """The numbers of both versions; of GKE the part that both name."""
        before, after = (parse_version(each) if self.key == "gke" else parse_release(each) for each in self._versions)
        length = min(len(before), len(after))
        return before[:length], after[:length]

    @property
    def _versions(self) -> tuple[str, str]:
        return self.before, self.after

    @property
    def unknown(self) -> tuple[str, ...]:
        """The versions of the two that no table has: what they change is unknown."""
        if self.key == "gke":
            return tuple(each for each in self._versions if not releases().is_known(each))
        return tuple(each for each in self._versions if standing(self.key, each) == Standing.UNKNOWN)

    @property
    def phrase(self) -> str:
        """The move in words, loud for a downgrade: `Kueue 0.19.2 → 0.20.0` or `Kueue is DOWNGRADED from …`."""
        if self.is_downgrade:
            return f"{self.name} is DOWNGRADED from {self.before} to {self.after}"
        return f"{self.name} is upgraded from {self.before} to {self.after}"


def moves_between(old: FleetPlan, new: FleetPlan) -> tuple[Move, ...]:
    """Return the components whose version differs between two plans of a stack, in the order of an upgrade."""
    before, after = versions_of(old), versions_of(new)
    return tuple(
        Move(key, before[key], after[key])
        for key in NAMES
        if key in before and key in after and before[key] != after[key] and _can_be_compared(before[key], after[key])
    )


def versions_of(plan: FleetPlan) -> dict[Key, str]:
    """Return the versions that a plan sets; a cluster that follows its release channel has none."""
    found: dict[Key, str] = {}
    if isinstance(plan.cluster, ClusterPlan) and plan.cluster.version:
        found["gke"] = plan.cluster.version
    for chart in plan.charts:
        if chart.name in ("jobset", "kueue"):
            found["jobset" if chart.name == "jobset" else "kueue"] = chart.version
    return found


def _can_be_compared(*versions: str) -> bool:
    """Return whether all are numbers of a release; a plan with a fault may have others."""
    for version in versions:
        try:
            parse_release(version)
        except InvalidReleaseError:
            try:
                parse_version(version)
            except InvalidVersionError:
                return False
    return True
