"""The machines of a run in which some fail: which jobs are hit, and which have quota and wait for machines.

Kueue counts quota, and a machine that fails leaves it as it is. Nobody knows which job is on it: that is drawn, in
proportion to what each job holds and to what is free. The draws of an outage depend on its number alone.
"""

from __future__ import annotations

import random

from berth.simulator.scheduler.model import FlavorResource
from berth.simulator.timed.trace import LiveJob, Outages

EVICTION_SECONDS = 300
"""Pods leave a node that does not answer after this time (Kubernetes: taint-based eviction, its default)."""
NODE_FAILED = "NodeFailed"
"""The reason of a restart because a machine failed."""


class MachinesInRun:
    """What is free of each flavor's machines, who has them, and the jobs whose pods wait for some, oldest first."""

    def __init__(self, outages: Outages) -> None:
        self.outages = outages.outages
        self._free = dict(outages.capacity)
        self._held: dict[str, tuple[LiveJob, dict[FlavorResource, int]]] = {}
        self._line: dict[str, tuple[LiveJob, dict[FlavorResource, int], int, int | None]] = {}
        self._down: dict[int, dict[FlavorResource, int]] = {}

    def place(self, live: LiveJob, begin: int, deadline: int | None) -> bool:
        """Give a job the machines for its quota, or put it in the line with these times."""
        needed = dict[FlavorResource, int]()
        for use in live.uses:
            if use.flavor_resource in self._free:
                needed[use.flavor_resource] = needed.get(use.flavor_resource, 0) + use.amount
        if self._take(live, needed):
            return True
        self._line[live.timed.job.name] = live, needed, begin, deadline
        return False

    def _take(self, live: LiveJob, needed: dict[FlavorResource, int]) -> bool:
        if any(amount > self._free[key] for key, amount in needed.items()):
            return False
        for key, amount in needed.items():
            self._free[key] -= amount
        self._held[live.timed.job.name] = live, needed
        return True

    def release(self, live: LiveJob) -> None:
        """Free the machines of a job, and its place in the line."""
        name = live.timed.job.name
        self._line.pop(name, None)
        _, held = self._held.pop(name, (live, dict[FlavorResource, int]()))
        for key, amount in held.items():
            self._free[key] += amount

    def take_from_line(self) -> list[tuple[LiveJob, int, int | None]]:
        """Return the jobs of the line that have machines from now on, each with its times."""
        placed = [
            (live, begin, deadline) for live, needed, begin, deadline in self._line.values() if self._take(live, needed)
        ]
        for live, _, _ in placed:
            del self._line[live.timed.job.name]
        return placed

    def fail(self, number: int) -> list[LiveJob]:
        """Let the machines of an outage fail; return the jobs that were on them, which have none now."""
        draw, hit, down = random.Random(number), dict[str, LiveJob](), dict[FlavorResource, int]()
        for key, size in self.outages[number].machines:
            left = size
            while left > 0 and (part := self._hit_one(key, left, draw, hit)):
                down[key] = down.get(key, 0) + part
                left -= part
        self._down[number] = down
        return list(hit.values())

    def _hit_one(self, key: FlavorResource, most: int, draw: random.Random, hit: dict[str, LiveJob]) -> int:
        """Take up to `most` from what is free or from one job, drawn by amount; return how much (0: none is left)."""
        holders = [(live, held[key]) for live, held in self._held.values() if held.get(key)]
        total = self._free[key] + sum(amount for _, amount in holders)
        if total <= 0:
            return 0
        place = draw.randrange(total) - self._free[key]
        for live, amount in holders if place >= 0 else ():
            if place < amount:
                hit[live.timed.job.name] = live
                self.release(live)
                break
            place -= amount
        part = min(most, self._free[key])
        self._free[key] -= part
        return part

    def repair(self, number: int) -> None:
        """Return the machines of an outage."""
        for key, amount in self._down.pop(number).items():
            self._free[key] += amount
