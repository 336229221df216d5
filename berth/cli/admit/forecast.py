"""When the jobs that wait will probably start: `berth admit STACK JOBS --live FILE --history TRACE`."""

from __future__ import annotations

import pathlib
import time
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from berth.cli.simulate.answer import read_timed_jobs
from berth.diagnostics import Problem, Severity
from berth.jobs.values import read_time
from berth.loader.locate import display_path
from berth.plan.fleet import FleetPlan
from berth.simulator.live import ClusterState, RunningWorkload
from berth.simulator.scenario import ScenarioStep, StepKind
from berth.simulator.scheduler.model import Job
from berth.simulator.story import JobStatus, SimulationRun, gc_paused
from berth.simulator.timed.calibration import FEWEST, Calibration, calibrate
from berth.simulator.timed.futures import History, Moment, StartForecast, forecast_starts
from berth.simulator.timed.trace import Hold, Timing, Trace

FUTURES = 40
"""Futures of each forecast."""
HORIZON = 14 * 86_400
"""Later than this nothing is said."""
MOST_JOBS = 20
"""So many jobs are forecast, those that were submitted last."""
_MOST_ADVISED = 3
"""For so many of them it is tried what would make them start sooner."""


class Sooner(Struct, frozen=True):
    """A change of a job after which it starts sooner."""

    change: str
    forecast: StartForecast


class JobForecast(Struct, frozen=True):
    """The forecast of one job that waits; `sooner` are changes of it that help, the best first."""

    name: str
    queue: str
    forecast: StartForecast
    sooner: tuple[Sooner, ...]


class Forecasts(Struct, frozen=True, kw_only=True):
    """The forecasts of a run: what they are drawn from, and how right such forecasts were on that history."""

    source: str
    history_jobs: int
    history_seconds: int
    waited: int
    checked: int
    within: int
    is_corrected: bool
    jobs: tuple[JobForecast, ...]
    left_out: int


class ForecastRequest(Struct, frozen=True):
    """A history of jobs, and the moment of the forecast, in seconds since 1970: that of the file with the state."""

    history: pathlib.Path
    now: float
    root: pathlib.Path


def forecast_run(
    plan: FleetPlan, live: ClusterState, steps: Sequence[ScenarioStep], run: SimulationRun, request: ForecastRequest
) -> tuple[Forecasts | None, list[Problem]]:
    """Return the forecasts of the jobs that wait at the end of a run, and the problems of the history."""
    if any(step.kind is not StepKind.SUBMIT for step in steps):
        message = "a forecast begins with jobs, not with a scenario; write berth admit STACK JOBS --history TRACE"
        return None, [Problem(Severity.FAULT, "bad-value", ("--history",), message)]
    trace, problems = read_timed_jobs(request.history, run.fleet, request.root)
    if any(each.severity == Severity.FAULT for each in problems):
        return None, problems
    submitted = [step.arrival.job for step in steps if step.arrival is not None]
    with gc_paused():
        forecaster = _Forecaster(plan, run, trace, _moment(live, submitted, request.now))
        found = forecaster.run_all([job.name for job in submitted], display_path(request.history, request.root))
    return found, problems


class _Forecaster:
    """Forecasts jobs of one moment; with all of them in the same futures, so that changes can be compared."""

    def __init__(self, plan: FleetPlan, run: SimulationRun, trace: Trace, moment: Moment) -> None:
        self.plan, self.run, self.trace, self.moment = plan, run, trace, moment
        self.resources = {resource for _, resource in run.fleet.accelerator_nouns}
        self.timing = Timing(pods_ready=plan.kueue.pods_ready if plan.kueue is not None else None)
        self.history = History(trace.jobs, self.resources, trace.began, moment.unfinished())

    def run_all(self, submitted: Sequence[str], source: str) -> Forecasts:
        """Forecast the submitted jobs that wait; without any submitted, all that wait."""
        waiting = {each.job: each for each in self.run.unfinished if each.status in _WAITING}
        names = [name for name in (submitted or waiting) if name in waiting]
        watched = names[-MOST_JOBS:]
        calibration = Calibration((), 0)
        if watched:
            calibration = calibrate(
                self.run.fleet.setup,
                self.trace.jobs,
                self.resources,
                self.timing,
                began=self.trace.began,
                futures=FUTURES // 2,
                horizon=HORIZON,
            )
        within, checked = calibration.count_within(HORIZON)
        raw = self._forecast(self.moment, watched)
        found = {name: calibration.correct(each, HORIZON) for name, each in raw.items()}
        jobs = {each.name: each for each, hold in self.moment.jobs if hold is None}
        queues = self.run.fleet.queue_display_names
        rows = [
            JobForecast(
                name=self.run.display_names.get(name, name),
                queue=queues.get(jobs[name].queue, jobs[name].queue),
                forecast=forecast,
                sooner=self._sooner(jobs[name], forecast, calibration) if number < _MOST_ADVISED else (),
            )
            for number, (name, forecast) in enumerate(found.items())
        ]
        return Forecasts(
            source=source,
            history_jobs=len(self.trace.jobs),
            history_seconds=self.trace.jobs[-1].submitted,
            waited=calibration.waited,
            checked=checked,
            within=within,
            is_corrected=len(calibration.trials) >= FEWEST,
            jobs=tuple(rows),
            left_out=len(names) - len(watched),
        )

    def _forecast(self, moment: Moment, names: Sequence[str]) -> dict[str, StartForecast]:
        return forecast_starts(
            self.run.fleet.setup,
            moment,
            self.history,
            self.timing,
            futures=FUTURES,
            horizon=HORIZON,
            watched=names,
        )

    def _sooner(self, job: Job, forecast: StartForecast, calibration: Calibration) -> tuple[Sooner, ...]:
        """Return the changes of a job after which it starts at least a minute and a tenth sooner, the best first."""
        latest = HORIZON if forecast.median is None else forecast.median
        limit = latest - max(60, latest // 10)
        found: list[Sooner] = []
        for change, other in self._changes(job):
            jobs = tuple((other if each is job else each, hold) for each, hold in self.moment.jobs)
            moment = replace(self.moment, jobs=jobs)
            changed = calibration.correct(self._forecast(moment, [job.name])[job.name], HORIZON)
            if changed.median is not None and changed.median <= limit:
                found.append(Sooner(change, changed))
        return tuple(sorted(found, key=lambda each: (each.forecast.median, each.change)))

    def _changes(self, job: Job) -> Iterator[tuple[str, Job]]:
        """Yield what its owner may change in a job: its priority, its queue, the number of its pods."""
        namespace = job.name.split("/", 1)[0]
        fleet = self.run.fleet
        locals_here = {queue: local for (of, local), queue in fleet.local_queues.items() if of == namespace}
        shared = {
            each.name: each.priorities
            for team in self.plan.teams
            for home in team.namespaces
            if home.name == namespace
            for each in home.shared_queues
        }
        allowed = shared.get(locals_here.get(job.queue, ""), tuple(fleet.priorities))
        for name, value in fleet.priorities.items():
            if value > job.priority and name in allowed:
                yield f"priority {name}", replace(job, priority=value)
        covered = {
            queue.name: {name for group in queue.resource_groups for name in group.resources}
            for queue in fleet.setup.queues
        }
        needed = {resource for each in job.pod_sets for resource in each.requests}
        for queue, local in locals_here.items():
            if queue != job.queue and needed <= covered.get(queue, set()):
                yield f"queue {local}", replace(job, queue=queue, local_queue=f"{namespace}/{local}", barred=())
        if len(job.pod_sets) == 1 and (pods := job.pod_sets[0].count) > 1:
            half = replace(job.pod_sets[0], count=pods // 2, least=None)
            yield f"{pods // 2} pods instead of {pods}", replace(job, pod_sets=(half,))


_WAITING = (JobStatus.PENDING, JobStatus.PREEMPTED, JobStatus.DRAINED)


def moment_of(live: Sequence[pathlib.Path]) -> float:
    """Return the moment of a forecast: kubectl's output has no time of its own, so that of the newest file counts."""
    times = [file.stat().st_mtime for file in live if file.is_file()]
    return max(times) if times else time.time()


def _moment(live: ClusterState, submitted: Sequence[Job], now: float) -> Moment:
    """Return what is there: the cluster's jobs in the order of their creation, then those that are submitted now."""
    ordered = sorted(live.workloads, key=lambda each: each.created_at)
    return Moment(
        jobs=(
            *((each.job, _hold(each, now)) for each in ordered),
            *((job, None) for job in submitted),
        ),
        stop_policies=live.stop_policies,
        now=int(now),
    )


def _hold(each: RunningWorkload, now: float) -> Hold | None:
    if each.reserved_at is None:
        return None
    since = read_time(each.reserved_at)
    seconds = 0 if since is None else max(0, int(now - since.timestamp()))
    return Hold(flavors=each.flavors, seconds=seconds, is_admitted=each.is_admitted)
