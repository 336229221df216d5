"""Counts, ranges and values of plans as one line of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from msgspec import Struct
from msgspec.structs import asdict

from berth.names import to_camel
from berth.plan.node_settings import Bounds
from berth.text import format_range

_LONG_TEXT = 120
"""Maximum length of a text that is shown whole."""
_CONTEXT_CHARS = 32
"""Number of equal characters shown on each side of a difference in long texts."""


def format_bounds(bounds: tuple[Bounds, Bounds]) -> str:
    """Return `0–4 → 0–8`, or one range if it does not change."""
    return (
        format_range(bounds[1]) if bounds[0] == bounds[1] else f"{format_range(bounds[0])} → {format_range(bounds[1])}"
    )


def format_change(before: object, after: object) -> str:
    """Return `4 → 8`; equal ends of long texts are shortened, never the difference."""
    if not isinstance(before, str) or not isinstance(after, str):
        return f"{format_on_one_line(before)} → {format_on_one_line(after)}"
    start = end = 0
    if max(len(before), len(after)) > _LONG_TEXT:
        start = _common_prefix(before, after)
        end = min(_common_prefix(before[::-1], after[::-1]), min(len(before), len(after)) - start)
        start, end = max(0, start - _CONTEXT_CHARS), max(0, end - _CONTEXT_CHARS)
    return " → ".join(
        f"{'…' if start else ''}{format_on_one_line(text[start : len(text) - end])}{'…' if end else ''}"
        for text in (before, after)
    )


def format_on_one_line(what: object) -> str:
    """Return a value on one line; `–` for none."""
    if what is None or what in ((), [], {}, ""):
        return "–"
    if isinstance(what, Bounds):
        return format_range(what)
    if isinstance(what, bool):
        return str(what).lower()
    if isinstance(what, Struct):
        return format_on_one_line(
            {to_camel(name): inner for name, inner in asdict(what).items() if inner not in (None, (), {})}
        )
    if isinstance(what, Mapping):
        entries = cast("Mapping[str, object]", what).items()
        return "{" + ", ".join(f"{key}: {format_on_one_line(inner)}" for key, inner in entries) + "}"
    if isinstance(what, (list, tuple)):
        return "[" + ", ".join(map(format_on_one_line, cast("Sequence[object]", what))) + "]"
    return " ".join(str(what).split())


def _common_prefix(one: str, other: str) -> int:
    """Return the length of the common prefix of two texts."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
