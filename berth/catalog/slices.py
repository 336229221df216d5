"""TPU slices that a machine type can form, and their number of hosts: exactly chips / chips per host."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from math import prod

from berth.catalog.rows import DynamicSlicing, Generation, Machine, SliceShape
from berth.catalog.table import generations

_TOPOLOGY = re.compile(r"[1-9][0-9]{0,3}(x[1-9][0-9]{0,3})+")


def slice_topologies(machine: Machine) -> tuple[str, ...]:
    """Return the slice topologies of a machine by ascending chips; empty for GPU and unsupported machines."""
    return tuple(_shapes(machine))


def slice_shape(machine: Machine, topology: str) -> SliceShape | None:
    """Return the slice with this topology on a machine; None if the table does not have it.

    Of machines that no table has, any topology of whole hosts is a slice.
    """
    if machine.known == "nothing" and _TOPOLOGY.fullmatch(topology):
        return _slice_on(machine, topology)
    return _shapes(machine).get(topology)


def reordered_topology(machine: Machine, topology: str) -> str | None:
    """Return the slice topology with the same dimensions in another order: 2x4 for 4x2; None without one."""
    sides = sorted(topology.split("x"))
    same = (each for each in slice_topologies(machine) if each != topology and sorted(each.split("x")) == sides)
    return next(same, None)


def divisible_shape(machine: Machine, topology: str) -> SliceShape | None:
    """Return the slice of any possible topology, listed or not, for topologies newer than the table; else None.

    Possible means: right number of dimensions, whole hosts, one host unless the machine supports several, and at most
    the chips of a pod (or, if none is documented, of the largest slice). GKE's autoscaler checks only the division.
    """
    generation = generations().get(machine.generation or "")
    if generation is None or not _TOPOLOGY.fullmatch(topology) or topology.count("x") + 1 != generation.dims:
        return None
    shape = _slice_on(machine, topology)
    return shape if shape and shape.chips <= (generation.pod_chips or generation.max_slice_chips) else None


def slicing_of(machine: Machine) -> DynamicSlicing | None:
    """Return how jobs can form slices of these machines themselves; None if they cannot."""
    generation = generations().get(machine.generation or "")
    return generation.dynamic_slicing if generation is not None else None


@cache
def _shapes(machine: Machine) -> Mapping[str, SliceShape]:
    generation = generations().get(machine.generation or "")
    if generation is None:
        return {}
    cubes = sorted(_cube_slices(generation), key=lambda sides: (prod(sides), sides))
    topologies = (*generation.shapes, *("x".join(map(str, sides)) for sides in cubes))
    slices = (_slice_on(machine, topology) for topology in topologies)
    return {shape.topology: shape for shape in slices if shape}


def _slice_on(machine: Machine, topology: str) -> SliceShape | None:
    chips = prod(int(side) for side in topology.split("x"))
    hosts, remainder = divmod(chips, machine.accelerators)
    can_form = hosts == 1 or (hosts > 1 and machine.multi_host)
    return SliceShape(topology, chips, hosts) if can_form and not remainder else None


def _cube_slices(generation: Generation) -> Iterator[tuple[int, int, int]]:
    """Yield the dimensions of every slice of whole cubes, by the rule in `Generation`."""
    step, max_side, max_chips = generation.cube_edge, generation.max_dimension, generation.max_slice_chips
    if step is None:
        return
    for a in range(step, max_side + 1, step):
        for b in range(a, max_side + 1, step):
            for c in range(b, min(max_side, max_chips // (a * b)) + 1, step):
                yield a, b, c
