"""The quota tree as a picture: a Mermaid flowchart, and a self-contained SVG, a column a level, a band a subtree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from msgspec import Struct

from berth.report.tree import COHORT, TreeBox

_ENTITIES = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;"}
"""Escapes for labels: Mermaid writes entities with a # and allows no quotes or tags."""


def tree_mermaid(boxes: Sequence[TreeBox]) -> str:
    """Return the flowchart, from left to right; cohorts are rounded boxes, queues are rectangles."""
    lines = ["flowchart LR"]
    for number, box in enumerate(boxes):
        label = "<br/>".join("".join(_ENTITIES.get(c, c) for c in line) for line in box.lines)
        lines.append(f'  n{number}("{label}")' if box.kind == COHORT else f'  n{number}["{label}"]')
    lines += (f"  n{box.parent} --- n{number}" for number, box in enumerate(boxes) if box.parent is not None)
    return "\n".join(lines) + "\n"


_LETTER_WIDTH, _LINE_HEIGHT = 7.4, 18
"""Width of a letter and height of a line of 12-pixel monospaced text, with a small margin."""
_PADDING, _GAP, _COLUMN, _MARGIN = 10, 10, 44, 8

_STYLE = (
    ".quota-tree{--ink:#1b2430;--line:#9aa5b4;--cohort:#dcebfb;--queue:#fff;--edge:#2b6cb0;background:transparent}"
    "@media(prefers-color-scheme:dark){"
    ".quota-tree{--ink:#e6ebf2;--line:#66738a;--cohort:#173a5e;--queue:#18202b;--edge:#6aaef0}}"
    ".quota-tree text{font:12px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:var(--ink)}"
    ".quota-tree .name{font-weight:bold}"
    ".quota-tree rect{fill:var(--queue);stroke:var(--line)}"
    ".quota-tree .cohort rect{fill:var(--cohort);stroke:var(--edge)}"
    ".quota-tree path{fill:none;stroke:var(--line);stroke-width:1.5}"
)


class PlacedBox(Struct, frozen=True):
    """A box with its upper left corner and its size, in pixels."""

    box: TreeBox
    x: float
    y: float
    width: float
    height: float


def place_boxes(boxes: Sequence[TreeBox]) -> tuple[PlacedBox, ...]:
    """Return the position of each box: none overlaps another, and each is centered on its children.

    A box and everything below it have their own band, as high as the higher of the two.
    """
    heights = [2.0 * _PADDING + _LINE_HEIGHT * len(box.lines) for box in boxes]
    descendants = [0.0] * len(boxes)
    bands = [0.0] * len(boxes)
    for i in reversed(range(len(boxes))):
        bands[i] = max(heights[i], descendants[i])
        if (parent := boxes[i].parent) is not None:
            descendants[parent] += bands[i] + (_GAP if descendants[parent] else 0)
    columns = _columns(boxes)
    placed: list[PlacedBox] = []
    next_top: list[float] = []
    top = float(_MARGIN)
    for i, box in enumerate(boxes):
        band = top if box.parent is None else next_top[box.parent]
        if box.parent is None:
            top += bands[i] + _GAP
        else:
            next_top[box.parent] += bands[i] + _GAP
        next_top.append(band + (bands[i] - descendants[i]) / 2)
        x, width = columns[box.depth]
        placed.append(PlacedBox(box, x, band + (bands[i] - heights[i]) / 2, width, heights[i]))
    return tuple(placed)


def _columns(boxes: Sequence[TreeBox]) -> list[tuple[float, float]]:
    """Return the left edge and the width of each level."""
    widths: dict[int, float] = {}
    for box in boxes:
        widths[box.depth] = max(widths.get(box.depth, 0), 2 * _PADDING + _LETTER_WIDTH * max(map(len, box.lines)))
    columns: list[tuple[float, float]] = []
    left = float(_MARGIN)
    for depth in range(len(widths)):
        columns.append((left, widths[depth]))
        left += widths[depth] + _COLUMN
    return columns


def tree_svg(boxes: Sequence[TreeBox], title: str) -> str:
    """Return the picture, in light or dark colors; its description has the same facts for screen readers."""
    placed = place_boxes(boxes)
    width = max((p.x + p.width for p in placed), default=0) + _MARGIN
    height = max((p.y + p.height for p in placed), default=0) + _MARGIN
    description = "; ".join(", ".join(box.lines) for box in boxes)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="quota-tree" role="img" aria-labelledby="quota-tree-title" '
        f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'style="max-width:100%;height:auto;--natural-width:{width:.0f}px">',
        f'<title id="quota-tree-title">{escape(title)}</title>',
        f"<desc>{escape(description)}</desc>",
        f"<style>{_STYLE}</style>",
        *_edge_paths(placed),
        *(_box_group(each) for each in placed),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _edge_paths(placed: Sequence[PlacedBox]) -> Iterator[str]:
    for child in placed:
        if child.box.parent is not None:
            parent = placed[child.box.parent]
            x, y = parent.x + parent.width, parent.y + parent.height / 2
            end, half = child.y + child.height / 2, (x + child.x) / 2
            yield f'<path d="M{x:.1f} {y:.1f}C{half:.1f} {y:.1f} {half:.1f} {end:.1f} {child.x:.1f} {end:.1f}"/>'


def _box_group(placed: PlacedBox) -> str:
    round_ = 8 if placed.box.kind == COHORT else 2
    rect = (
        f'<rect x="{placed.x:.1f}" y="{placed.y:.1f}" width="{placed.width:.1f}" '
        f'height="{placed.height:.1f}" rx="{round_}"/>'
    )
    lines = ""
    for number, text in enumerate(placed.box.lines):
        name = "" if number else ' class="name"'
        x, y = placed.x + _PADDING, placed.y + _PADDING + _LINE_HEIGHT * number + 13
        lines += f'<text x="{x:.1f}" y="{y:.1f}"{name}>{escape(text)}</text>'
    return f'<g class="{placed.box.kind}">{rect}{lines}</g>'
