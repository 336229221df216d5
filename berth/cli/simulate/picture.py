"""A simulated period as a self-contained SVG picture: use of each flavor, waiting jobs of each team, over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from math import ceil

from msgspec import Struct

from berth.cli.simulate.output import format_time
from berth.simulator.timed.summary import TraceSummary, WaitSummary

_LETTER_WIDTH, _ROW, _PLOT_HEIGHT, _MARGIN, _WIDTH, _HEADING = 7.4, 58, 40, 8, 640, 26
"""Pixels: a letter, a row, the plot in it, the margin, the width of the plot, and a heading."""
_DAY = 86_400

_STYLE = (
    ".simulation{--ink:#1b2430;--paper:#fff;--used:#1f6fbf;--waiting:#c2332b;--line:#66738a}"
    "@media(prefers-color-scheme:dark){"
    ".simulation{--ink:#e6ebf2;--paper:#18202b;--used:#5aa5ee;--waiting:#ef6b62;--line:#9aa5b4}}"
    ".simulation text{font:12px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:var(--ink)}"
    ".simulation .heading{font-weight:bold}"
    ".simulation rect{fill:var(--paper)}"
    ".simulation .use path{fill:var(--used);fill-opacity:.55}"
    ".simulation .waiting path{fill:var(--waiting);fill-opacity:.65}"
    ".simulation .quota{stroke:var(--line);stroke-dasharray:4 3;stroke-width:1.5}"
    ".simulation .day{stroke:var(--line);stroke-opacity:.35}"
)


class _Row(Struct, frozen=True):
    """A plot: its two labels, averages of equal parts of the period, the end of its scale, and a dashed line."""

    labels: tuple[str, str]
    series: Sequence[float]
    scale: float
    line: float | None = None


def simulation_svg(summary: TraceSummary) -> str:
    """Return the picture, in light or dark colors; its description has the figures for screen readers."""
    # Teams have one scale, so that they can be compared.
    scale = float(ceil(max([1.0, *(value for each in summary.teams for value in each.series)])))
    waits = {each.name: each for each in summary.waits if each.kind == "team"}
    teams = [_Row((each.team, _waits(waits.get(each.team))), each.series, scale) for each in summary.teams]
    highest = max((row.scale for row in teams), default=0)
    sections = (
        ("use", "Use (dashed: quota; vertical lines: days)", _flavor_rows(summary)),
        ("waiting", f"Waiting jobs (each plot up to {highest:g})", teams),
    )
    rows = [row for _, _, found in sections for row in found]
    left = _MARGIN + _LETTER_WIDTH * max((len(label) for row in rows for label in row.labels), default=0) + _MARGIN
    width, height = left + _WIDTH + _MARGIN, 2 * _MARGIN + 2 * _HEADING + _ROW * len(rows)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="simulation" role="img" aria-labelledby="simulation-title" '
        f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">',
        f'<title id="simulation-title">{escape(summary.stack)}: {summary.jobs} jobs in '
        f"{format_time(summary.seconds)}</title>",
        f"<desc>{escape('; '.join(': '.join(row.labels) for row in rows))}</desc>",
        f"<style>{_STYLE}</style>",
    ]
    top = float(_MARGIN)
    for kind, heading, found in sections:
        parts.append(f'<text class="heading" x="{_MARGIN}" y="{top + 14:.0f}">{heading}</text>')
        top += _HEADING
        for row in found:
            parts.append(_group(kind, row, left, top, summary.seconds))
            top += _ROW
    return "\n".join([*parts, "</svg>"]) + "\n"


def _flavor_rows(summary: TraceSummary) -> list[_Row]:
    return [
        _Row(
            (each.flavor, f"{each.used:.1f} of {each.quota} {each.noun}"),
            each.series,
            max([each.quota, 1, *each.series]),
            each.quota,
        )
        for each in summary.flavors
    ]


def _waits(wait: WaitSummary | None) -> str:
    if wait is None or wait.p50 is None or wait.p95 is None:
        return "no job starts" if wait else "no jobs"
    return f"waits {format_time(wait.p50)}, one in 20 {format_time(wait.p95)}"


def _group(kind: str, row: _Row, left: float, top: float, seconds: int) -> str:
    texts = "".join(
        f'<text x="{_MARGIN}" y="{top + 14 + 16 * index:.0f}">{escape(label)}</text>'
        for index, label in enumerate(row.labels)
    )
    bottom, step = top + _PLOT_HEIGHT, _WIDTH / max(1, len(row.series))
    shapes = "".join(
        f"M{left + index * step:.1f} {bottom:.1f}v-{value / row.scale * _PLOT_HEIGHT:.1f}h{step:.1f}V{bottom:.1f}z"
        for index, value in enumerate(row.series)
        if value
    )
    area = f'<path d="{shapes}"/>' if shapes else ""
    line = ""
    if row.line is not None:
        y = bottom - row.line / row.scale * _PLOT_HEIGHT
        line = f'<line class="quota" x1="{left:.1f}" y1="{y:.1f}" x2="{left + _WIDTH:.1f}" y2="{y:.1f}"/>'
    return (
        f'<g class="{kind}">{texts}<rect x="{left:.1f}" y="{top:.1f}" width="{_WIDTH}" height="{_PLOT_HEIGHT}"/>'
        f"{area}{line}{''.join(_days(left, top, seconds))}</g>"
    )


def _days(left: float, top: float, seconds: int) -> Iterator[str]:
    """Yield a line at the end of each day of the period."""
    for day in range(1, min(400, seconds // _DAY + 1)):
        x = left + _WIDTH * day * _DAY / seconds
        yield f'<line class="day" x1="{x:.1f}" y1="{top:.1f}" x2="{x:.1f}" y2="{top + _PLOT_HEIGHT:.1f}"/>'
