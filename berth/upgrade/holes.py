"""Known holes of Kueue: which a stack's teams can use, and which a change of versions closes or opens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec import Struct

from berth.upgrade.conditions import judge
from berth.upgrade.evidence import Evidence
from berth.upgrade.judgement import Applicability, Judgement, is_not
from berth.upgrade.moves import Move
from berth.versions.changes import Hole, known_holes
from berth.versions.gates import kueue_gates
from berth.versions.numbers import Version, has_change, parse_release


class OpenHole(Struct, frozen=True):
    """A known hole of a release, and whether teams of a stack can use it."""

    name: str
    hole: Hole
    judgement: Judgement


class HoleChange(Struct, frozen=True):
    """A hole that a change of versions closes or opens, or that stays open; `usable` says whether teams can use it."""

    name: str
    says: str
    becomes: Literal["closed", "opened", "open"]
    usable: Applicability
    why: str
    fixed_in: str
    chance: bool


def open_holes(release: str, evidence: Evidence) -> Iterator[OpenHole]:
    """Yield the known holes of a release of Kueue, with whether teams of the stack can use each."""
    version = parse_release(release)
    for name, hole in known_holes().items():
        if hole.is_in(version):
            yield OpenHole(name, hole, judge_hole(hole, version, evidence))


def judge_hole(hole: Hole, version: Version, evidence: Evidence) -> Judgement:
    """Return whether teams can use a hole: not if a policy of the stack or a gate closes it."""
    if hole.closed_by is not None and evidence.plan.policies is not None:
        return is_not(f"the admission policy {hole.closed_by} closes it")
    written: Mapping[str, bool] = evidence.plan.kueue.feature_gates if evidence.plan.kueue is not None else {}
    for first, gate in hole.closed_by_gate.items():
        gates = kueue_gates(".".join(map(str, version)))
        if has_change(version, [first]) and gates is not None and gates.is_on(written, gate):
            return is_not(f"the gate {gate} closes it")
    return judge(hole.usable, evidence)


def hole_changes(move: Move, evidence: Evidence) -> Iterator[HoleChange]:
    """Yield the holes that a move of Kueue closes or opens, then those that stay open and that teams can use."""
    before, after = (parse_release(each) for each in (move.before, move.after))
    left: list[HoleChange] = []
    for name, hole in known_holes().items():
        was, stays = hole.is_in(before), hole.is_in(after)
        if not was and not stays:
            continue
        judgement = judge_hole(hole, after if stays else before, evidence)
        becomes = "closed" if was and not stays else "opened" if stays and not was else "open"
        change = HoleChange(
            name, hole.says, becomes, judgement.verdict, judgement.why, hole.fixed_after(after), hole.chance
        )
        if becomes == "open":
            left += [change] if judgement.verdict != Applicability.NOT else []
        else:
            yield change
    yield from left
