"""The answer of `berth simulate`: figures of a run by team, queue, size and flavor, for tables and JSON."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct, to_builtins

from berth.simulator.fleet import SimulatedFleet
from berth.simulator.scheduler.model import FlavorResource
from berth.simulator.timed.figures import (
    Accountant,
    JobFigures,
    TraceFigures,
    averages,
    merged,
    percentile,
    size_class,
    unit_of,
)
from berth.simulator.timed.timed_run import run_trace
from berth.simulator.timed.trace import RunEnd, TimedJob, Timing

PARTS = 48
"""Number of equal parts of the period in which use and waiting are drawn."""
_HOUR = 3600


class WaitSummary(Struct, frozen=True, rename="camel"):
    """Seconds until the first admission, of the jobs of a team, a queue or a size: percentiles by nearest rank.

    `never` jobs were not admitted at all, and count in no percentile.
    """

    kind: str
    name: str
    jobs: int
    p50: int | None
    p90: int | None
    p95: int | None
    longest: int | None
    never: int


class FlavorSummary(Struct, frozen=True, rename="camel"):
    """The accelerators of a flavor, or its cores where those count: quotas, average in use, what jobs did in hours."""

    flavor: str
    noun: str
    quota: int
    used: float
    kept_hours: float
    lost_hours: float
    starting_hours: float
    series: list[float]


class GuaranteeSummary(Struct, frozen=True, rename="camel"):
    """Averages over the period of a queue's accelerators of a flavor; definitions as in `berth usage`."""

    queue: str
    flavor: str
    guaranteed: int
    used: float
    borrowed: float
    lent: float
    idle: float


class EvictionSummary(Struct, frozen=True, rename="camel"):
    """Evictions of a queue's jobs for one of Kueue's reasons."""

    queue: str
    reason: str
    evictions: int


class TeamSummary(Struct, frozen=True, rename="camel"):
    """A team: accelerator hours that its jobs held, and lost, the cost of both, and its waiting jobs over time.

    `waiting_hours` are the hours that all of its jobs waited for quota, checks and nodes, also after evictions.

    Costs are None without prices, or if a flavor that it used has none.
    """

    team: str
    held_hours: float
    lost_hours: float
    cost: float | None
    lost_cost: float | None
    series: list[float]
    waiting_hours: float


class UnfinishedSummary(Struct, frozen=True, rename="camel"):
    """A job that did not finish, and Berth's code for why."""

    job: str
    queue: str
    reason: str


class TraceSummary(Struct, frozen=True, rename="camel"):
    """All figures of a run; `seconds` from the first submission until nothing more happens."""

    stack: str
    seconds: int
    jobs: int
    finished: int
    waits: list[WaitSummary]
    flavors: list[FlavorSummary]
    guarantees: list[GuaranteeSummary]
    evictions: list[EvictionSummary]
    teams: list[TeamSummary]
    unfinished: list[UnfinishedSummary]
    looping: list[str]

    def as_json(self) -> dict[str, object]:
        """Return the JSON values (docs/simulate.md)."""
        values: dict[str, object] = to_builtins(self)
        return values


def simulate_trace(
    fleet: SimulatedFleet, jobs: Iterable[TimedJob], timing: Timing, prices: Mapping[str, float | None] | None = None
) -> TraceSummary:
    """Run a trace on a fleet; `prices` are flavor → cost of an accelerator for an hour."""
    accountant = Accountant(fleet.setup, fleet.accelerator_nouns)
    end = run_trace(fleet.setup, jobs, timing, accountant)
    return _Summary(fleet, accountant.finish(end.time, (live for live, _ in end.unfinished)), end).build(prices)


class _Summary:
    def __init__(self, fleet: SimulatedFleet, figures: TraceFigures, end: RunEnd) -> None:
        self.fleet, self.figures, self.end = fleet, figures, end

    def build(self, prices: Mapping[str, float | None] | None) -> TraceSummary:
        figures, end = self.figures, self.end
        return TraceSummary(
            stack=self.fleet.name,
            seconds=figures.seconds,
            jobs=len(figures.jobs),
            finished=len(figures.jobs) - len(end.unfinished),
            waits=[
                *self._waits("team", lambda job: (self._team(job.queue),)),
                *self._waits("queue", lambda job: (self._queue(job.queue),)),
                *self._waits("size", lambda job: size_class(job.size)),
            ],
            flavors=[self._flavor(*key) for key in self.fleet.accelerator_nouns],
            guarantees=[
                GuaranteeSummary(
                    self._queue(queue),
                    flavor,
                    each.nominal // unit_of(resource),
                    *(self._average(one, resource) for one in (each.used, each.borrowed, each.lent, each.idle)),
                )
                for (queue, (flavor, resource)), each in figures.queues.items()
                if each.nominal or each.used
            ],
            evictions=[
                EvictionSummary(self._queue(queue), reason, number)
                for (queue, reason), number in sorted(figures.evictions.items())
            ],
            teams=[self._team_summary(team, prices) for team in self._teams()],
            unfinished=[
                UnfinishedSummary(
                    live.timed.job.name,
                    self._queue(live.timed.job.queue),
                    "deactivated" if live.timed.job.name in end.deactivated else str(reason.code),
                )
                for live, reason in end.unfinished
            ],
            looping=sorted(end.looping),
        )

    def _team(self, queue: str) -> str:
        return self.fleet.queue_owners.get(queue, queue)

    def _queue(self, queue: str) -> str:
        return self.fleet.queue_display_names.get(queue, queue)

    def _teams(self) -> list[str]:
        return list(dict.fromkeys(self._team(queue.name) for queue in self.fleet.setup.queues))

    def _average(self, integral: float, resource: str) -> float:
        return round(integral / self.figures.seconds / unit_of(resource), 3) if self.figures.seconds else 0.0

    def _waits(self, kind: str, key: Callable[[JobFigures], tuple[str | int, ...]]) -> list[WaitSummary]:
        groups: dict[tuple[str | int, ...], list[JobFigures]] = {}
        for job in self.figures.jobs:
            groups.setdefault(key(job), []).append(job)
        names = sorted(groups, key=lambda name: name[-1] if kind == "size" else str(name))
        found: list[WaitSummary] = []
        for name in names:
            waits = [job.wait for job in groups[name] if job.wait is not None]
            p50, p90, p95, longest = (percentile(waits, percent) for percent in (50, 90, 95, 100))
            shown = "–".join(dict.fromkeys(map(str, name)))
            never = len(groups[name]) - len(waits)
            found.append(WaitSummary(kind, shown, len(groups[name]), p50, p90, p95, longest, never))
        return found

    def _flavor(self, flavor: str, resource: str) -> FlavorSummary:
        key = flavor, resource
        work = [each for (_, of), each in self.figures.work.items() if of == key]
        nodes = (*self.fleet.setup.queues, *self.fleet.setup.cohorts)
        quotas = [each.quotas[key].nominal for each in nodes if key in each.quotas]
        used = sum(each.used for (_, of), each in self.figures.queues.items() if of == key)
        return FlavorSummary(
            flavor,
            self.fleet.accelerator_nouns[key],
            sum(quotas) // unit_of(resource),
            self._average(used, resource),
            _hours(sum(each.kept for each in work), resource),
            _hours(sum(each.lost for each in work), resource),
            _hours(sum(each.warming for each in work), resource),
            [round(each / unit_of(resource), 3) for each in self._series(self.figures.in_use.get(key, []))],
        )

    def _team_summary(self, team: str, prices: Mapping[str, float | None] | None) -> TeamSummary:
        work = [(of, each) for (queue, of), each in self.figures.work.items() if self._team(queue) == team]
        waiting = merged({queue: each for queue, each in self.figures.waiting.items() if self._team(queue) == team})
        starting = sum(seconds for queue, seconds in self.figures.starting.items() if self._team(queue) == team)
        held = {key: _hours(sum(each.held for of, each in work if of == key), key[1]) for key, _ in work}
        lost = {key: _hours(sum(each.lost for of, each in work if of == key), key[1]) for key, _ in work}
        changes = itertools.pairwise([*waiting, (self.figures.end, 0)])
        seconds = sum(value * (until - time) for (time, value), (until, _) in changes)
        return TeamSummary(
            team,
            round(sum(held.values()), 3),
            round(sum(lost.values()), 3),
            _cost(held, prices),
            _cost(lost, prices),
            self._series(waiting),
            round((seconds + starting) / _HOUR, 3),
        )

    def _series(self, changes: list[tuple[int, int]]) -> list[float]:
        return [round(value, 3) for value in averages(changes, self.figures.start, self.figures.end, PARTS)]


def _hours(integral: int, resource: str) -> float:
    return round(integral / _HOUR / unit_of(resource), 3)


def _cost(hours: Mapping[FlavorResource, float], prices: Mapping[str, float | None] | None) -> float | None:
    if prices is None:
        return None
    costs = [(number, prices.get(flavor)) for (flavor, _), number in hours.items() if number]
    return None if any(price is None for _, price in costs) else round(sum(n * (p or 0) for n, p in costs), 2)
