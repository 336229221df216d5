"""The figures of a run over time: waiting, use of flavors and guarantees, evictions and lost work.

Amounts over time are integrals in accelerator seconds, exact whole numbers except for what is lent. Definitions are
those of `berth usage`: *idle* is what a queue does not hold of its guarantee, *borrowed* what it holds above it, *lent*
its part of what other queues of its cohort tree borrow, in proportion to idle quota.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from math import ceil

from msgspec import Struct, field

from berth.simulator.local_usage import SimulatedClock
from berth.simulator.scheduler.build_queues import build_queues
from berth.simulator.scheduler.model import FlavorResource, Job, SchedulerSetup
from berth.simulator.timed.trace import LiveJob, Stint


class QueueFigures(Struct):
    """A queue and an accelerator of a flavor: its guarantee, and integrals over the period in accelerator seconds."""

    nominal: int
    used: int = 0
    borrowed: int = 0
    idle: int = 0
    lent: float = 0.0


class WorkFigures(Struct):
    """What jobs did with the accelerators of a flavor, in accelerator seconds.

    `kept` is work that counts, `lost` work done in vain, `warming` the time before pods worked.
    """

    kept: int = 0
    lost: int = 0
    warming: int = 0

    @property
    def held(self) -> int:
        """All that jobs held."""
        return self.kept + self.lost + self.warming


class JobFigures(Struct, frozen=True):
    """A job: its queue, its number of accelerators, and the seconds until its first admission (None: never)."""

    name: str
    queue: str
    size: int
    wait: int | None


class TraceFigures(Struct, kw_only=True):
    """The figures of a run. `work` is by queue and accelerator, `evictions` by queue and Kueue's reason, `starting` the
    seconds by queue in which jobs had quota and their pods did not work yet.

    `waiting` and `in_use` are changes over time: queue or accelerator → (second, jobs or accelerators from then on).
    """

    start: int
    end: int
    jobs: list[JobFigures] = field(default_factory=list[JobFigures])
    queues: dict[tuple[str, FlavorResource], QueueFigures] = field(
        default_factory=dict[tuple[str, FlavorResource], QueueFigures]
    )
    work: dict[tuple[str, FlavorResource], WorkFigures] = field(
        default_factory=dict[tuple[str, FlavorResource], WorkFigures]
    )
    evictions: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    starting: dict[str, int] = field(default_factory=dict[str, int])
    waiting: dict[str, list[tuple[int, int]]] = field(default_factory=dict[str, list[tuple[int, int]]])
    in_use: dict[FlavorResource, list[tuple[int, int]]] = field(
        default_factory=dict[FlavorResource, list[tuple[int, int]]]
    )

    @property
    def seconds(self) -> int:
        """Length of the period, from the first submission until nothing more happens."""
        return self.end - self.start


class Accountant:
    """Follows a run, and adds up its figures; `accelerators` are the flavors and resources that count."""

    def __init__(self, setup: SchedulerSetup, accelerators: Collection[FlavorResource]) -> None:
        self.figures = TraceFigures(start=0, end=0)
        self.accelerators = frozenset(accelerators)
        self.resources = {resource for _, resource in accelerators}
        self._is_begun = False
        self._used: dict[tuple[str, FlavorResource], int] = {}
        self._groups: dict[tuple[str, FlavorResource], list[tuple[str, FlavorResource]]] = {}
        self._changed_at: dict[int, int] = {}
        self._in_use: dict[FlavorResource, int] = {}
        self._waiting: dict[str, int] = {}
        _, trees = build_queues(setup, SimulatedClock())
        members: dict[tuple[int, FlavorResource], list[tuple[str, FlavorResource]]] = {}
        for queue in setup.queues:
            for flavor_resource in (each for each in queue.quotas if each in self.accelerators):
                key = queue.name, flavor_resource
                self.figures.queues[key] = QueueFigures(queue.quotas[flavor_resource].nominal)
                self._used[key] = 0
                group = members.setdefault((id(trees[queue.name]), flavor_resource), [])
                group.append(key)
                self._groups[key] = group

    # --- events of the run --------------------------------------------------------------------------------------------

    def submitted(self, time: int, live: LiveJob) -> None:
        """Count a job that waits."""
        if not self._is_begun:
            self._is_begun, self.figures.start = True, time
        self._count_waiting(time, live, 1)

    def took_quota(self, time: int, live: LiveJob) -> None:
        """Count the accelerators that a job holds."""
        self._count_waiting(time, live, -1)
        self._hold(time, live, 1)

    def gave_quota_back(self, time: int, live: LiveJob, stint: Stint) -> None:
        """Count what a job did with its accelerators."""
        self._hold(time, live, -1)
        queue = live.timed.job.queue
        self.figures.starting[queue] = self.figures.starting.get(queue, 0) + stint.warming
        for use in live.uses:
            if use.flavor_resource in self.accelerators:
                work = self.figures.work.setdefault((queue, use.flavor_resource), WorkFigures())
                work.kept += use.amount * stint.kept
                work.lost += use.amount * stint.lost
                work.warming += use.amount * stint.warming
        if stint.reason:
            key = queue, stint.reason
            self.figures.evictions[key] = self.figures.evictions.get(key, 0) + 1
            self._count_waiting(time, live, 1)
        else:
            self._add_job(live)

    def finish(self, time: int, unfinished: Iterable[LiveJob]) -> TraceFigures:
        """Return the figures at the end of the run."""
        self.figures.end = max(time, self.figures.start)
        for live in unfinished:
            self._add_job(live)
        for group in {id(group): group for group in self._groups.values()}.values():
            self._integrate(group, self.figures.end)
        return self.figures

    # --- sums ---------------------------------------------------------------------------------------------------------

    def _add_job(self, live: LiveJob) -> None:
        job, first = live.timed.job, live.first_admitted
        wait = None if first is None else first - live.timed.submitted
        self.figures.jobs.append(JobFigures(job.name, job.queue, job_size(job, self.resources), wait))

    def _count_waiting(self, time: int, live: LiveJob, number: int) -> None:
        queue = live.timed.job.queue
        self._waiting[queue] = self._waiting.get(queue, 0) + number
        _note(self.figures.waiting.setdefault(queue, []), time, self._waiting[queue])

    def _hold(self, time: int, live: LiveJob, sign: int) -> None:
        for use in live.uses:
            key = live.timed.job.queue, use.flavor_resource
            if key in self._groups:
                self._integrate(self._groups[key], time)
                self._used[key] += sign * use.amount
                total = self._in_use[use.flavor_resource] = self._in_use.get(use.flavor_resource, 0) + sign * use.amount
                _note(self.figures.in_use.setdefault(use.flavor_resource, []), time, total)

    def _integrate(self, group: list[tuple[str, FlavorResource]], time: int) -> None:
        """Add the time since the last change in a cohort tree to the integrals of its queues."""
        seconds = time - self._changed_at.get(id(group), self.figures.start)
        self._changed_at[id(group)] = time
        if not seconds:
            return
        borrowed = idle = 0
        for key in group:
            above = self._used[key] - self.figures.queues[key].nominal
            borrowed += max(0, above)
            idle += max(0, -above)
        lent_part = min(1.0, borrowed / idle) if idle else 0.0
        for key in group:
            figures, used = self.figures.queues[key], self._used[key]
            own_idle = max(0, figures.nominal - used)
            figures.used += used * seconds
            figures.borrowed += max(0, used - figures.nominal) * seconds
            figures.idle += own_idle * seconds
            figures.lent += own_idle * lent_part * seconds


def unit_of(resource: str) -> int:
    """Return how many of a resource's units people count as one: cpu is in milli, and counted in cores."""
    return 1000 if resource == "cpu" else 1


def job_size(job: Job, resources: Collection[str]) -> int:
    """Return the number of accelerators (or counted cores) of a job, each pod set rounded up."""
    return sum(
        ceil(each.count * number / unit_of(name))
        for each in job.pod_sets
        for name, number in each.requests.items()
        if name in resources
    )


def percentile(values: Iterable[int], percent: int) -> int | None:
    """Return a percentile by nearest rank; None without a value."""
    ordered = sorted(values)
    return ordered[max(1, ceil(percent * len(ordered) / 100)) - 1] if ordered else None


def size_class(size: int) -> tuple[int, int]:
    """Return the class of a size: (0, 0), (1, 1), (2, 2), (3, 4), (5, 8) and so on by powers of two."""
    upper = 1 << max(0, size - 1).bit_length() if size else 0
    return (upper // 2 + 1 if upper > 1 else upper, upper)


def averages(changes: Iterable[tuple[int, int]], start: int, end: int, parts: int) -> list[float]:
    """Return the average of a value in each of equal parts of a period, from its changes over time; 0 before them."""
    edges = [start + (end - start) * index // parts for index in range(parts + 1)]
    sums = [0] * parts
    since, value, part = start, 0, 0
    for time, after in [*changes, (end, 0)]:
        while since < time:
            until = min(time, edges[part + 1])
            sums[part] += value * (until - since)
            since = until
            if since == edges[part + 1] and part < parts - 1:
                part += 1
        value = after
    return [total / (edges[n + 1] - edges[n]) if edges[n + 1] > edges[n] else 0.0 for n, total in enumerate(sums)]


def merged(series: Mapping[str, list[tuple[int, int]]]) -> list[tuple[int, int]]:
    """Return the sum of several values over time, from their changes."""
    deltas: dict[int, int] = {}
    for changes in series.values():
        before = 0
        for time, value in changes:
            deltas[time] = deltas.get(time, 0) + value - before
            before = value
    total, result = 0, list[tuple[int, int]]()
    for time in sorted(deltas):
        total += deltas[time]
        result.append((time, total))
    return result


def _note(changes: list[tuple[int, int]], time: int, value: int) -> None:
    """Note a value from a time on; of several at one second only the last counts."""
    if changes and changes[-1][0] == time:
        changes[-1] = (time, value)
    else:
        changes.append((time, value))
