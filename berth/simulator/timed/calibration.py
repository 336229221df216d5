"""How right forecasts are on a history: jobs of it that waited are forecast, from what was known when they came.

The history is simulated on the queues of the stack, which gives each job the wait that it would have had there. For
some of the jobs that waited, a forecast is made from the state at their submission and the jobs that had ended by then.
How far the real waits are from these forecasts, in units of each forecast's own width, is how wide the next interval is
(locally adaptive conformal prediction). The middle stays: errors of last week are no errors of today.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from msgspec import Struct

from berth.simulator.scheduler.model import Job, SchedulerSetup
from berth.simulator.timed.futures import History, Moment, StartForecast, forecast_starts
from berth.simulator.timed.timed_run import run_trace
from berth.simulator.timed.trace import Hold, LiveJob, Observer, Stint, TimedJob, Timing

SHORT = 600
"""Jobs that wait no longer are not forecast: an error of a minute is much of them, and matters to nobody."""
MOST = 30
"""So many forecasts of the past are made: between the least and the greatest error of 30 is the next in 29 of 31 cases,
if it is like them, and in about nine of ten as weeks differ."""
FEWEST = 20
"""With fewer than these nine of ten is not known."""
_RECENT = 14 * 86_400
"""They are of the last two weeks: errors of one kind last for days."""
_NARROWEST = 0.15
"""The least width of a forecast, as the standard deviation of the logarithm of the wait."""
_NORMAL = 3.29
"""Width of the middle 90 % of a normal distribution, in standard deviations."""
_LEAST = 60


class PastForecast(Struct, frozen=True):
    """A forecast of the past, and the wait that followed, in seconds."""

    forecast: StartForecast
    wait: int


class Calibration(Struct, frozen=True):
    """The trials on a history; `waited` is the number of its jobs that waited long."""

    trials: tuple[PastForecast, ...]
    waited: int

    def correct(self, forecast: StartForecast, horizon: int) -> StartForecast:
        """Return the forecast with an interval as wide as the errors of the trials; unchanged if they are too few."""
        return _correct(forecast, self.trials, horizon)

    def count_within(self, horizon: int) -> tuple[int, int]:
        """Return how many waits were in the interval that all trials before them gave, and of how many."""
        checked = range(FEWEST, len(self.trials))
        within = 0
        for number in checked:
            trial = self.trials[number]
            corrected = _correct(trial.forecast, self.trials[:number], horizon)
            within += (corrected.low or 0) <= trial.wait and (corrected.high is None or trial.wait <= corrected.high)
        return within, len(checked)


def _correct(forecast: StartForecast, trials: Sequence[PastForecast], horizon: int) -> StartForecast:
    if len(trials) < FEWEST:
        return forecast
    errors = sorted(
        (math.log(max(each.wait, _LEAST)) - _center(each.forecast, horizon)) / _width(each.forecast, horizon)
        for each in trials
    )
    low, high = (
        round(math.exp(_center(forecast, horizon) + error * _width(forecast, horizon)))
        for error in (errors[0], errors[-1])
    )
    middle = horizon + 1 if forecast.median is None else forecast.median  # it stays within
    late = [None if value > horizon else value for value in (min(low, middle), max(high, middle))]
    return StartForecast(low=late[0], median=forecast.median, high=late[1], started=forecast.started)


def _center(forecast: StartForecast, horizon: int) -> float:
    return math.log(max(horizon if forecast.median is None else forecast.median, _LEAST))


def _width(forecast: StartForecast, horizon: int) -> float:
    high = horizon if forecast.high is None else forecast.high
    low = horizon if forecast.low is None else forecast.low
    return max(math.log(max(high, _LEAST) / max(low, _LEAST)) / _NORMAL, _NARROWEST)


def calibrate(
    setup: SchedulerSetup,
    jobs: Sequence[TimedJob],
    resources: Collection[str],
    timing: Timing,
    *,
    began: int | None,
    futures: int,
    horizon: int,
) -> Calibration:
    """Return the trials on a history, from the oldest to the newest."""
    waits = _Waits()
    run_trace(setup, jobs, timing, waits)
    newest = jobs[-1].submitted if jobs else 0
    begin = max(newest // 4, newest - _RECENT)  # before a quarter of the history little is known
    waited = {name for name, wait in waits.waits.items() if wait > SHORT}
    late = [each.job.name for each in jobs if each.submitted >= begin and each.job.name in waited]
    step = max(1, len(late) / MOST)
    chosen = {late[int(index * step)] for index in range(min(MOST, len(late)))}
    if len(chosen) < FEWEST:
        return Calibration((), len(waited))
    states = _States(chosen)
    run_trace(setup, jobs, timing, states)
    trials: list[PastForecast] = []
    for time, name, moment_jobs, ended in states.found:
        known = sorted(states.ended[:ended], key=lambda each: each.submitted)
        moment = Moment(jobs=moment_jobs, now=None if began is None else began + time)
        history = History(known, resources, began, moment.unfinished())
        found = forecast_starts(
            setup, moment, history, timing, futures=futures, horizon=horizon, watched=[name], seed=len(trials)
        )
        trials.append(PastForecast(found[name], waits.waits[name]))
    return Calibration(tuple(trials), len(waited))


class _Waits(Observer):
    """Observes how long each job waits until its first admission."""

    def __init__(self) -> None:
        self.waits: dict[str, int] = {}

    def took_quota(self, time: int, live: LiveJob) -> None:
        """Note the first time."""
        self.waits.setdefault(live.timed.job.name, time - live.timed.submitted)


class _States(Observer):
    """Observes what is there when the chosen jobs are submitted, and how many jobs have ended by then."""

    def __init__(self, chosen: Collection[str]) -> None:
        self.chosen = chosen
        self.live: dict[str, LiveJob] = {}
        self.ended: list[TimedJob] = []
        self.found: list[tuple[int, str, tuple[tuple[Job, Hold | None], ...], int]] = []

    def submitted(self, time: int, live: LiveJob) -> None:
        """Keep the state, if the job is one of the chosen."""
        self.live[live.timed.job.name] = live
        if live.timed.job.name in self.chosen:
            state = tuple((each.timed.job, each.hold(time)) for each in self.live.values())
            self.found.append((time, live.timed.job.name, state, len(self.ended)))

    def gave_quota_back(self, time: int, live: LiveJob, stint: Stint) -> None:
        """Note that a job ended."""
        if not stint.reason:
            del self.live[live.timed.job.name]
            self.ended.append(live.timed)
