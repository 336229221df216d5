"""The pending jobs of a queue, by shape: jobs of one shape are all in line, or all inadmissible."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar


class PendingJob(Protocol):
    """A job with the number of its shape, which includes its priority, and its place in the order of arrival."""

    shape: int
    priority: int
    arrival_order: int

    @property
    def local_queue(self) -> str:
        """The local queue to which it was submitted."""
        ...


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
        self.set_aside_shape(job.shape)

    def set_aside_shape(self, number: int) -> None:
        """Set aside the jobs of a shape, if there are any in line."""
        shape = self._shapes.get(number)
        if shape is not None and shape.is_in_line:
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


class TakingTurns(Generic[JobT]):
    """The pending jobs of a queue whose local queues take turns: that with the lowest usage comes first.

    Equal usage leaves the order to priority and arrival. A shape is set aside in all local queues at once.
    """

    __slots__ = ("_lines", "_set_aside", "_usage")

    def __init__(self, usage: Callable[[str], float]) -> None:
        self._usage = usage
        self._lines: dict[str, PendingLine[JobT]] = {}
        self._set_aside: set[int] = set()

    @property
    def ready_count(self) -> int:
        """The number of jobs in line."""
        return sum(line.ready_count for line in self._lines.values())

    def add(self, job: JobT) -> None:
        """Add a job; it is in line unless its shape is set aside."""
        line = self._lines.setdefault(job.local_queue, PendingLine[JobT]())
        line.add(job)
        if job.shape in self._set_aside:
            line.set_aside_shape(job.shape)

    def first(self, preferred: JobT | None = None) -> JobT | None:
        """Return the next job; `preferred` comes first where the usage of local queues decides nothing."""
        return min(self.firsts(preferred), key=lambda job: self._place(job, preferred), default=None)

    def firsts(self, preferred: JobT | None = None) -> Iterator[JobT]:
        """Yield the first job in line of each local queue."""
        for name, line in self._lines.items():
            first = line.first()
            if first is not None:
                yield preferred if preferred is not None and preferred.local_queue == name else first

    def _place(self, job: JobT, preferred: JobT | None) -> tuple[float, bool, int, int]:
        return self._usage(job.local_queue), job is not preferred, -job.priority, job.arrival_order

    def contains(self, job: JobT) -> bool:
        """Return whether a job is in line."""
        return job.local_queue in self._lines and self._lines[job.local_queue].contains(job)

    def has_any(self) -> bool:
        """Return whether there is any job, in line or inadmissible."""
        return any(line.has_any() for line in self._lines.values())

    def firsts_set_aside(self) -> list[JobT]:
        """Return the first job of each shape and local queue, while none is in line."""
        return [job for line in self._lines.values() for job in line.firsts_set_aside()]

    def set_aside(self, job: JobT) -> None:
        """Set aside a job in line, with all of its shape that are there or come."""
        self._set_aside.add(job.shape)
        for line in self._lines.values():
            line.set_aside_shape(job.shape)

    def restore(self) -> None:
        """Put all jobs in line."""
        self._set_aside.clear()
        for line in self._lines.values():
            line.restore()

    def remove(self, job: JobT) -> None:
        """Remove a job, if it is there."""
        if job.local_queue in self._lines:
            self._lines[job.local_queue].remove(job)
