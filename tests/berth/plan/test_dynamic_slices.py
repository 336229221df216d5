"""The slices that jobs can form, counted a second time by cutting and joining blocks one by one."""

from __future__ import annotations

from itertools import product
from math import prod

import pytest

from berth import catalog
from berth.plan.dynamic_slices import SlicingPlan
from tests.small_fleets import fleet_of_pools, plan

PARTS = ("2x4x4", "2x2x4", "2x2x2", "2x2x1")


def ironwood(blocks: int, parts: tuple[str, ...] = PARTS) -> SlicingPlan:
    return SlicingPlan(
        block="4x4x4", blocks=blocks, chips_per_node=4, parts=parts, joins=True, label="part-{}-id", most_chips=9216
    )


@pytest.mark.parametrize("blocks", [1, 2, 5, 8, 12])
def test_every_shape_of_whole_blocks_is_listed_once(blocks: int) -> None:
    """All boxes of at most this many blocks, with their sides in order, and how often they fit side by side."""
    expected = {
        "x".join(str(4 * side) for side in sides): blocks // prod(sides)
        for sides in product(range(1, blocks + 1), repeat=3)
        if list(sides) == sorted(sides) and prod(sides) <= blocks
    }
    shapes = ironwood(blocks, parts=()).shapes
    assert {each.topology: each.at_once for each in shapes} == expected
    assert [each.chips for each in shapes] == sorted(each.chips for each in shapes)


@pytest.mark.parametrize("part", PARTS)
def test_parts_are_as_many_as_a_block_can_be_cut_into(part: str) -> None:
    sides = [int(side) for side in part.split("x")]
    pieces = prod(4 // side for side in sides)
    formed = ironwood(3).formed(part)
    assert formed is not None
    assert (formed.at_once, formed.chips, formed.nodes) == (3 * pieces, prod(sides), prod(sides) // 4)
    assert (formed.level, formed.size) == (f"part-{part}-id", formed.nodes)


def test_a_joined_slice_is_kept_together_block_by_block() -> None:
    formed = ironwood(5).formed("4x4x12")
    assert formed is not None
    assert (formed.nodes, formed.size, formed.level) == (48, 16, "part-4x4x4-id")


@pytest.mark.parametrize(
    "topology", ["4x4x24", "8x4x4", "4x4", "2x2x8", "6x4x4", "4x4x4x4", "", "x", "4x4x-4", "0x4x4"]
)
def test_other_shapes_cannot_be_formed(topology: str) -> None:
    assert ironwood(5).formed(topology) is None
    assert "; write " in ironwood(5).refusal(topology)


def test_the_shapes_of_the_table_are_those_of_the_generation() -> None:
    """Whatever jobs can form of sub-blocks is a slice that a pool could have too."""
    generation = catalog.generations()["tpu7x"]
    assert generation.dynamic_slicing is not None
    assert set(generation.dynamic_slicing.parts) <= set(generation.shapes)
    machine = catalog.machines()["tpu7x-standard-4t"]
    assert {each.topology for each in ironwood(64).shapes} <= set(catalog.slice_topologies(machine))


def test_parts_of_trillium_are_those_that_fit_into_the_slice() -> None:
    pool = {
        "machineType": "ct6e-standard-4t",
        "topology": "4x8",
        "slices": 2,
        "zone": "us-central1-b",
        "dynamicSlicing": "sub-slicing",
    }
    (flavor,) = plan(fleet_of_pools({"v6e": pool})).flavors
    assert flavor.slicing is not None
    assert flavor.slicing.parts == ("4x4", "2x4")
    assert {each.topology: each.at_once for each in flavor.slicing.shapes} == {"2x4": 8, "4x4": 4, "4x8": 2}
    assert flavor.slicing.levels[0] == "cloud.google.com/gke-tpu-slice-4x8-id"
