"""Forecasts against other ways of computing them: hand-made queues, the run that goes on, estimates by formula."""

from __future__ import annotations

import itertools
import json
import math
import os
import random
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from berth.cli import app
from berth.cli.admit import forecast
from berth.simulator.scheduler.model import Job, SchedulerSetup
from berth.simulator.timed.calibration import FEWEST, Calibration, PastForecast, calibrate
from berth.simulator.timed.futures import History, Moment, RunTimes, StartForecast, forecast_starts
from berth.simulator.timed.timed_run import run_trace
from berth.simulator.timed.trace import Hold, LiveJob, RunStart, Stint, TimedJob, Timing
from tests.berth.simulator.setups import GPU, queue
from tests.berth.simulator.test_admit import printed, workload
from tests.berth.simulator.test_timed import Recorder, random_jobs, timed
from tests.stack_files import ROOT

DAY = 86_400
HORIZON = DAY // 2
TWO = SchedulerSetup(queues=(queue("a", 1), queue("z", 1)))
"""One GPU for jobs that are forecast, and one for those of the history, which therefore delay nobody."""


def _job(name: str, at: str = "a", gpus: int = 1) -> Job:
    return timed(name, at, 0, 0, gpus).job


def _history(seconds: Iterable[int], unfinished: Iterable[tuple[Job, int]] = ()) -> History:
    return History([timed(f"h{n}", "z", 3600 * n, each, 1) for n, each in enumerate(seconds)], {GPU}, None, unfinished)


def _running(name: str, held: int) -> tuple[Job, Hold]:
    return _job(name), Hold(flavors=({GPU: "f"},), seconds=held)


def _waiting(name: str) -> tuple[Job, None]:
    return _job(name), None


def _forecasts(
    jobs: tuple[tuple[Job, Hold | None], ...], history: History, *names: str, futures: int = 40
) -> dict[str, StartForecast]:
    moment = Moment(jobs=jobs)
    return forecast_starts(TWO, moment, history, Timing(), futures=futures, horizon=HORIZON, watched=names)


def test_with_one_run_time_the_start_is_certain() -> None:
    """A job that has run for 400 of 1,000 s, and two before the last one."""
    jobs = (_running("runs", 400), _waiting("first"), _waiting("second"), _waiting("last"))
    found = _forecasts(jobs, _history([1000] * 40), "first", "last")
    assert found["first"] == StartForecast(median=600, low=600, high=600, started=1.0)
    assert found["last"] == StartForecast(median=2600, low=2600, high=2600, started=1.0)


def test_how_long_a_job_ran_tells_how_long_it_will() -> None:
    """Of runs of 100 and of 1,000 s, one that has run for 200 s is of the second kind."""
    found = _forecasts((_running("runs", 200), _waiting("next")), _history([100, 1000] * 30), "next")
    assert found["next"] == StartForecast(median=800, low=800, high=800, started=1.0)


def test_of_two_kinds_of_runs_the_interval_has_both() -> None:
    found = _forecasts((_running("runs", 0), _waiting("next")), _history([100, 1000] * 30), "next", futures=100)["next"]
    assert (found.low, found.high) == (100, 1000)


def test_the_newest_runs_count_most() -> None:
    """A team that submitted jobs of 100 s for months submits jobs of 1,000 s today."""
    found = _forecasts((_running("runs", 0), _waiting("next")), _history([100] * 400 + [1000] * 200), "next")
    assert found["next"].median == 1000


def test_jobs_that_do_not_start_before_the_horizon_have_no_time() -> None:
    found = _forecasts((_running("runs", 0), _waiting("next")), _history([HORIZON + 1] * 40), "next")["next"]
    assert found == StartForecast(median=None, low=None, high=None, started=0.0)


def test_a_job_that_outlasts_the_history_still_ends() -> None:
    """Its time doubles with a chance of one half, and never grows by more than the limit."""
    found = _forecasts((_running("runs", 1000), _waiting("next")), _history([10] * 40), "next", futures=200)["next"]
    assert found.median is not None and 700 < found.median < 1400
    assert found.high is not None and found.high <= 19_001


def test_arrivals_that_may_overtake_are_in_the_futures() -> None:
    """A job of 90 s ends; each 100 s another of 90 s comes before the one that waits, until there is a gap.

    If the first of them comes φ s after now, there is one after k of them, with the least 10 k ≥ 90 - φ.
    """
    arrivals = [timed(f"h{n}", "a", 100 * n, 90, 1, priority=5) for n in range(800)]
    one, moment = SchedulerSetup(queues=(queue("a", 1),)), Moment(jobs=(_running("runs", 0), _waiting("low")))
    found = forecast_starts(
        one, moment, History(arrivals, {GPU}), Timing(), futures=400, horizon=9000, watched=["low"]
    )["low"]
    expected = sorted(90 + 90 * max(0, -(-(90 - phase) // 10)) for phase in range(100))
    assert found.median == pytest.approx(expected[49], abs=90)
    assert (found.low, found.high) == (expected[4], expected[94])


def test_arrivals_keep_the_time_of_the_day() -> None:
    """A history of three days has its jobs at noon; a future that begins at ten has them after two hours."""
    noon = 1_700_000_000 // DAY * DAY + DAY // 2
    jobs = [timed(f"h{day}", "z", day * DAY, 60, 1) for day in range(3)]
    history = History(jobs, {GPU}, noon)
    for seed in range(20):
        times = [each.submitted for each in history.draw_arrivals(random.Random(seed), noon - 7200, 2 * DAY)]
        assert times == [7200, 7200 + DAY]


def test_a_short_history_begins_again() -> None:
    jobs = [timed("h0", "z", 0, 60, 1), timed("h1", "z", 30, 60, 1)]
    times = [each.submitted for each in History(jobs, {GPU}).draw_arrivals(random.Random(1), None, 400)]
    gaps = {later - sooner for sooner, later in itertools.pairwise(times)}
    assert len(times) > 20
    assert gaps == {1, 30}


def test_draws_are_the_estimate_of_kaplan_and_meier() -> None:
    """The share of drawn run times above each value is the product-limit estimate, with runs that are not finished.

    The k-th newest counts e^(-k/100): the last that ended, those that run now by their time until now, then the others.
    """
    ended, unfinished = [10, 20, 20, 40, 50, 80] * 10, [15, 30, 60] * 10
    newest_first = [(ended[-1], True), *((held, False) for held in sorted(unfinished))]
    newest_first += [(seconds, True) for seconds in reversed(ended[:-1])]
    counts = [(seconds, has_ended, math.exp(-k / 100)) for k, (seconds, has_ended) in enumerate(newest_first)]
    survival, expected = 1.0, dict[int, float]()
    for value in sorted(set(ended)):
        at_risk = sum(weight for seconds, _, weight in counts if seconds >= value)
        survival *= 1 - sum(weight for seconds, has_ended, weight in counts if has_ended and seconds == value) / at_risk
        expected[value] = survival
    history = _history(ended, [(_job(f"u{n}", "z"), each) for n, each in enumerate(unfinished)])
    rng, drawn = random.Random(5), list[int]()
    for _ in range(400):
        times = RunTimes(history, rng)
        drawn += [times.draw(_job("new", "z"), 0).seconds for _ in range(25)]
    for value, part in expected.items():
        assert sum(each > value for each in drawn) / len(drawn) == pytest.approx(part, abs=0.05)


# --- a run that begins in the middle ----------------------------------------------------------------------------------


class _Cut(Recorder):
    """Keeps what is there when a time comes."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at
        self.jobs: dict[str, LiveJob] = {}
        self.starts: dict[str, int] = {}
        self.held: tuple[tuple[TimedJob, Hold | None], ...] | None = None

    def submitted(self, time: int, live: LiveJob) -> None:
        super().submitted(time, live)
        if time >= self.at and self.held is None and any(each.held_since is not None for each in self.jobs.values()):
            self.held = tuple((each.timed, each.hold(time)) for each in self.jobs.values())
            self.at = time
        self.jobs[live.timed.job.name] = live

    def took_quota(self, time: int, live: LiveJob) -> None:
        self.starts.setdefault(live.timed.job.name, time)

    def gave_quota_back(self, time: int, live: LiveJob, stint: Stint) -> None:
        if not stint.reason:
            self.jobs.pop(live.timed.job.name, None)


@pytest.mark.parametrize("seed", range(20))
def test_a_run_that_begins_in_the_middle_goes_on_as_the_whole_run(seed: int) -> None:
    """Without evictions before the cut, all jobs that wait then or come later start at the same second."""
    queues = SchedulerSetup(queues=(queue("a", 4), queue("b", 3), queue("c", 5)))
    jobs = [
        TimedJob(job=each.job, submitted=each.submitted, seconds=each.seconds) for each in random_jobs(seed, number=60)
    ]
    jobs = [each for each in jobs if each.job.pod_sets[0].requests[GPU] <= 3]
    whole = _Cut(jobs[len(jobs) // 2].submitted)
    run_trace(queues, jobs, Timing(), whole)
    assert whole.held is not None and any(hold for _, hold in whole.held)
    held = {timed.job.name for timed, _ in whole.held}
    later = [
        TimedJob(job=each.job, submitted=each.submitted - whole.at, seconds=each.seconds)
        for each in jobs
        if each.job.name in whole.live and each.submitted >= whole.at and each.job.name not in held
    ]
    again = _Cut(10**9)
    run_trace(queues, later, Timing(), again, RunStart(jobs=whole.held))
    expected = {name: start - whole.at for name, start in whole.starts.items() if start > whole.at}
    assert {name: start for name, start in again.starts.items() if start > 0} == expected
    assert expected


# --- how right it is --------------------------------------------------------------------------------------------------


def test_errors_of_the_past_are_the_width_of_a_forecast() -> None:
    """Waits that are twice the forecast, and spread by its own width, are in the next interval; by hand."""
    past = StartForecast(median=1000, low=500, high=2000, started=1.0)
    width = math.log(4) / 3.29
    waits = [round(2000 * math.exp((n - 10) / 10 * width)) for n in range(21)]
    found = Calibration(tuple(PastForecast(past, each) for each in waits), 21).correct(past, HORIZON)
    assert found.median == 1000
    assert found.low == pytest.approx(min(1000, 2000 * math.exp(-width)), abs=2)
    assert found.high == pytest.approx(2000 * math.exp(width), abs=2)


@pytest.mark.parametrize("wait", [500, 1000, 2000])
def test_the_middle_is_within_the_interval(wait: int) -> None:
    """Also of less than a minute, and beyond the horizon, where the past started sooner or later than it was said."""
    past = StartForecast(median=1000, low=500, high=2000, started=1.0)
    trials = Calibration((PastForecast(past, wait),) * 21, 21)
    soon = trials.correct(StartForecast(low=10, median=20, high=30, started=1.0), HORIZON)
    assert (soon.low, soon.median) == (20, 20)
    assert (soon.high or 0) >= 20
    late = trials.correct(StartForecast(low=HORIZON, median=None, high=None, started=0.1), HORIZON)
    assert (late.median, late.high) == (None, None)


def test_too_few_trials_change_nothing() -> None:
    past = StartForecast(median=1000, low=500, high=2000, started=1.0)
    assert Calibration((PastForecast(past, 9000),) * (FEWEST - 1), 1).correct(past, HORIZON) == past


def test_a_wait_is_within_if_the_trials_before_it_gave_its_interval() -> None:
    """After trials that waited as long as was said, longer and shorter waits are outside, and the next ones inside."""
    past = StartForecast(median=1000, low=500, high=2000, started=1.0)
    trials = tuple(PastForecast(past, wait) for wait in (*[1000] * FEWEST, 1000, 9000, 9000, 1000, 100, 100))
    assert Calibration(trials, len(trials)).count_within(HORIZON) == (4, 6)
    assert Calibration(trials[:FEWEST], FEWEST).count_within(HORIZON) == (0, 0)


def test_forecasts_of_a_crowded_month_hold_what_they_promise() -> None:
    """Jobs of one queue with more work than it can do: nine of ten waits are within the interval, give or take."""
    rng = random.Random(3)
    jobs, time = list[TimedJob](), 0.0
    while time < 12 * DAY:
        time += rng.expovariate(1 / 1000)
        jobs.append(timed(f"j{len(jobs)}", "a", int(time), int(rng.lognormvariate(7.5, 1.2)) + 1, rng.choice((1, 2))))
    busy = SchedulerSetup(queues=(queue("a", 5),))
    found = calibrate(busy, jobs, {GPU}, Timing(), began=None, futures=16, horizon=14 * DAY)
    assert len(found.trials) == 30
    within, checked = found.count_within(14 * DAY)
    assert within >= checked * 0.6  # of so few
    errors = [
        abs(each.forecast.median - each.wait) / each.wait for each in found.trials if each.forecast.median is not None
    ]
    assert statistics.median(errors) < 0.3


# --- the command ------------------------------------------------------------------------------------------------------

MANIFEST = """\
apiVersion: batch/v1
kind: Job
metadata: {name: big, namespace: vision, labels: {kueue.x-k8s.io/queue-name: train}}
spec:
  parallelism: 2
  completions: 2
  template:
    spec:
      restartPolicy: Never
      containers:
        - {name: main, image: example.com/train, resources: {limits: {google.com/tpu: 4}}}
"""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """Return a job, and a cluster at two o'clock in which one job holds all slices and one waits."""
    monkeypatch.chdir(ROOT)
    (tmp_path / "job.yaml").write_text(MANIFEST, encoding="utf-8")
    (live,) = printed(tmp_path, workload("in", "vision", 1, 3, reserved=2), workload("old", "vision", 3, 1))
    os.utime(live, (1_767_232_800, 1_767_232_800))
    return str(tmp_path / "job.yaml"), "--live", str(live)


def _run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["admit", *arguments])
    return result.exit_code, result.output


def test_the_command_says_when_a_job_starts_and_what_helps(files: tuple[str, ...]) -> None:
    code, text = _run("dev", *files, "--history", "stacks/traces/dev.csv")
    assert code == 0
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert any(line.startswith("big vision/train ") and " to " in line for line in lines)
    assert any(line.startswith("with priority high ") for line in lines)
    assert any(line.startswith("Forecast from 40 futures, with run times and arrivals of 265 jobs") for line in lines)
    assert any("20 are needed, so the interval may be too narrow" in line for line in lines)


def test_the_command_gives_the_same_as_json_each_time(files: tuple[str, ...]) -> None:
    _, first = _run("dev", *files, "--history", "stacks/traces/dev.csv", "--json")
    _, second = _run("dev", *files, "--history", "stacks/traces/dev.csv", "--json")
    assert first == second
    found = json.loads(first)["forecast"]
    (job,) = found["jobs"]
    assert (job["job"], job["queue"]) == ("big", "vision/train")
    assert job["lowSeconds"] <= job["medianSeconds"] <= job["highSeconds"]
    assert found["history"] == {"file": "stacks/traces/dev.csv", "jobs": 265, "seconds": 86215}
    assert all(each["medianSeconds"] < job["medianSeconds"] for each in job["sooner"])


def test_a_job_in_another_queue_is_in_the_local_queue_of_that_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the use of local queues the simulator may decide who comes first."""
    monkeypatch.chdir(ROOT)
    text = MANIFEST.replace("namespace: vision", "namespace: research").replace(
        "queue-name: train", "queue-name: batch"
    )
    jobs = "---\n".join(text.replace("name: big", f"name: big-{number}") for number in range(4))
    (tmp_path / "jobs.yaml").write_text(jobs, encoding="utf-8")
    tried: list[Job] = []

    def record(*arguments: Any, watched: list[str], **options: Any) -> dict[str, StartForecast]:
        tried.extend(job for job, _ in arguments[1].jobs if job.name in watched)
        return forecast_starts(*arguments, watched=watched, **options)

    monkeypatch.setattr(forecast, "forecast_starts", record)
    found = _run("inference", str(tmp_path / "jobs.yaml"), "--history", "stacks/traces/inference.csv")
    assert found[0] == 0, found[1]
    assert {job.queue: job.local_queue for job in tried} == {
        "research-batch": "research/batch",
        "research-train": "research/train",
    }


def test_without_a_job_those_that_wait_are_forecast(files: tuple[str, ...]) -> None:
    code, text = _run("dev", *files[1:], "--history", "stacks/traces/dev.csv", "--json")
    assert code == 0
    assert [each["job"] for each in json.loads(text)["forecast"]["jobs"]] == ["old"]
    assert "At the end: 1 admitted, 1 pending." in _run("dev", *files[1:], "--history", "stacks/traces/dev.csv")[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("stacks/scenarios/multislice.yaml", "--history", "stacks/traces/multislice.csv"),
            "a forecast begins with jobs, not with a scenario; write berth admit STACK JOBS --history TRACE",
        ),
        (("dev", "local", "JOB", "--history", "stacks/traces/dev.csv"), "forecasts are for one stack; name one"),
        (("dev", "JOB", "--history", "nowhere.csv"), "no file 'nowhere.csv'"),
        (("dev", "JOB", "--history", "stacks/traces/multislice.csv"), "no queue 'multislice/multislice-queue'"),
    ],
)
def test_what_cannot_be_forecast_is_a_fault(arguments: tuple[str, ...], message: str, files: tuple[str, ...]) -> None:
    code, text = _run(*(files[0] if each == "JOB" else each for each in arguments))
    assert code == 1
    assert message in text
    assert "Traceback" not in text
