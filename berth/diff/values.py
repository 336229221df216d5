"""Counts, ranges and values of plans as one line of text, before and after a change."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import cast

from msgspec import Struct
from msgspec.structs import asdict

from berth.diff.entitlements import CountChange
from berth.plan.nodes import Bounds
from berth.text import format_range

_LONG_TEXT = 120
"""Characters up to which a text is shown whole."""
_CONTEXT_CHARS = 32
"""Characters that long texts have in common and that are shown beside the difference."""


def format_count(counts: CountChange) -> str:
    """`16 → 8`, or the one number."""
    return f"{counts.before} → {counts.after}" if counts.delta else str(counts.after)


def format_bounds(bounds: tuple[Bounds, Bounds]) -> str:
    """A range before and after."""
    return (
        format_range(bounds[1]) if bounds[0] == bounds[1] else f"{format_range(bounds[0])} → {format_range(bounds[1])}"
    )


def format_change(before: object, after: object) -> str:
    """`4 → 8`; of long texts only what they have in common at both ends is left out, and never what differs."""
    if not isinstance(before, str) or not isinstance(after, str):
        return f"{format_value(before)} → {format_value(after)}"
    start, end = _common_lengths(before, after)
    return " → ".join(
        f"{'…' if start else ''}{format_value(text[start : len(text) - end])}{'…' if end else ''}"
        for text in (before, after)
    )


def _common_lengths(before: str, after: str) -> tuple[int, int]:
    """Characters that two texts have in common at their beginnings and ends, but for some beside the difference."""
    start = _common_prefix(before, after)
    end = min(_common_prefix(before[::-1], after[::-1]), min(len(before), len(after)) - start)
    cut = (max(0, length - _CONTEXT_CHARS) for length in (start, end))
    return (0, 0) if max(len(before), len(after)) <= _LONG_TEXT else (next(cut), next(cut))


def format_value(what: object) -> str:
    """Return a value on one line; `–` for none."""
    if what is None or what in ((), [], {}, ""):
        return "–"
    if isinstance(what, Bounds):
        return format_range(what)
    if isinstance(what, bool):
        return str(what).lower()
    if isinstance(what, Struct):
        return format_value(
            {camel_case(name): inner for name, inner in asdict(what).items() if inner not in (None, (), {})}
        )
    if isinstance(what, Mapping):
        entries = cast("Mapping[str, object]", what).items()
        return "{" + ", ".join(f"{key}: {format_value(inner)}" for key, inner in entries) + "}"
    if isinstance(what, (list, tuple)):
        return "[" + ", ".join(map(format_value, cast("Sequence[object]", what))) + "]"
    return " ".join(str(what).split())


def _common_prefix(one: str, other: str) -> int:
    """How many characters two texts begin with together."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def camel_case(path: str) -> str:
    """`machine_type` as the stack file spells it."""
    return re.sub(r"_([a-z0-9])", lambda match: match.group(1).upper(), path)
