"""The result of `berth admit`, and a forecast, for a terminal and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from berth.cli.admit.forecast import FUTURES, HORIZON, MOST_JOBS, Forecasts
from berth.cli.admit.simulate import SimulationResult
from berth.cli.simulate.output import format_time
from berth.document import Block, Note, Table
from berth.simulator.compare import compare_runs, comparison_to_json, run_to_json
from berth.simulator.scenario import StepKind
from berth.simulator.story import JobOutcome, JobStatus, SimulationRun, StepResult
from berth.simulator.text import MANAGER_NOTICE, NOT_MODELLED, RunFormatter, status_text
from berth.simulator.timed.calibration import FEWEST, SHORT
from berth.simulator.timed.futures import StartForecast
from berth.text import pluralize

VERSION = 1
"""Version of the JSON of `berth admit`."""


def simulation_document(result: SimulationResult) -> Iterator[Block]:
    """Yield a run as a table with totals, or the differences between two runs; nothing without a run."""
    if len(result.stories) == 2:
        yield from _differences(*result.stories)
    for story in result.stories if len(result.stories) == 1 else ():
        rows = [row for moment in story.steps for row in step_rows(moment, RunFormatter(story, moment))]
        yield Table("", ("step", "job", "queue", "status", ""), rows)
        yield Note([totals(story)])
        if result.forecasts is not None:
            yield from forecast_document(result.forecasts)
        if rows:
            yield Note(limitations(story))


def limitations(story: SimulationRun) -> list[str]:
    """Return what the simulation does not model."""
    return [NOT_MODELLED, *([MANAGER_NOTICE] if story.fleet.setup.workers else [])]


def step_rows(moment: StepResult, texts: RunFormatter) -> Iterator[tuple[str, ...]]:
    """Yield a step as rows of the table: number, job, queue, status and details."""
    number = str(moment.number)
    if moment.kind not in (StepKind.SUBMIT, StepKind.FINISH, StepKind.PROVISIONED):
        yield number, moment.text, "", "", ""
        number = ""
    for row in moment.outcomes:
        name, queue = texts.job_name(row.job), texts.queue_name(row.queue)
        yield number, name, queue, status_text(row.status), texts.describe_outcome(row)
        number = ""


_TOTALS_TEXT = {
    JobStatus.ADMITTED: "admitted",
    JobStatus.UNPLACED: "admitted without nodes",
    JobStatus.RESERVED: "waiting for an admission check",
    JobStatus.NEVER_ADMITTED: "never admitted",
}


def totals(story: SimulationRun) -> str:
    """Return `At the end: 2 admitted, 1 pending, 1 never admitted. 1 job was preempted.`"""
    if not story.unfinished and not any(moment.outcomes for moment in story.steps):
        return "There is no job to simulate."
    counts = Counter(_TOTALS_TEXT.get(row.status, "pending") for row in story.unfinished)
    preempted_count = len({row.job for moment in story.steps for row in moment.outcomes if row.preempted_by})
    parts = [f"{number} {word}" for word, number in sorted(counts.items())]
    counts_text = ", ".join(parts) if parts else "every job is finished"
    were = "was" if preempted_count == 1 else "were"
    preempted_text = f" {pluralize(preempted_count, 'job')} {were} preempted." if preempted_count else ""
    return f"At the end: {counts_text}.{preempted_text}"


def _differences(old: SimulationRun, new: SimulationRun) -> Iterator[Block]:
    changes = list(compare_runs(old, new))
    names = old.fleet.name, new.fleet.name
    if not changes:
        yield Note([f"Every job has the same result under {names[0]} and {names[1]}."])
        return
    texts = RunFormatter(old), RunFormatter(new)
    rows: list[tuple[str, ...]] = []
    for change in changes:
        row, own_texts = (change.new, texts[1]) if change.new else (change.old, texts[0])
        queue = own_texts.queue_name(row.queue) if row else ""
        results = _outcome_text(change.old, texts[0]), _outcome_text(change.new, texts[1])
        rows.append((str(change.step_number), texts[0].job_name(change.job), queue, *results))
    yield Table("", ("step", "job", "queue", *names), rows)
    yield Note(limitations(old))


def _outcome_text(row: JobOutcome | None, texts: RunFormatter) -> str:
    return f"{status_text(row.status)}: {texts.describe_outcome(row)}".removesuffix(": ") if row else "–"


def simulation_as_json(result: SimulationResult) -> dict[str, Any]:
    """Return a run, or the differences between two runs, as JSON values (docs/admission.md)."""
    problems = [each.as_json() for each in result.problems]
    jobs = [
        {
            "job": each.object_name,
            "namespace": each.namespace,
            "place": each.location,
            "queue": each.queue or None,
            "stack": stack,
            "flavors": dict(each.flavors),
            "verdict": each.verdict,
            "reasons": [reason.message for reason in each.reasons],
        }
        for stack, each in result.findings
    ]
    if not result.stories:
        return {"version": VERSION, "jobs": jobs, "problems": problems}
    simulation_json = (
        run_to_json(result.stories[0]) if len(result.stories) == 1 else comparison_to_json(*result.stories)
    )
    forecast = {} if result.forecasts is None else {"forecast": forecast_as_json(result.forecasts)}
    return {"version": VERSION, **simulation_json, **forecast, "jobs": jobs, "problems": problems}


def forecast_document(found: Forecasts) -> Iterator[Block]:
    """Yield when each job will probably start, what would make it sooner, and how far to trust that."""
    rows: list[tuple[str, ...]] = []
    for each in found.jobs:
        rows.append((each.name, each.queue, _when(each.forecast.median), _interval(each.forecast)))
        for one in each.sooner:
            rows.append(("", f"with {one.change}", _when(one.forecast.median), _interval(one.forecast)))
    if rows:
        yield Table("Forecast", ("job", "queue", "starts in", "9 of 10 futures"), rows)
    yield Note(list(_remarks(found)))


def _remarks(found: Forecasts) -> Iterator[str]:
    if not found.jobs:
        yield "No job waits whose start could be forecast."
        return
    days = format_time(found.history_seconds)
    yield (
        f"Forecast from {FUTURES} futures, with run times and arrivals of {pluralize(found.history_jobs, 'job')} over"
        f" {days} in {found.source}; in the middle one the job starts after the time shown."
    )
    if found.checked:
        yield (
            f"The same forecast of {found.checked} jobs of that history which waited: the interval held {found.within}."
        )
    elif found.is_corrected:
        yield f"Corrected with {FEWEST} jobs of that history which waited, and not checked with others."
    else:
        waited = f"only {pluralize(found.waited, 'job')}" if found.waited else "no job"
        yield (
            f"Not checked: on these queues {waited} of that history had to wait longer than {format_time(SHORT)};"
            f" {FEWEST} are needed, so the interval may be too narrow."
        )
    if found.left_out:
        yield f"{pluralize(found.left_out, 'job')} more wait; the last {MOST_JOBS} are forecast."


def _when(seconds: int | None) -> str:
    return f"over {format_time(HORIZON)}" if seconds is None else format_time(seconds)


def _interval(forecast: StartForecast) -> str:
    return f"{_when(forecast.low)} to {_when(forecast.high)}"


def forecast_as_json(found: Forecasts) -> dict[str, Any]:
    """Return the JSON values (docs/admission.md)."""
    return {
        "futures": FUTURES,
        "horizonSeconds": HORIZON,
        "history": {"file": found.source, "jobs": found.history_jobs, "seconds": found.history_seconds},
        "check": {"waited": found.waited, "jobs": found.checked, "within": found.within},
        "jobs": [
            {
                "job": each.name,
                "queue": each.queue,
                **_values(each.forecast),
                "sooner": [{"change": one.change, **_values(one.forecast)} for one in each.sooner],
            }
            for each in found.jobs
        ],
        "leftOut": found.left_out,
    }


def _values(forecast: StartForecast) -> dict[str, Any]:
    return {
        "medianSeconds": forecast.median,
        "lowSeconds": forecast.low,
        "highSeconds": forecast.high,
        "startedPart": forecast.started,
    }
