"""Queues that can touch one another, and what is known of them as long as nothing changes."""

from __future__ import annotations

from collections.abc import Iterable

from berth.simulator.scheduler.model import Cell
from berth.simulator.scheduler.state import Line, Work


class Tree:
    """All queues that can touch one another: a root cohort with all below it, or one queue on its own.

    `claimants` are those that, in the last cycle, kept room from others though they could not get in themselves.
    `memory` holds, flavor by flavor, what was found out of it and is still true: it is forgotten when somebody takes or
    gives back anything of the flavor. `changes` counts how often that was.
    """

    __slots__ = ("awake", "changes", "claimants", "cycle", "leaving", "line_of", "lines", "memory")

    def __init__(self, lines: Iterable[Line]) -> None:
        self.lines = tuple(lines)
        self.awake: dict[Line, None] = {}
        for line in self.lines:
            line.awake = self.awake
        self.line_of = {line.node: line for line in self.lines}
        self.leaving: list[Work] = []
        self.claimants: list[Work] = []
        self.cycle = 0
        self.memory: dict[str, dict[object, object]] = {}
        self.changes: dict[str, int] = {}

    def touch(self, cells: Iterable[Cell] | None = None) -> None:
        """Something of these cells changed hands (None: anything may have changed)."""
        flavors = list(self.memory) if cells is None else {flavor for flavor, _ in cells}
        for flavor in flavors:
            self.changes[flavor] = self.changes.get(flavor, 0) + 1
            self.memory[flavor] = {}

    def remembered(self, flavor: str) -> dict[object, object]:
        """What is known of a flavor; the caller adds to it."""
        found = self.memory.get(flavor)
        if found is None:
            found = self.memory[flavor] = {}
        return found

    def version(self, line: Line) -> int:
        """A number that is greater once anything of a flavor of the line changed."""
        changes = self.changes
        return sum([changes.get(flavor, 0) for flavor in line.flavors])

    def busy(self) -> bool:
        """Whether anybody is in line."""
        return any(line.running() for line in self.awake)

    def state(self) -> object:
        """Who holds what, and who is about to lose it, as something to compare."""
        held = (work for line in self.lines for work in line.holders.values())
        return frozenset((work.order, work.evicted, tuple(work.usage)) for work in held)
