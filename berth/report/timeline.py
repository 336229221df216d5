"""Jobs by time: who is admitted, who waits, who was pushed out, as a picture; the table beside it says the same."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from msgspec import Struct

from berth.report.view import Part

ADMITTED, WAITS, HELD, PUSHED_OUT = "admitted", "waits", "held", "out"
MEANT = {
    ADMITTED: "admitted",
    HELD: "admitted, but for a check",
    WAITS: "waits",
    PUSHED_OUT: "lost its place, waits again",
}
"""What becomes of a job, as a class of the picture, and in words."""

MOST_LANES, MOST_STEPS = 60, 200
"""More is a picture that nobody reads; the table has all of it."""

_LETTER, _LANE, _MARGIN = 7.4, 24, 8
_WIDEST, _NARROWEST, _ROOM = 30, 12, 900
"""Pixels of a step, and of all of them, where they fit."""

_STYLE = (
    ".timeline{--ink:#1b2430;--paper:#fff;--admitted:#1f6fbf;--waits:#b9c6d2;--held:#a9cdf0;--out:#c2332b}"
    "@media(prefers-color-scheme:dark){"
    ".timeline{--ink:#e6ebf2;--paper:#18202b;--admitted:#5aa5ee;--waits:#3d4c5e;--held:#274b70;--out:#ef6b62}}"
    ".timeline text{font:12px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:var(--ink)}"
    ".timeline rect{fill:var(--paper)}"
    ".timeline .admitted{fill:var(--admitted)}.timeline .waits{fill:var(--waits)}"
    ".timeline .held{fill:var(--held)}.timeline .out{fill:var(--out)}"
)


class Spell(Struct, frozen=True):
    """What a job was from step `begin` up to, and without, step `end`: one of the words above."""

    state: str
    begin: int
    end: int


class Lane(Struct, frozen=True):
    """A job, its queue, and its spells in order; what is between and after them it was not there."""

    job: str
    queue: str
    spells: tuple[Spell, ...]


class Timeline(Struct, frozen=True):
    """A run of jobs: a lane for each, from step `first` up to, and without, `end`; `table` says all that happened."""

    lanes: tuple[Lane, ...]
    first: int
    end: int
    table: Part
    notes: tuple[str, ...]

    @property
    def width(self) -> float:
        """Of a step, in pixels."""
        return max(_NARROWEST, min(_WIDEST, _ROOM / max(1, self.end - self.first)))

    @property
    def drawn(self) -> bool:
        """Whether it is small enough for a picture."""
        return 0 < len(self.lanes) <= MOST_LANES and self.end - self.first <= MOST_STEPS


def timeline_svg(timeline: Timeline) -> str:
    """The picture, light or dark as its reader likes it; its description says the same in words."""
    left = _MARGIN + _LETTER * max(len(lane.job) for lane in timeline.lanes) + _MARGIN
    width = left + timeline.width * (timeline.end - timeline.first) + _MARGIN
    height = _LANE * (len(timeline.lanes) + 1) + 2 * _MARGIN
    described = "; ".join(_described(lane) for lane in timeline.lanes)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="timeline" role="img" aria-labelledby="timeline-title" '
        f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">',
        '<title id="timeline-title">Jobs by step</title>',
        f"<desc>{escape(described)}</desc>",
        f"<style>{_STYLE}</style>",
        *_steps(timeline, left),
        *(_lane(timeline, lane, number, left) for number, lane in enumerate(timeline.lanes)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _described(lane: Lane) -> str:
    said = [f"{MEANT[spell.state]} from step {spell.begin}" for spell in lane.spells]
    return f"{lane.job} in {lane.queue}: {', '.join(said)}"


def _steps(timeline: Timeline, left: float) -> Iterator[str]:
    every = 1 if timeline.width > 24 else 5
    for step in range(timeline.first, timeline.end, every):
        x = left + timeline.width * (step - timeline.first)
        yield (
            f'<g><rect x="{x:.1f}" y="{_MARGIN}" width="{timeline.width * every:.1f}" height="{_LANE}"/>'
            f'<text x="{x + 2:.1f}" y="{_MARGIN + 16}">{step}</text></g>'
        )


def _lane(timeline: Timeline, lane: Lane, number: int, left: float) -> str:
    y = _MARGIN + _LANE * (number + 1)
    bars = "".join(_bar(timeline, spell, left, y) for spell in lane.spells if spell.end > spell.begin)
    return (
        f'<g><rect x="{_MARGIN}" y="{y}" width="{left - 2 * _MARGIN:.1f}" height="{_LANE}"/>'
        f'<text x="{_MARGIN}" y="{y + 16}">{escape(lane.job)}</text>{bars}</g>'
    )


def _bar(timeline: Timeline, spell: Spell, left: float, y: float) -> str:
    x = left + timeline.width * (spell.begin - timeline.first)
    width = timeline.width * (spell.end - spell.begin) - 2
    return f'<rect class="{spell.state}" x="{x:.1f}" y="{y + 4}" width="{width:.1f}" height="{_LANE - 8}" rx="3"/>'
