"""Feature gates whose default differs between two releases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from berth.plan.fleet import FleetPlan
from berth.upgrade.moves import Move
from berth.versions.gates import Gates, companion_gates, kueue_gates


class GateTurn(Struct, frozen=True):
    """A feature gate that the stack does not set, and whose default differs; `after` None: the release lacks it.

    `gate` is that of Kueue, or begins with the name of another project (`JobSet's TLSOptions`).
    """

    gate: str
    before: bool | None
    after: bool | None


def gate_turns(move: Move, plan: FleetPlan) -> Iterator[GateTurn]:
    """Yield the gates of a component that turn, by name. No key of a stack sets those of JobSet."""
    match move.key:
        case "kueue":
            written: Mapping[str, Any] = plan.kueue.feature_gates if plan.kueue else {}
            for turn in turns_between(kueue_gates(move.before), kueue_gates(move.after)):
                if turn.gate not in written:
                    yield turn
        case "jobset" if not move.unknown:
            before, after = (companion_gates(move.key, each) for each in (move.before, move.after))
            for turn in turns_between(before, after):
                yield GateTurn(f"{move.name}'s {turn.gate}", turn.before, turn.after)
        case _:
            return


def turns_between(before: Gates | None, after: Gates | None) -> Iterator[GateTurn]:
    """Yield the gates of two releases whose default differs; none if a release has no list."""
    if before is None or after is None:
        return
    for gate in sorted({*before.states, *after.states}):
        old, new = before.default(gate), after.default(gate)
        if old != new and (old, new) not in ((None, False), (False, None)):
            yield GateTurn(gate, old, new)
