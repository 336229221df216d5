"""What Kueue works with and Berth does not install: the releases that Kueue is built with, and what differs in them."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from berth.upgrade.evidence import Evidence
from berth.upgrade.gate_turns import GateTurn, turns_between
from berth.upgrade.moves import Move
from berth.versions.changes import companions
from berth.versions.fields import CrdChange, field_changes
from berth.versions.gates import companion_gates
from berth.versions.numbers import minor_of, parse_release
from berth.versions.standing import component


class CompanionMove(Struct, frozen=True, kw_only=True):
    """An operator of jobs: the releases that the old and the new Kueue are built with, and what differs in them."""

    key: str
    name: str
    before: str
    after: str
    turns: tuple[GateTurn, ...] = ()
    fields: tuple[CrdChange, ...] = ()


def companion_moves(move: Move, evidence: Evidence) -> Iterator[CompanionMove]:
    """Yield the operators of kinds that the stack may queue whose release differs by what Kueue is built with."""
    from berth.jobs.kinds import kinds  # `berth check` asks for no kind

    built = [companions(minor_of(parse_release(version))) for version in (move.before, move.after)]
    queued = evidence.queued_frameworks
    mine = {row.operator for row in kinds().values() if queued is None or row.framework in queued}
    for key in sorted(built[0].keys() & built[1].keys() & mine):
        before, after = (releases[key] for releases in built)
        if before == after:
            continue
        gates = [companion_gates(key, version) for version in (before, after)]
        yield CompanionMove(
            key=key,
            name=component(key).name,
            before=before,
            after=after,
            turns=tuple(turns_between(*gates)),
            fields=field_changes(key, before, after) or (),
        )
