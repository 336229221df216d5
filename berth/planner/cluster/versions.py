"""Which GKE version the fleet's pools need, against the one that the cluster is to have."""

from __future__ import annotations

from collections.abc import Mapping

from berth.diagnostics import Path
from berth.planner.context import Draft
from berth.planner.machines.capacity_rules import where
from berth.planner.machines.pools import Pool
from berth.rules.gke.pool_request import Asked
from berth.rules.gke.versions import Lack, Need, lacking, needs, parse, standing
from berth.rules.gke.versions import since as first_version


def versions(draft: Draft, known: Mapping[str, Pool]) -> None:
    """Report what a quoted version lacks, at the pool that asks for it; and in one note what could only be assumed."""
    if draft.existing or any(draft.lost("cluster", key) for key in ("mode", "version", "releaseChannel")):
        return
    cluster, assumed = draft.spec.cluster, list[Lack]()
    for name, pool in known.items():
        for lack in lacking(needs(pool.asked), cluster.version, cluster.release_channel):
            path: Path = ("pools", name, *where(pool.asked, lack.key))
            if lack.severity == "fault":
                draft.problems.fault("version-too-old", path, lack.message)
            elif lack.severity == "warning":
                draft.problems.warning("version-doubtful", path, lack.message)
            else:
                assumed.append(lack)
    if assumed:
        # The newest version that is assumed has whatever an older one has.
        newest = max(assumed, key=lambda lack: parse(lack.since))
        key = "version" if cluster.version else "releaseChannel"
        draft.problems.note("version-assumed", ("cluster", key), newest.message)


def knows_flex_start(draft: Draft, asked: Asked) -> bool:
    """Whether the cluster is not known to be older than flex-start."""
    first = first_version(Need(feature="flex-start", autopilot=asked.cluster.autopilot, kind=asked.machine.kind))
    version = draft.spec.cluster.version
    return version is None or first is None or standing(version, first) != "older"
