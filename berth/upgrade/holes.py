"""Known holes of Kueue: which a stack's teams can use, and which a change of versions closes or opens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec import Struct

from berth.plan.fleet import FleetPlan
from berth.text import pluralize
from berth.upgrade.conditions import judge
from berth.upgrade.evidence import Applicability, Evidence, Judgement, is_not
from berth.upgrade.moves import Move
from berth.versions.changes import Hole, known_holes
from berth.versions.gates import kueue_gates
from berth.versions.numbers import Version, dotted, has_change, parse_release
from berth.versions.standing import Standing, standing


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
    # Each policy of a row is one of `berth.manifests.policies`, which a test compares: `berth check` does not load it.
    policies, policy = evidence.plan.policies, hole.closed_by
    if policy is not None and policies is not None and policy.removeprefix("berth-") not in policies.audited:
        return is_not(f"the admission policy {policy} closes it")
    written: Mapping[str, bool] = evidence.plan.kueue.feature_gates if evidence.plan.kueue is not None else {}
    gates = kueue_gates(dotted(version))
    for closing, is_on in ((hole.closed_by_gate, True), (hole.closed_without_gate, False)):
        for first, gate in closing.items():
            if has_change(version, [first]) and gates is not None and gates.is_on(written, gate) is is_on:
                return is_not(f"the gate {gate} closes it" if is_on else f"the gate {gate}, which is off, closes it")
    return judge(hole.usable, evidence)


def describe_open_holes(release: str, plan: FleetPlan) -> str | None:
    """Return the message on the holes of a release that teams of a stack can use; None if there is none.

    A hole that needs a coincidence is left out, unless it stops the service.
    """
    if standing("kueue", release) in (Standing.UNKNOWN, Standing.REFUSED):
        return None
    found = [
        each
        for each in open_holes(release, Evidence(plan))
        if each.judgement.verdict == Applicability.APPLIES and (not each.hole.chance or each.hole.harms == "service")
    ]
    if not found:
        return None
    version = parse_release(release)
    fixes = [each.hole.fixed_after(version) for each in found]
    told = [
        f"{each.hole.says} ({each.name}, {f'fixed in {fix}' if fix else 'in every release'})"
        for each, fix in zip(found, fixes, strict=True)
    ]
    remedies = [
        f"{gate}: false under featureGates" for each in found for gate in each.hole.closed_without_gate.values()
    ]
    if newest := max((parse_release(fix) for fix in fixes if fix), default=None):
        remedies.append(f"{dotted(newest)} or later")
    holes = pluralize(len(found), "known hole")
    return (
        f"Kueue '{release}' has {holes} that this stack leaves open: {'; '.join(told)}; write {' and '.join(remedies)}"
    )


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
