"""When waiting jobs will probably start: the same moment is simulated many times, with other futures.

Nobody knows how long the jobs of today run and which jobs come tomorrow. Each future draws both from a history of
jobs: a run time from jobs of the same queue and size that ran at least as long as the job already did, and the arrivals
of a period of the history that begins at the same time of day. The decisions are Kueue's, as in every run.
"""

from __future__ import annotations

import bisect
import itertools
import math
import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from berth.simulator.scheduler.model import Job, SchedulerSetup
from berth.simulator.timed.figures import job_size, percentile, size_class
from berth.simulator.timed.timed_run import run_trace
from berth.simulator.timed.trace import Hold, LiveJob, Observer, RunStart, TimedJob, Timing

_DAY = 86_400
_ENOUGH = 30
"""So many run times of one kind of job are enough to draw from; of fewer, all jobs of its queue, then all count."""
_RECENT = 28 * _DAY
"""Older jobs of a history say little about tomorrow."""
_FRESH = 100
"""The k-th newest run of a kind counts e^(-k/100): people submit similar jobs together, and other ones next week."""
_STALE = 0.001
"""So much counts even the oldest, for jobs that already ran longer than the newer ones."""
_LONGEST = 20
"""A job that ran longer than every job of the history goes on for at most so many times its time until now."""


class Moment(Struct, frozen=True, kw_only=True):
    """What is there at the moment of the forecast: jobs in the order of arrival, and queues that are stopped.

    `now` is its time, None if nobody knows it: whole seconds on the clock of the history's `began`.
    """

    jobs: tuple[tuple[Job, Hold | None], ...]
    stop_policies: Mapping[str, str] = field(default_factory=dict[str, str])
    now: int | None = None

    def unfinished(self) -> list[tuple[Job, int]]:
        """Return the jobs that work, each with the seconds until now."""
        return [(job, hold.seconds) for job, hold in self.jobs if hold is not None and hold.is_admitted]


class StartForecast(Struct, frozen=True, kw_only=True):
    """The seconds until a job starts: the median of all futures, and an interval with nine of ten.

    None is later than the horizon. `started` is the part of the futures in which it starts before.
    """

    median: int | None
    low: int | None
    high: int | None
    started: float


def forecast_starts(
    setup: SchedulerSetup,
    moment: Moment,
    history: History,
    timing: Timing,
    *,
    futures: int,
    horizon: int,
    watched: Sequence[str],
    seed: int = 0,
) -> dict[str, StartForecast]:
    """Return a forecast for each of the jobs `watched`, which wait at the moment."""
    starts: dict[str, list[int]] = {name: [] for name in watched}
    for number in range(futures):
        future = _Future(setup, moment, history, timing, random.Random(f"{seed}/{number}"))
        for name, seconds in future.run(watched, horizon).items():
            starts[name].append(seconds)
    return {name: _forecast(found, futures) for name, found in starts.items()}


def _forecast(starts: list[int], futures: int) -> StartForecast:
    late = 10 * 366 * _DAY
    all_starts = [*starts, *[late] * (futures - len(starts))]
    low, median, high = (
        None if (value := percentile(all_starts, percent)) == late else value for percent in (5, 50, 95)
    )
    return StartForecast(median=median, low=low, high=high, started=len(starts) / futures)


class History:
    """Jobs that ran, in the order of their submission, of which futures draw from the last four weeks.

    `unfinished` are jobs that run now, each with the seconds until now. `resources` are those whose amount is the size
    of a job. `began` is the time of second 0, None if nobody knows it.
    """

    def __init__(
        self,
        jobs: Sequence[TimedJob],
        resources: Collection[str],
        began: int | None = None,
        unfinished: Iterable[tuple[Job, int]] = (),
    ) -> None:
        newest = jobs[-1].submitted if jobs else 0
        recent = [each for each in jobs if each.submitted >= newest - _RECENT]
        begin = recent[0].submitted if recent else 0
        self.resources = resources
        self.began = None if began is None else began + begin
        self.arrivals = [(each.submitted - begin, each) for each in recent]
        self.runs: dict[object, list[tuple[_Run, float]]] = {}
        of_jobs = [
            (newest - each.submitted, each.job, _Run(each.seconds, each, (each.job.queue, each.submitted // _DAY)))
            for each in recent
        ]
        of_jobs += [(held, job, _Run(held, None, (job.queue, (newest - held) // _DAY))) for job, held in unfinished]
        for _, job, run in sorted(of_jobs, key=lambda each: each[0]):  # the newest first
            for key in self.kinds(job):
                kind = self.runs.setdefault(key, [])
                kind.append((run, math.exp(-len(kind) / _FRESH) + _STALE))
        for kind in self.runs.values():
            kind.sort(key=lambda each: each[0].seconds)
        self.seconds = {key: [run.seconds for run, _ in kind] for key, kind in self.runs.items()}

    def draw_arrivals(self, rng: random.Random, now: int | None, horizon: int) -> Iterator[TimedJob]:
        """Yield the jobs of a future until the horizon: those of a period that begins at the same time of day."""
        if not self.arrivals:
            return
        span = self.arrivals[-1][0] + 1
        if span > _DAY // 2:
            span = -(-span // _DAY) * _DAY  # so that it ends at the time of day at which it begins
        begin = int(rng.random() * span)
        if now is not None and self.began is not None and span >= _DAY:
            begin = (now - self.began) % _DAY + begin // _DAY * _DAY
        number, offset = bisect.bisect_left(self.arrivals, begin, key=lambda each: each[0]), -begin
        for count in itertools.count():
            if number >= len(self.arrivals):  # the history ends before the future: it begins again
                number, offset = 0, offset + span
            submitted, each = self.arrivals[number]
            number += 1
            if (time := submitted + offset) > horizon:
                return
            yield TimedJob(
                job=replace(each.job, name=f"future {count}"),
                submitted=time,
                seconds=each.seconds,
                checkpoint=each.checkpoint,
                startup=each.startup,
            )

    def kinds(self, job: Job) -> tuple[object, ...]:
        """Return the kinds of a job, the narrowest first: of its queue and size, queue, size, all."""
        size = size_class(job_size(job, self.resources))
        return (job.queue, size), (job.queue,), size, None


class _Run(Struct, frozen=True):
    """How long a job ran, or has run until now (without `timed`); runs of one group resemble each other."""

    seconds: int
    timed: TimedJob | None
    group: object


class RunTimes:
    """The run times of one future: the newest count most, and those of some days and queues more than others.

    A run that is not finished says that a job runs longer, so that another one is drawn among the longer ones; that is
    the estimate of Kaplan and Meier.
    """

    def __init__(self, history: History, rng: random.Random) -> None:
        self.history, self.rng = history, rng
        self.weights: dict[object, float] = {}
        self.sums: dict[object, list[float]] = {}

    def draw(self, job: Job, worked: int) -> TimedJob:
        """Return the job with the run time of one that ran longer than it already did, and that one's checkpoints."""
        for key in self.history.kinds(job):
            runs, seconds = self.history.runs.get(key, []), self.history.seconds.get(key, [])
            first = bisect.bisect_right(seconds, worked) if worked else 0
            if len(runs) - first < (_ENOUGH if key is not None else 1):
                continue
            if key not in self.sums:
                self.sums[key] = list(itertools.accumulate(weight * self._weight(run.group) for run, weight in runs))
            sums = self.sums[key]
            while first < len(runs):
                below = sums[first - 1] if first else 0.0
                drawn, _ = runs[
                    min(bisect.bisect_right(sums, below + self.rng.random() * (sums[-1] - below), first), len(runs) - 1)
                ]
                if drawn.timed is not None:
                    return TimedJob(job=job, submitted=0, seconds=drawn.seconds, checkpoint=drawn.timed.checkpoint)
                worked = drawn.seconds
                first = bisect.bisect_right(seconds, worked)
            break
        factor = min(1 / (1 - self.rng.random()), _LONGEST)  # the chance to run k times as long is 1/k
        return TimedJob(job=job, submitted=0, seconds=int(worked * factor) + 1)

    def _weight(self, group: object) -> float:
        if group not in self.weights:
            self.weights[group] = self.rng.expovariate(1)
        return self.weights[group]


class _Future(Observer):
    """One future; an observer of its run, which ends when all jobs that are watched have started."""

    def __init__(
        self, setup: SchedulerSetup, moment: Moment, history: History, timing: Timing, rng: random.Random
    ) -> None:
        self.setup, self.moment, self.history, self.timing, self.rng = setup, moment, history, timing, rng
        self.starts: dict[str, int] = {}
        self.missing: set[str] = set()

    def run(self, watched: Collection[str], horizon: int) -> dict[str, int]:
        """Return when the jobs start that do before the horizon."""
        self.missing = set(watched)
        times = RunTimes(self.history, self.rng)
        jobs = tuple(
            (times.draw(job, hold.seconds if hold is not None and hold.is_admitted else 0), hold)
            for job, hold in self.moment.jobs
        )
        run_trace(
            self.setup,
            self.history.draw_arrivals(self.rng, self.moment.now, horizon),
            self.timing,
            self,
            RunStart(jobs=jobs, stop_policies=self.moment.stop_policies),
            lambda time: not self.missing or time > horizon,
        )
        return {name: start for name, start in self.starts.items() if start <= horizon}

    def took_quota(self, time: int, live: LiveJob) -> None:
        """Note the first start of a job that is watched."""
        name = live.timed.job.name
        if name in self.missing:
            self.missing.remove(name)
            self.starts[name] = time
