"""What a change costs by the hour: a fleet before and after, by one table of prices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from msgspec import Struct

from berth.cost.fleet import Cost

MACHINES, TEAM, FLEET = "machines", "team", "fleet"
_Pair = tuple[Fraction | None, Fraction | None]
_NOTHING = Fraction()


class CostStep(Struct, frozen=True):
    """What is committed, and the ceiling, each before and after; None where a price is missing.

    `kind` is machines, team (then what it is guaranteed, and what it can reach) or fleet. What was not, or is no more,
    costs nothing.
    """

    kind: str
    name: str
    committed: _Pair
    ceiling: _Pair


def compare_costs(old: Cost, new: Cost) -> tuple[CostStep, ...]:
    """Machines and teams that cost other than before, by name, and the fleet last; none where nothing does."""
    found = [*_steps(MACHINES, _machines(old), _machines(new)), *_steps(TEAM, _teams(old), _teams(new))]
    if not found:
        return ()
    before, after = old.fleet, new.fleet
    return (*found, CostStep(FLEET, "all", (before.committed, after.committed), (before.ceiling, after.ceiling)))


def _steps(kind: str, before: Mapping[str, _Pair], after: Mapping[str, _Pair]) -> Iterator[CostStep]:
    nothing: _Pair = (_NOTHING, _NOTHING)
    for name in sorted(before.keys() | after.keys()):
        one, other = before.get(name, nothing), after.get(name, nothing)
        if one != other:
            yield CostStep(kind, name, (one[0], other[0]), (one[1], other[1]))


def _machines(cost: Cost) -> dict[str, _Pair]:
    return {each.label: (each.committed, each.ceiling) for each in cost.machines}


def _teams(cost: Cost) -> dict[str, _Pair]:
    """A team's sums; None where they lack a price."""
    return {
        name: (None, None) if found.unpriced else (found.committed, found.ceiling) for name, found in cost.teams.items()
    }
