"""A run of `berth admit` as the report's timeline."""

from __future__ import annotations

from collections.abc import Iterator

from berth.cli.admit import answer
from berth.report import timeline
from berth.report.timeline import Lane, Spell, Timeline
from berth.report.view import Part
from berth.simulator.story import ADMITTED, FINISHED, RESERVED, Row, Story
from berth.simulator.text import Words


def of_story(story: Story) -> Timeline:
    """Each job's lane, in the order in which they come, and the table of `berth admit`."""
    numbers = [moment.number for moment in story.moments]
    first, end = min(numbers, default=0), max(numbers, default=-1) + 1
    rows = [list(row) for moment in story.moments for row in answer.lines(moment, Words(story, moment))]
    head = ("step", "job", "queue", "verdict", "why")
    return Timeline(
        lanes=tuple(_lanes(story, end)),
        first=first,
        end=end,
        table=Part("What happened, step by step", head, rows),
        notes=(answer.total(story), *answer.left_out(story).splitlines()),
    )


def _lanes(story: Story, end: int) -> Iterator[Lane]:
    words = Words(story)
    steps: dict[str, list[tuple[int, Row]]] = {}
    for moment in story.moments:
        for row in moment.rows:
            steps.setdefault(row.job, []).append((moment.number, row))
    for job, rows in steps.items():
        yield Lane(words.job(job), words.queue(rows[0][1].queue), tuple(_spells(rows, end)))


def _spells(rows: list[tuple[int, Row]], end: int) -> Iterator[Spell]:
    out = False
    for place, (number, row) in enumerate(rows):
        if row.verdict == FINISHED:
            return
        inside = {ADMITTED: timeline.ADMITTED, RESERVED: timeline.HELD}.get(row.verdict)
        out = inside is None and (out or row.lost is not None)
        state = inside or (timeline.PUSHED_OUT if out else timeline.WAITS)
        yield Spell(state, number, rows[place + 1][0] if place + 1 < len(rows) else end)
