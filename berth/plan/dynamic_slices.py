"""Slices that jobs form themselves (GKE dynamic slicing): parts of a block of nodes, and several blocks joined.

Sources: GKE docs, "Schedule dynamic slices with Kueue and TAS" and "Use dynamic slicing with a custom scheduler"; xpk,
`slice/internal` (the webhooks of Kueue's slice controller) and `core/kueue_manager.py`; read 2026-11-28.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Final, NamedTuple

from msgspec import Struct

HOSTNAME: Final = "kubernetes.io/hostname"
PROVISION_ONLY: Final = "PROVISION_ONLY"
"""The mode in which Compute Engine places chips without connecting them, and GKE's label of such nodes."""
SLICE_TOPOLOGY_ANNOTATION: Final = "cloud.google.com/gke-tpu-slice-topology"
"""Annotation of a pod template with the shape of the slice that its pods need."""
_BLOCK_ORDER: Final = "dimensions in ascending order"


class FormedSlice(NamedTuple):
    """A slice that jobs can form. Kueue keeps each `size` pods of it in one domain of `level`; there are `nodes`.

    It is an answer of a SlicingPlan and derived from it, so no plan holds one.
    """

    topology: str
    chips: int
    nodes: int
    level: str
    size: int
    at_once: int
    """How many there can be at the same time, of a whole flavor."""


class SlicingPlan(Struct, frozen=True, kw_only=True):
    """The slices that jobs can form of a flavor's nodes, which come in `blocks` of the topology `block`.

    `parts` are the smaller shapes, the largest first; `joins` is whether a slice may have several blocks, of at most
    `most_chips`, in one domain of the label `outer`. `label` and `state` are those of the nodes of one part, with {}
    for its shape; `controller` is the Kueue controller that forms the slices, None if nodes need no forming.
    """

    block: str
    blocks: int
    chips_per_node: int
    parts: tuple[str, ...]
    joins: bool
    label: str
    most_chips: int
    outer: str | None = None
    state: str | None = None
    controller: str | None = None

    @property
    def block_chips(self) -> int:
        """The chips of one block."""
        return chips_of(self.block)

    @property
    def unit(self) -> int:
        """The chips of the smallest slice."""
        return chips_of(self.parts[-1]) if self.parts else self.block_chips

    @property
    def name_parts(self) -> tuple[str, ...]:
        """Words that tell its levels from others: the block, and the smallest part."""
        return (self.block, *self.parts[-1:])

    @property
    def levels(self) -> tuple[str, ...]:
        """The node labels by which Kueue places jobs, widest first."""
        own = (self.label.format(shape) for shape in (self.block, *self.parts))
        return (*((self.outer,) if self.outer else ()), *own, HOSTNAME)

    @property
    def nodes_by_label(self) -> dict[str, int]:
        """Node label → the nodes of a block that share one value of it."""
        return {self.label.format(shape): self._nodes(shape) for shape in (self.block, *self.parts)}

    @property
    def shapes(self) -> tuple[FormedSlice, ...]:
        """Every slice that can be formed, the smallest first."""
        names = (*reversed(self.parts), self.block, *self._joined())
        return tuple(formed for name in names if (formed := self.formed(name)) is not None)

    def formed(self, topology: str) -> FormedSlice | None:
        """Return the slice of a topology; None if it cannot be formed of these nodes."""
        sides = sides_of(topology)
        if sides is None:
            return None
        chips = prod(sides)
        if topology in self.parts:
            nodes = self._nodes(topology)
            at_once = self.blocks * (self.block_chips // chips)
            return FormedSlice(topology, chips, nodes, self.label.format(topology), nodes, at_once)
        edges = sides_of(self.block) or ()
        whole = len(sides) == len(edges) and all(side % edge == 0 for side, edge in zip(sides, edges, strict=True))
        if topology != self.block and not (self.joins and whole and sides == tuple(sorted(sides))):
            return None
        wanted = chips // self.block_chips
        if wanted > self.blocks or chips > self.most_chips:
            return None
        level = self.label.format(self.block)
        return FormedSlice(
            topology, chips, self._nodes(topology), level, self._nodes(self.block), self.blocks // wanted
        )

    def refusal(self, topology: str) -> str:
        """Return why a topology that cannot be formed is none, and what to write instead."""
        sides = sides_of(topology)
        known = [each.topology for each in self.shapes]
        listed = f"write one of {', '.join(known if len(known) <= 12 else (*known[:11], known[-1]))}"
        if sides is None or len(sides) != len(sides_of(self.block) or ()):
            return f"'{topology}' is no shape of a slice; {listed}"
        ordered = "x".join(map(str, sorted(sides)))
        if ordered != topology and self.formed(ordered) is not None:
            return f"'{topology}' does not have its {_BLOCK_ORDER}; write {ordered}"
        chips = prod(sides)
        if chips > self.most_chips:
            return f"'{topology}' has {chips} chips, and a slice at most {self.most_chips}; {listed}"
        if self.joins and chips % self.block_chips == 0 and all(each % 4 == 0 for each in sides):
            needed = chips // self.block_chips
            return f"'{topology}' needs {needed} sub-blocks of {self.block}, and there are {self.blocks}; {listed}"
        return f"'{topology}' is neither a part of a {self.block} block nor several of them; {listed}"

    def _nodes(self, topology: str) -> int:
        return chips_of(topology) // self.chips_per_node

    def _joined(self) -> Iterator[str]:
        """Yield the topologies of several blocks, by the number of chips."""
        edges = sides_of(self.block) or ()
        if not self.joins or len(edges) != 3:
            return
        most, (edge, _, _) = min(self.blocks, self.most_chips // self.block_chips), edges
        found = [
            (a * b * c, a, b, c)
            for a in range(1, most + 1)
            for b in range(a, most // a + 1)
            for c in range(b, most // (a * b) + 1)
            if a * b * c > 1
        ]
        for _, a, b, c in sorted(found):
            yield f"{a * edge}x{b * edge}x{c * edge}"


def sides_of(topology: str) -> tuple[int, ...] | None:
    """Return the dimensions of a topology; None for a text that is none."""
    sides = topology.split("x")
    if len(sides) < 2 or not all(each.isdecimal() and each.isascii() and int(each) > 0 for each in sides):
        return None
    return tuple(int(each) for each in sides)


def chips_of(topology: str) -> int:
    """Return the chips of a topology, which is one."""
    return prod(sides_of(topology) or (0,))
