"""All that a change of versions means for a stack, as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from berth.diagnostics import Problem
from berth.plan.fleet import FleetPlan
from berth.upgrade.conditions import judge
from berth.upgrade.evidence import Applicability, Evidence
from berth.upgrade.gate_turns import GateTurn, gate_turns
from berth.upgrade.holes import HoleChange, hole_changes
from berth.upgrade.moves import Key, Move, moves_between
from berth.upgrade.restarts import Restart, restarts_by
from berth.upgrade.untold import CompanionMove, companion_moves, untold
from berth.versions.changes import gke_changes, jobset_changes, other_changes, required_actions
from berth.versions.fields import CrdChange, field_changes
from berth.versions.gates import kueue_gates
from berth.versions.numbers import Version, parse_release

NO_DOWNGRADE: Final = "no-downgrade"
"""The finding that GKE takes no older minor."""


class UpgradeAction(Struct, frozen=True, kw_only=True):
    """A change on the way between two versions, and whether it concerns the stack.

    `source` is the release and the pull request, or what else says so. `is_required`: the changelog lists it under
    actions required. `objects` are the objects of manifests that must change, with their places. `clusters` are those
    that a change of GKE concerns, in a fleet with workers. `is_back`: a downgrade takes the change back.
    """

    key: Key
    name: str
    source: str
    says: str
    verdict: Applicability
    why: str
    do: str = ""
    when: str = "before"
    breaks: bool = False
    is_required: bool = False
    objects: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    is_back: bool = False


class Upgrade(Struct, frozen=True, kw_only=True):
    """What the moves mean. `faults` are those of the stack with the new versions, `warnings` those it gains.

    `earlier` are the faults of the stack file with the old versions: with them it cannot have run as it is written.

    `unlisted` are phrases on what no table tells. `source` says which manifests were read: `objects` of them are for
    the stack, and `others` are of namespaces that it does not have. `workers` are the clusters that its jobs run on.
    `restarts` are the nodes that GKE recreates after its control plane, in order.
    """

    stack: str
    moves: tuple[Move, ...]
    findings: tuple[UpgradeAction, ...] = ()
    turns: tuple[GateTurn, ...] = ()
    fields: tuple[CrdChange, ...] = ()
    holes: tuple[HoleChange, ...] = ()
    faults: tuple[Problem, ...] = ()
    earlier: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    unlisted: tuple[str, ...] = ()
    source: str = ""
    objects: int = 0
    others: int = 0
    workers: tuple[str, ...] = ()
    companions: tuple[CompanionMove, ...] = ()
    restarts: tuple[Restart, ...] = ()

    def of(self, verdict: Applicability) -> tuple[UpgradeAction, ...]:
        """Return the findings with a verdict."""
        return tuple(finding for finding in self.findings if finding.verdict == verdict)

    @property
    def breaking(self) -> tuple[UpgradeAction, ...]:
        """The findings that concern the stack and stop what runs."""
        return tuple(finding for finding in self.of(Applicability.APPLIES) if finding.breaks)

    @property
    def breaks(self) -> bool:
        """Whether what runs would stop, or the stack would be refused."""
        return bool(self.breaking or self.faults)


def upgrade_of(old: FleetPlan, new: FleetPlan, evidence: Evidence | None = None) -> Upgrade | None:
    """Return what the changed versions of two plans of a stack mean; None if no version changes.

    The conditions are asked of the new plan, which may already have what an action asks for; `evidence` has the
    objects of manifests that were read.
    """
    moves = moves_between(old, new)
    return upgrade_by(moves, new, evidence) if moves else None


def upgrade_by(moves: tuple[Move, ...], plan: FleetPlan, evidence: Evidence | None = None) -> Upgrade:
    """Return what moves of components mean for a plan."""
    kueue = next((move for move in moves if move.key == "kueue"), None)
    judged = replace(evidence or Evidence(plan), plan=plan, gates=kueue_gates(kueue.after) if kueue else None)
    found: dict[UpgradeAction, list[str]] = {}  # those of several clusters that are alike are one with all of them
    for move in moves:
        for finding in _findings(move, judged):
            found.setdefault(finding, []).append(move.cluster)
    result = Upgrade(
        stack=plan.stack,
        moves=moves,
        findings=tuple(
            replace(each, clusters=tuple(clusters)) if plan.workers and each.key == "gke" else each
            for each, clusters in found.items()
        ),
        turns=tuple(turn for move in reversed(moves) for turn in gate_turns(move, plan)),
        fields=tuple(change for move in moves for change in _fields(move)),
        unlisted=tuple(dict.fromkeys(phrase for move in moves for phrase in untold(move))),
        source=judged.source,
        objects=len(judged.objects),
        workers=tuple(worker.name for worker in plan.workers),
        restarts=restarts_by(moves, plan),
    )
    if kueue is None or kueue.unknown:
        return result
    return replace(result, holes=tuple(hole_changes(kueue, judged)), companions=tuple(companion_moves(kueue, judged)))


def _findings(move: Move, evidence: Evidence) -> Iterator[UpgradeAction]:
    match move.key:
        case "kueue":
            yield from _kueue_findings(move, evidence)
        case "jobset":
            yield from _jobset_findings(move)
        case "gke":
            worker = next((each for each in evidence.plan.workers if each.name == move.worker), None)
            yield from _gke_findings(move, evidence if worker is None else replace(evidence, plan=worker.plan))


def _kueue_findings(move: Move, evidence: Evidence) -> Iterator[UpgradeAction]:
    before, after = (parse_release(each) for each in (move.before, move.after))
    older, newer = sorted((before, after))
    for is_required, changes in ((True, required_actions()), (False, other_changes())):
        for name, change in changes.items():
            if not change.comes_between(older, newer):
                continue
            release, number = _first(change.releases, older, newer)
            judgement = judge(change.asks, evidence)
            companions = [f"{key} {version}" for key, version in change.companion.items()]
            yield UpgradeAction(
                key="kueue",
                is_back=move.is_downgrade,
                name=name,
                source=f"{release}, #{number}",
                says=change.says,
                verdict=judgement.verdict,
                why=f"{judgement.why} (needs {', '.join(companions)})" if companions else judgement.why,
                do="" if move.is_downgrade else change.do,
                when=change.when,
                breaks=change.breaks and not move.is_downgrade,
                is_required=is_required,
                objects=tuple(each.title for each in judgement.objects),
            )


def _first(releases: Mapping[str, int], older: Version, newer: Version) -> tuple[str, int]:
    """Return the first release with a change that is newer than `older` and at most `newer`, and its number."""
    named = sorted((parse_release(text), text) for text in releases)
    between = [text for version, text in named if older < version <= newer]
    own = [text for text in between if parse_release(text)[:2] == newer[:2]]
    text = (own or between or [text for _, text in named])[0]
    return text, releases[text]


def _jobset_findings(move: Move) -> Iterator[UpgradeAction]:
    before, after = (parse_release(each) for each in (move.before, move.after))
    for name, change in jobset_changes().items():
        crossed = [
            release for release in change.releases if min(before, after) < parse_release(release) <= max(before, after)
        ]
        if not change.every and not crossed:
            continue
        yield UpgradeAction(
            key="jobset",
            is_back=move.is_downgrade,
            name=name,
            source=f"{crossed[0]}, #{change.releases[crossed[0]]}" if crossed else "chart of JobSet",
            says=change.says,
            verdict=Applicability.APPLIES,
            why="the stack installs JobSet's chart",
            do="" if change.do == "nothing" else change.do,
        )


def _gke_findings(move: Move, evidence: Evidence) -> Iterator[UpgradeAction]:
    before, after = move.numbers
    older, newer = sorted((before[:2], after[:2]))
    for name, change in gke_changes().items():
        if not older < tuple(map(int, change.since.split("."))) <= newer:
            continue
        judgement = judge(change.asks, evidence)
        yield UpgradeAction(
            key="gke",
            is_back=move.is_downgrade,
            name=name,
            source=f"{change.since}; {change.source}",
            says=change.says,
            verdict=judgement.verdict,
            why=judgement.why,
            do="" if change.do == "nothing" else change.do,
            when=change.when,
            breaks=change.breaks and not move.is_downgrade,
            objects=tuple(each.title for each in judgement.objects),
        )
    if move.is_downgrade and before[:2] != after[:2]:
        yield UpgradeAction(
            key="gke",
            name=NO_DOWNGRADE,
            source="GKE's page on cluster upgrades",
            says="GKE does not downgrade the control plane to an older minor",
            verdict=Applicability.APPLIES,
            why=f"the stack asks for {move.after} after {move.before}",
            do=f'keep version: "{move.before}", or create another cluster',
            breaks=True,
        )


def _fields(move: Move) -> tuple[CrdChange, ...]:
    if move.key == "gke":
        return ()
    return field_changes(move.key, move.before, move.after) or ()
