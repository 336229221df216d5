"""Labels of nodes of which jobs form slices themselves: the parts that a node is in, and whether these are healthy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from berth import catalog
from berth.plan.dynamic_slices import SlicingPlan
from berth.plan.fleet import FleetPlan, PoolPlan

_HEALTHY: Final = "HEALTHY"
"""The state of a part whose machines all work, as nodes are ready here; a job does not select others."""
_PART: Final = "GKE tells which part of which sub-block a node is in once the node exists"
_PLACE: Final = "Compute Engine tells the block of a machine once it runs"
_OF_A_SLICE: Final = "GKE's slice controller sets it while the node is in a slice"
_SLICE: Final = "cloud.google.com/gke-tpu-slice"


def flavor_slicing(plan: FleetPlan, flavor: str) -> SlicingPlan | None:
    """Return how jobs form slices of the nodes of a flavor; None if they do not."""
    return next((each.slicing for each in plan.flavors if each.name == flavor), None)


def part_labels(slicing: SlicingPlan | None) -> dict[str, str]:
    """Return the labels that all nodes have with a value that is not known, and why."""
    if slicing is None:
        return {}
    place = {slicing.outer: _PLACE} if slicing.outer else {}
    return place | dict.fromkeys(slicing.nodes_by_label, _PART)


def healthy_parts(slicing: SlicingPlan | None) -> dict[str, str]:
    """Return the labels with the state of the parts."""
    if slicing is None or slicing.state is None:
        return {}
    return {slicing.state.format(shape): _HEALTHY for shape in (slicing.block, *slicing.parts)}


def uncertain_labels(slicing: SlicingPlan | None, others: Mapping[str, str]) -> dict[str, str]:
    """Return the labels that nodes may have: those of a slice, where a controller forms them, and `others`."""
    own = dict.fromkeys((_SLICE, catalog.labels().tpu_topology), _OF_A_SLICE)
    known = part_labels(slicing)
    formed = own if slicing is not None and slicing.controller is not None else {}
    return {key: why for key, why in {**others, **formed}.items() if key not in known}


def one_place(plan: FleetPlan, pool: PoolPlan, slicing: SlicingPlan | None) -> dict[str, str]:
    """Return the label of the place that all nodes of a pool share: its reservation names the block."""
    if slicing is None or slicing.outer is None:
        return {}
    held = next((each for each in plan.held if pool.name in each.pools), None)
    return {slicing.outer: f"{held.name}/{held.block}"} if held is not None and held.block is not None else {}
