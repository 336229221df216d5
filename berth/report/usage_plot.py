"""What teams used of their guarantees over a period, as a picture: a row for each team and flavor."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from msgspec import Struct

from berth.document import Block

MAX_ROWS = 60
"""Maximum of rows in a picture; the table has all of them."""

_LETTER_WIDTH, _ROW, _PLOT_HEIGHT, _MARGIN, _WIDTH = 7.4, 58, 40, 8, 640
"""Pixels: a letter, a row, the plot in it, the margin, and the width of the plot."""

_STYLE = (
    ".usage-plot{--ink:#1b2430;--paper:#fff;--used:#1f6fbf;--over:#c2332b;--line:#66738a}"
    "@media(prefers-color-scheme:dark){"
    ".usage-plot{--ink:#e6ebf2;--paper:#18202b;--used:#5aa5ee;--over:#ef6b62;--line:#9aa5b4}}"
    ".usage-plot text{font:12px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:var(--ink)}"
    ".usage-plot rect{fill:var(--paper)}"
    ".usage-plot .used{fill:var(--used);fill-opacity:.55}"
    ".usage-plot .borrowed{fill:var(--over);fill-opacity:.75}"
    ".usage-plot .guaranteed{stroke:var(--line);stroke-dasharray:4 3;stroke-width:1.5}"
)


class UsageRow(Struct, frozen=True):
    """A team and a flavor: what it is guaranteed, and pairs of Unix time and use, in accelerators (`noun`)."""

    team: str
    flavor: str
    noun: str
    guaranteed: float
    points: tuple[tuple[int, float], ...]

    @property
    def highest(self) -> float:
        """The upper end of the scale; at least 1."""
        return max([self.guaranteed, 1.0, *(value for _, value in self.points)])


class UsageView(Struct, frozen=True):
    """The use of a period: `period` as text, its first and last Unix time and step, and the figures."""

    period: str
    start: int
    end: int
    step: int
    rows: tuple[UsageRow, ...]
    document: tuple[Block, ...]

    @property
    def is_drawable(self) -> bool:
        """Return whether it is small enough for a picture, and has a period."""
        return 0 < len(self.rows) <= MAX_ROWS and self.end > self.start


def usage_svg(view: UsageView) -> str:
    """Return the picture, in light or dark colors; its description has the highest use of each row."""
    left = _MARGIN + _LETTER_WIDTH * max(len(label) for row in view.rows for label in _labels(row)) + _MARGIN
    width, height = left + _WIDTH + _MARGIN, _ROW * len(view.rows) + 2 * _MARGIN
    description = "; ".join(
        f"{row.team} used up to {max((value for _, value in row.points), default=0.0):g} {row.noun} of {row.flavor}, "
        f"{row.guaranteed:g} are guaranteed"
        for row in view.rows
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="usage-plot" role="img" aria-labelledby="usage-plot-title" '
        f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">',
        f'<title id="usage-plot-title">Use over {escape(view.period)}</title>',
        f"<desc>{escape(description)}</desc>",
        f"<style>{_STYLE}</style>",
        *(_row_group(view, row, number, left) for number, row in enumerate(view.rows)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _labels(row: UsageRow) -> tuple[str, str]:
    return f"{row.team}: {row.flavor}", f"{row.guaranteed:g} guaranteed, scale {row.highest:g}"


def _row_group(view: UsageView, row: UsageRow, number: int, left: float) -> str:
    top = _MARGIN + _ROW * number
    scale = _PLOT_HEIGHT / row.highest
    bars = "".join(_bars(view, row, left, top + _PLOT_HEIGHT, scale))
    line = top + _PLOT_HEIGHT - row.guaranteed * scale
    texts = "".join(
        f'<text x="{_MARGIN}" y="{top + 14 + 16 * index}">{escape(label)}</text>'
        for index, label in enumerate(_labels(row))
    )
    return (
        f'<g>{texts}<rect x="{left:.1f}" y="{top}" width="{_WIDTH}" height="{_PLOT_HEIGHT}"/>{bars}'
        f'<path class="guaranteed" d="M{left:.1f} {line:.1f}H{left + _WIDTH:.1f}"/></g>'
    )


def _bars(view: UsageView, row: UsageRow, left: float, bottom: float, scale: float) -> Iterator[str]:
    """Yield a path of what is used within the guarantee, and one of what is borrowed above it; a gap has no bar."""
    for kind, floor in (("used", 0.0), ("borrowed", row.guaranteed)):
        ceiling = row.guaranteed if kind == "used" else row.highest
        steps = [
            (x, width, floor * scale, (min(value, ceiling) - floor) * scale)
            for x, width, value in _spans(view, row, left)
            if value > floor
        ]
        if steps:
            shapes = "".join(
                f"M{x:.1f} {bottom - low - high:.1f}h{w:.1f}v{high:.1f}h-{w:.1f}z" for x, w, low, high in steps
            )
            yield f'<path class="{kind}" d="{shapes}"/>'


def _spans(view: UsageView, row: UsageRow, left: float) -> Iterator[tuple[float, float, float]]:
    """Yield position, width and value of each run of equal samples. A sample counts for one step, within the period."""
    per_second = _WIDTH / (view.end - view.start + view.step)
    begin, end, current = 0, 0, 0.0
    for time, value in (*row.points, (-1, -1.0)):
        if end and (time != end or value != current):
            yield left + (begin - view.start) * per_second, (end - begin) * per_second, current
            end = 0
        begin, current = (begin, current) if end else (time, value)
        end = time + view.step
