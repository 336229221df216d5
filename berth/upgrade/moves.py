"""Which components of a stack change their version, and in which direction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct

from berth.catalog import InvalidVersionError, parse_version, releases
from berth.diagnostics import FieldPath, join_words
from berth.plan.fleet import ExistingClusterPlan, ExistingGkeClusterPlan, FleetPlan
from berth.plan.gke import ClusterPlan
from berth.plan.grouping import grouped
from berth.versions.numbers import InvalidReleaseError, Version, parse_release
from berth.versions.standing import Standing, standing

Key = Literal["gke", "jobset", "kueue"]
"""A component: GKE's control plane and nodes, or a chart that Berth installs."""

Origin = Literal["stack", "channel", "others"]

NAMES: Final[Mapping[Key, str]] = {"gke": "GKE", "jobset": "JobSet", "kueue": "Kueue"}
"""Component → its name in messages, in the order in which an upgrade takes them."""


class Move(Struct, frozen=True):
    """A component that changes from one version to another.

    `worker` is the worker whose cluster it is; empty for the stack's own. `origin` is where the version comes from: the
    stack file, the release channel that GKE follows by itself, or others, who upgrade what exists already.
    """

    key: Key
    before: str
    after: str
    worker: str = ""
    origin: Origin = "stack"

    @property
    def name(self) -> str:
        """The component's name."""
        return NAMES[self.key]

    @property
    def path(self) -> FieldPath:
        """The path of the version in the stack file."""
        section = ("cluster" if self.key == "gke" else self.key, "version")
        return ("workers", self.worker, *section) if self.worker else section

    @property
    def is_written(self) -> bool:
        """Whether the stack file can have the version: of GKE also that of a cluster that others made."""
        return self.origin != "others" or self.key == "gke"

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
    def cluster(self) -> str:
        """The cluster in a fleet with workers."""
        return f"worker {self.worker}" if self.worker else "the manager"


def phrases(moves: Sequence[Move], workers: Sequence[str]) -> list[str]:
    """Return the moves in words, loud for a downgrade: `Kueue is upgraded from …` or `Kueue is DOWNGRADED from …`.

    Clusters of a fleet with workers that move alike share a phrase.
    """
    clusters: dict[tuple[Key, str, str], list[Move]] = grouped(
        ((move.key, move.before, move.after), move) for move in moves
    )
    found: list[str] = []
    for (key, before, after), alike in clusters.items():
        name = NAMES[key]
        if key == "gke" and workers:
            name += f" of {join_words([move.cluster for move in alike])}"
        found.append(f"{name} is {'DOWNGRADED' if alike[0].is_downgrade else 'upgraded'} from {before} to {after}")
    return found


def moves_between(old: FleetPlan, new: FleetPlan) -> tuple[Move, ...]:
    """Return the components whose version differs between two plans of a stack, in the order of an upgrade.

    Charts of workers have the manager's releases; the clusters that the stack makes for workers have versions of
    their own.
    """
    found = [
        move
        for worker, before, after in clusters_of_both(old, new)
        for move in _moves(versions_of(before), versions_of(after), worker)
        if not worker or move.key == "gke"
    ]
    return tuple(sorted(found, key=lambda move: list(NAMES).index(move.key)))


def clusters_of_both(old: FleetPlan, new: FleetPlan) -> Iterator[tuple[str, FleetPlan, FleetPlan]]:
    """Yield the clusters that two plans of a stack make: its own, with an empty name, and those of its workers."""
    yield "", old, new
    earlier = {worker.key: worker.plan for worker in old.workers if worker.made_here}
    for worker in new.workers:
        if worker.made_here and worker.key in earlier:
            yield worker.name, earlier[worker.key], worker.plan


def _moves(before: Mapping[Key, str], after: Mapping[Key, str], worker: str) -> Iterator[Move]:
    for key in NAMES:
        if key in before and key in after and before[key] != after[key] and _can_be_compared(before[key], after[key]):
            yield Move(key, before[key], after[key], worker)


def versions_of(plan: FleetPlan) -> dict[Key, str]:
    """Return the versions that a plan sets; a cluster that follows its release channel has none."""
    found: dict[Key, str] = {}
    if isinstance(plan.cluster, ClusterPlan) and plan.cluster.version:
        found["gke"] = plan.cluster.version
    for chart in plan.charts:
        if chart.name in ("jobset", "kueue"):
            found["jobset" if chart.name == "jobset" else "kueue"] = chart.version
    return found


def known_versions(plan: FleetPlan, key: Key) -> list[tuple[str, str, Origin]]:
    """Return each cluster of a stack that has its own version of a component: its worker, the version, and its origin.

    The version is empty where the stack file has none, because GKE follows its release channel or others installed it.
    """
    if key != "gke":
        version = versions_of(plan).get(key)
        return [("", version or "", "stack" if version else "others")]
    own = [("", plan.cluster), *((worker.name, worker.plan.cluster) for worker in plan.workers if worker.made_here)]
    return [(worker, *_version_of(cluster)) for worker, cluster in own]


def _version_of(cluster: ClusterPlan | ExistingClusterPlan | ExistingGkeClusterPlan) -> tuple[str, Origin]:
    match cluster:
        case ClusterPlan(version=version):
            return version or "", "stack" if version else "channel"
        case ExistingGkeClusterPlan(version=version):
            return version or "", "others"
        case ExistingClusterPlan():
            return "", "others"


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
