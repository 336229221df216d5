"""How long the jobs of each team wait in a simulated period, as a self-contained SVG picture."""

from __future__ import annotations

from html import escape

from berth.cli.simulate.output import format_time
from berth.simulator.timed.summary import TraceSummary

_LETTER_WIDTH, _ROW, _BAR, _MARGIN, _WIDTH = 7.4, 26, 14, 8, 420
"""Pixels: a letter, a row, the height of a bar, the margin, the width of the longest bar."""

_STYLE = (
    ".waits{--ink:#1b2430;--median:#c2332b;--late:#c2332b}"
    "@media(prefers-color-scheme:dark){.waits{--ink:#e6ebf2;--median:#ef6b62;--late:#ef6b62}}"
    ".waits text{font:12px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:var(--ink)}"
    ".waits .median{fill:var(--median);fill-opacity:.8}"
    ".waits .late{fill:var(--late);fill-opacity:.3}"
)


def waits_svg(summary: TraceSummary) -> str:
    """Return a bar for each team, the team that waits longest first: median dark, one job in 20 waits longer than both.

    The scale is that of the longest bar, and the text beside each has the figures.
    """
    waits = [each for each in summary.waits if each.kind == "team"]
    waits.sort(key=lambda each: (-(each.p95 or 0), -(each.p50 or 0), each.name))
    scale = max([1, *(each.p95 or 0 for each in waits)])
    left = 2 * _MARGIN + _LETTER_WIDTH * max((len(each.name) for each in waits), default=0)
    texts = [_figures(each.p50, each.p95, each.never) for each in waits]
    width = left + _WIDTH + 2 * _MARGIN + _LETTER_WIDTH * max(map(len, texts), default=0)
    height = 2 * _MARGIN + _ROW * len(waits)
    rows: list[str] = []
    for index, (wait, text) in enumerate(zip(waits, texts, strict=True)):
        top = _MARGIN + _ROW * index
        bars = "".join(
            f'<rect class="{kind}" x="{left:.1f}" y="{top}" width="{value / scale * _WIDTH:.1f}" height="{_BAR}"/>'
            for kind, value in (("late", wait.p95), ("median", wait.p50))
            if value
        )
        end = left + (wait.p95 or 0) / scale * _WIDTH + _MARGIN
        rows.append(
            f'<g><text x="{_MARGIN}" y="{top + 12}">{escape(wait.name)}</text>{bars}'
            f'<text x="{end:.1f}" y="{top + 12}">{escape(text)}</text></g>'
        )
    description = "; ".join(f"{wait.name}: {text}" for wait, text in zip(waits, texts, strict=True))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="waits" role="img" aria-labelledby="waits-title" '
            f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">',
            '<title id="waits-title">How long jobs of each team wait</title>',
            f"<desc>{escape(description)}</desc>",
            f"<style>{_STYLE}</style>",
            *rows,
            "</svg>\n",
        ]
    )


def _figures(median: int | None, late: int | None, never: int) -> str:
    if median is None or late is None:
        return "no job starts" if never else "no jobs"
    more = f", {never} never" if never else ""
    return f"median {format_time(median)}, one in 20 over {format_time(late)}{more}"
