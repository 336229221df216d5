"""Hourly cost of a change: a fleet before and after, with one table of prices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from msgspec import Struct

from berth.cost.fleet import FleetCost

MACHINES, TEAM, FLEET = "machines", "team", "fleet"
_Pair = tuple[Fraction | None, Fraction | None]
_NOTHING = Fraction()


class CostChange(Struct, frozen=True):
    """Committed cost and ceiling, each before and after; None if a price is missing.

    `kind` is machines, team (its guarantee and its ceiling) or fleet. Something that does not exist costs 0.
    """

    kind: str
    name: str
    committed: _Pair
    ceiling: _Pair


def compare_costs(old: FleetCost, new: FleetCost) -> tuple[CostChange, ...]:
    """Return machines and teams whose cost changes, by name, and the fleet last; nothing if no cost changes."""
    changes = [*_compare(MACHINES, _machines(old), _machines(new)), *_compare(TEAM, _teams(old), _teams(new))]
    if not changes:
        return ()
    before, after = old.fleet, new.fleet
    return (*changes, CostChange(FLEET, "all", (before.committed, after.committed), (before.ceiling, after.ceiling)))


def _compare(kind: str, before: Mapping[str, _Pair], after: Mapping[str, _Pair]) -> Iterator[CostChange]:
    nothing: _Pair = (_NOTHING, _NOTHING)
    for name in sorted(before.keys() | after.keys()):
        old_cost, new_cost = before.get(name, nothing), after.get(name, nothing)
        if old_cost != new_cost:
            yield CostChange(kind, name, (old_cost[0], new_cost[0]), (old_cost[1], new_cost[1]))


def _machines(cost: FleetCost) -> dict[str, _Pair]:
    return {machine.label: (machine.committed, machine.ceiling) for machine in cost.machines}


def _teams(cost: FleetCost) -> dict[str, _Pair]:
    """Return a team's sums; None if a price is missing."""
    return {
        name: (None, None) if total.unpriced else (total.committed, total.ceiling) for name, total in cost.teams.items()
    }
