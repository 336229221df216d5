"""Jobs by time as a picture: admitted, waiting, preempted. The table beside it has the same content."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from html import escape

from msgspec import Struct

from berth.report.view import Section


class LaneState(StrEnum):
    """The state of a job in the picture; the words are CSS classes."""

    ADMITTED = "admitted"
    """It is admitted."""
    CHECKS_PENDING = "held"
    """It holds its quota, and an admission check is pending."""
    PENDING = "waits"
    """It is pending."""
    PREEMPTED = "out"
    """It was preempted or evicted, and is pending again."""


STATE_LABELS = {
    LaneState.ADMITTED: "admitted",
    LaneState.CHECKS_PENDING: "waiting for an admission check",
    LaneState.PENDING: "pending",
    LaneState.PREEMPTED: "preempted, pending again",
}
"""States of a job as text."""

MAX_LANES, MAX_STEPS = 60, 200
"""Maximum of jobs in a picture; the table has all of them."""

_LETTER_WIDTH, _LANE_HEIGHT, _MARGIN = 7.4, 24, 8
_MAX_STEP_WIDTH, _MIN_STEP_WIDTH, _MAX_WIDTH = 30, 12, 900
"""Pixels of a step, and of all steps if they fit."""

_STYLE = (
    ".timeline{--ink:#1b2430;--paper:#fff;--admitted:#1f6fbf;--waits:#b9c6d2;--held:#a9cdf0;--out:#c2332b}"
    "@media(prefers-color-scheme:dark){"
    ".timeline{--ink:#e6ebf2;--paper:#18202b;--admitted:#5aa5ee;--waits:#3d4c5e;--held:#274b70;--out:#ef6b62}}"
    ".timeline text{font:12px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:var(--ink)}"
    ".timeline rect{fill:var(--paper)}"
    ".timeline .admitted{fill:var(--admitted)}.timeline .waits{fill:var(--waits)}"
    ".timeline .held{fill:var(--held)}.timeline .out{fill:var(--out)}"
)


class StateSpan(Struct, frozen=True):
    """A state of a job from step `begin` up to, and without, step `end`."""

    state: LaneState
    start: int
    end: int


class JobLane(Struct, frozen=True):
    """A job, its queue, and its states in order; between and after them it was not in the queue."""

    job: str
    queue: str
    spans: tuple[StateSpan, ...]


class Timeline(Struct, frozen=True):
    """A run of jobs: a lane for each, from step `first` up to, and without, `end`; `table` has all events."""

    lanes: tuple[JobLane, ...]
    first: int
    end: int
    table: Section
    notes: tuple[str, ...]

    @property
    def step_width(self) -> float:
        """Width of a step, in pixels."""
        return max(_MIN_STEP_WIDTH, min(_MAX_STEP_WIDTH, _MAX_WIDTH / max(1, self.end - self.first)))

    @property
    def is_drawable(self) -> bool:
        """Return whether it is small enough for a picture."""
        return 0 < len(self.lanes) <= MAX_LANES and self.end - self.first <= MAX_STEPS


def timeline_svg(timeline: Timeline) -> str:
    """Return the picture, in light or dark colors; its description has the same content as text."""
    left = _MARGIN + _LETTER_WIDTH * max(len(lane.job) for lane in timeline.lanes) + _MARGIN
    width = left + timeline.step_width * (timeline.end - timeline.first) + _MARGIN
    height = _LANE_HEIGHT * (len(timeline.lanes) + 1) + 2 * _MARGIN
    description = "; ".join(_lane_description(lane) for lane in timeline.lanes)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="timeline" role="img" aria-labelledby="timeline-title" '
        f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">',
        '<title id="timeline-title">Jobs by step</title>',
        f"<desc>{escape(description)}</desc>",
        f"<style>{_STYLE}</style>",
        *_steps(timeline, left),
        *(_lane(timeline, lane, number, left) for number, lane in enumerate(timeline.lanes)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _lane_description(lane: JobLane) -> str:
    phrases = [f"{STATE_LABELS[state_span.state]} from step {state_span.start}" for state_span in lane.spans]
    return f"{lane.job} in {lane.queue}: {', '.join(phrases)}"


def _steps(timeline: Timeline, left: float) -> Iterator[str]:
    every = 1 if timeline.step_width > 24 else 5
    for step in range(timeline.first, timeline.end, every):
        x = left + timeline.step_width * (step - timeline.first)
        yield (
            f'<g><rect x="{x:.1f}" y="{_MARGIN}" width="{timeline.step_width * every:.1f}" height="{_LANE_HEIGHT}"/>'
            f'<text x="{x + 2:.1f}" y="{_MARGIN + 16}">{step}</text></g>'
        )


def _lane(timeline: Timeline, lane: JobLane, number: int, left: float) -> str:
    y = _MARGIN + _LANE_HEIGHT * (number + 1)
    bars = "".join(
        _bar(timeline, state_span, left, y) for state_span in lane.spans if state_span.end > state_span.start
    )
    return (
        f'<g><rect x="{_MARGIN}" y="{y}" width="{left - 2 * _MARGIN:.1f}" height="{_LANE_HEIGHT}"/>'
        f'<text x="{_MARGIN}" y="{y + 16}">{escape(lane.job)}</text>{bars}</g>'
    )


def _bar(timeline: Timeline, state_span: StateSpan, left: float, y: float) -> str:
    x = left + timeline.step_width * (state_span.start - timeline.first)
    width = timeline.step_width * (state_span.end - state_span.start) - 2
    return (
        f'<rect class="{state_span.state}" x="{x:.1f}" y="{y + 4}" '
        f'width="{width:.1f}" height="{_LANE_HEIGHT - 8}" rx="3"/>'
    )
