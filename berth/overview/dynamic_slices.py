"""The slices that jobs can form of a fleet's machines, and those that remain when a sub-block fails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from berth.document import Cell, Table
from berth.overview.losses import FlavorLoss
from berth.plan.dynamic_slices import FormedSlice, SlicingPlan
from berth.plan.fleet import FleetPlan
from berth.plan.kueue import FlavorPlan

_MOST: Final = 16
"""Shapes of a flavor in the table."""


def shape_table(plan: FleetPlan) -> Table:
    """List the shapes of each flavor, how many there can be at once, and how many with one sub-block less."""
    rows: list[list[Cell]] = [
        [
            flavor.name,
            each.topology,
            f"{each.chips} {flavor.noun}",
            str(each.nodes),
            _number(slicing, each, places),
            _number(slicing, each, places, failed=1),
        ]
        for flavor in plan.flavors
        if (slicing := flavor.slicing) is not None
        for places in (_blocks_by_place(plan, flavor),)
        for each in _listed(slicing.shapes)
    ]
    titles = ("flavor", "shape", "chips", "pods", "at once", "after one sub-block fails")
    return Table("Slices that jobs can form", titles, rows, numbers=(3, 4, 5), once=(0,))


def _blocks_by_place(plan: FleetPlan, flavor: FlavorPlan) -> dict[str | None, int]:
    """Return the place that sub-blocks are in → how many; None for those whose reservation names no block."""
    places: dict[str | None, int] = {}
    for pool in plan.pools:
        if pool.name in flavor.pools and pool.slices is not None:
            held = next((each for each in plan.held if pool.name in each.pools), None)
            place = f"{held.name}/{held.block}" if held is not None and held.block is not None else None
            places[place] = places.get(place, 0) + pool.slices.max
    return places


def _number(slicing: SlicingPlan, formed: FormedSlice, places: Mapping[str | None, int], failed: int = 0) -> str:
    """Return how many slices of a shape there can be at once; several sub-blocks are joined within one place only."""
    wanted = formed.chips // slicing.block_chips
    if wanted <= 1 or slicing.outer is None:
        return str(at_once(without(slicing, failed), formed))
    if None in places:
        return "unknown"
    lost = [{**places, place: number - failed} for place, number in places.items() if number]
    return str(min((sum(number // wanted for number in each.values()) for each in lost), default=0))


def _listed(shapes: tuple[FormedSlice, ...]) -> tuple[FormedSlice, ...]:
    """Return the shapes to show: of very many the smallest, and the largest."""
    return shapes if len(shapes) <= _MOST else (*shapes[: _MOST - 1], shapes[-1])


def without(slicing: SlicingPlan, blocks: int) -> SlicingPlan:
    """Return what can be formed of fewer sub-blocks."""
    return replace(slicing, blocks=max(0, slicing.blocks - blocks))


def at_once(slicing: SlicingPlan, formed: FormedSlice) -> int:
    """Return how many slices of a shape there can be at the same time."""
    found = slicing.formed(formed.topology)
    return found.at_once if found is not None else 0


def lost_shapes(loss: FlavorLoss) -> Iterator[str]:
    """Yield what becomes of the slices of a flavor that lost machines; a sub-block is lost with its first node."""
    flavor: FlavorPlan = loss.flavor
    slicing = flavor.slicing
    if slicing is None:
        return
    left = without(slicing, -(-loss.lost // slicing.block_chips))
    gone = [each.topology for each in slicing.shapes if not at_once(left, each)]
    if not left.blocks:
        yield f"{flavor.name}: no sub-block is left, so no slice can be formed until they are back."
        return
    yield (
        f"{flavor.name}: a slice ends with the first of its sub-blocks that fails, and its job is placed on the "
        f"{left.blocks} that are left; slices in other parts of that sub-block, whose own hosts work, may run on."
    )
    if gone:
        yield f"{flavor.name}: no slice of {', '.join(gone)} can be formed until its sub-blocks are back."
