"""A forecast for a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from berth.cli.admit.forecast import FUTURES, HORIZON, MOST_JOBS, Forecasts
from berth.cli.simulate.output import format_time
from berth.document import Block, Note, Table
from berth.simulator.timed.calibration import FEWEST, SHORT
from berth.simulator.timed.futures import StartForecast
from berth.text import pluralize


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
