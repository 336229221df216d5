"""The pending jobs of a queue, by shape: jobs of one shape are all in line, or all inadmissible."""

from __future__ import annotations

import heapq
from typing import Generic, Protocol, TypeVar


class PendingJob(Protocol):
    """A job with the number of its shape, which includes its priority, and its place in the order of arrival."""

    shape: int
    priority: int
    arrival_order: int


JobT = TypeVar("JobT", bound=PendingJob)


class _ShapeLine(Generic[JobT]):
    """The pending jobs of one shape. `order` is a heap, which may contain jobs that have left."""

    __slots__ = ("is_in_line", "order", "rank", "workloads")

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.is_in_line = True
        self.workloads: dict[int, JobT] = {}
        self.order: list[int] = []

    def first(self) -> int | None:
        """Return the order of arrival of the first job; None if there is none."""
        while self.order and self.order[0] not in self.workloads:
            heapq.heappop(self.order)
        return self.order[0] if self.order else None


class PendingLine(Generic[JobT]):
    """The pending jobs of a queue; `ready_count` of them are in line.

    The first job of each shape stands for the others, so that setting aside or restoring costs the same for 1 job of a
    shape and for 10,000.
    """

    __slots__ = ("_front", "_in_front", "_shapes", "ready_count")

    def __init__(self) -> None:
        self.ready_count = 0
        self._shapes: dict[int, _ShapeLine[JobT]] = {}
        # A heap of the first job of each shape, by priority and arrival; some may be first no longer. `_in_front` are
        # its members, so that none is added twice.
        self._front: list[tuple[int, int, int]] = []
        self._in_front: set[int] = set()

    def add(self, job: JobT) -> None:
        """Add a job; it is in line unless its shape is set aside."""
        shape = self._shapes.get(job.shape)
        if shape is None:
            shape = self._shapes[job.shape] = _ShapeLine[JobT](-job.priority)
        shape.workloads[job.arrival_order] = job
        heapq.heappush(shape.order, job.arrival_order)
        if shape.is_in_line:
            self.ready_count += 1
            self._bring_forward(shape)

    def first(self) -> JobT | None:
        """Return the job in line with the highest priority, and of these the first to arrive; None if there is none."""
        while self._front:
            _, order, number = self._front[0]
            shape = self._shapes.get(number)
            if shape is not None and shape.is_in_line and shape.first() == order:
                return shape.workloads[order]
            self._in_front.discard(heapq.heappop(self._front)[1])
            if shape is not None and shape.is_in_line:
                self._bring_forward(shape)
        return None

    def contains(self, job: JobT) -> bool:
        """Return whether a job is in line."""
        shape = self._shapes.get(job.shape)
        return shape is not None and shape.is_in_line and job.arrival_order in shape.workloads

    def has_any(self) -> bool:
        """Return whether there is any job, in line or inadmissible."""
        return any(shape.workloads for shape in self._shapes.values())

    def firsts_set_aside(self) -> list[JobT]:
        """Return the first job of each shape, while none is in line; a shape without jobs is forgotten."""
        for number in [number for number, shape in self._shapes.items() if not shape.workloads]:
            del self._shapes[number]
        firsts = ((shape, shape.first()) for shape in self._shapes.values())
        return [shape.workloads[order] for shape, order in firsts if order is not None]

    def set_aside(self, job: JobT) -> None:
        """Set aside a job in line, with all of its shape that are there or come."""
        shape = self._shapes[job.shape]
        shape.is_in_line = False
        self.ready_count -= len(shape.workloads)

    def restore(self) -> None:
        """Put all jobs in line."""
        for number, shape in list(self._shapes.items()):
            if not shape.workloads:
                del self._shapes[number]
            elif not shape.is_in_line:
                shape.is_in_line = True
                self.ready_count += len(shape.workloads)
                self._bring_forward(shape)

    def remove(self, job: JobT) -> None:
        """Remove a job, if it is there."""
        shape = self._shapes.get(job.shape)
        is_removed = shape is not None and shape.workloads.pop(job.arrival_order, None) is not None
        if shape is not None and is_removed and shape.is_in_line:
            self.ready_count -= 1
            self._bring_forward(shape)

    def _bring_forward(self, shape: _ShapeLine[JobT]) -> None:
        order = shape.first()
        if order is not None and order not in self._in_front:
            self._in_front.add(order)
            heapq.heappush(self._front, (shape.rank, order, shape.workloads[order].shape))
