"""The quota tree as a Mermaid flowchart, which GitHub and many editors render."""

from __future__ import annotations

from collections.abc import Sequence

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
