"""A run of `berth admit` as the report's timeline."""

from __future__ import annotations

from collections.abc import Iterator

from berth.cli.admit import output
from berth.document import Note, Table
from berth.report import timeline
from berth.report.timeline import JobLane, StateSpan, Timeline
from berth.simulator.story import JobOutcome, JobStatus, SimulationRun
from berth.simulator.text import RunFormatter

_OPEN_ROWS = 30
"""Maximum of rows that are shown without a click."""


def story_timeline(story: SimulationRun) -> Timeline:
    """Return a lane for each job, in order of arrival, and the table of `berth admit`."""
    numbers = [moment.number for moment in story.steps]
    first, end = min(numbers, default=0), max(numbers, default=-1) + 1
    rows = [list(row) for moment in story.steps for row in output.step_rows(moment, RunFormatter(story, moment))]
    head = ("step", "job", "queue", "status", "details")
    return Timeline(
        lanes=tuple(_lanes(story, end)),
        first=first,
        end=end,
        document=(
            Table("Simulated steps", head, rows, folded=len(rows) > _OPEN_ROWS),
            Note([output.totals(story), *output.limitations(story)]),
        ),
    )


def _lanes(story: SimulationRun, end: int) -> Iterator[JobLane]:
    texts = RunFormatter(story)
    steps: dict[str, list[tuple[int, JobOutcome]]] = {}
    for moment in story.steps:
        for row in moment.outcomes:
            steps.setdefault(row.job, []).append((moment.number, row))
    for job, rows in steps.items():
        yield JobLane(texts.job_name(job), texts.queue_name(rows[0][1].queue), tuple(_spells(rows, end)))


def _spells(rows: list[tuple[int, JobOutcome]], end: int) -> Iterator[StateSpan]:
    preempted = False
    for index, (number, row) in enumerate(rows):
        if row.status == JobStatus.FINISHED:
            return
        held_state = {
            JobStatus.ADMITTED: timeline.LaneState.ADMITTED,
            JobStatus.UNPLACED: timeline.LaneState.PENDING,
            JobStatus.RESERVED: timeline.LaneState.CHECKS_PENDING,
        }.get(row.status)
        preempted = held_state is None and (preempted or row.preempted_by is not None)
        state = held_state or (timeline.LaneState.PREEMPTED if preempted else timeline.LaneState.PENDING)
        yield StateSpan(state, number, rows[index + 1][0] if index + 1 < len(rows) else end)
