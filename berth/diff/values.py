"""Counts, ranges and values of plans as one line of text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import cast

from msgspec import Struct
from msgspec.structs import asdict

from berth.plan.nodes import Bounds
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
        return f"{format_value(before)} → {format_value(after)}"
    start, end = _common_lengths(before, after)
    return " → ".join(
        f"{'…' if start else ''}{format_value(text[start : len(text) - end])}{'…' if end else ''}"
        for text in (before, after)
    )


def _common_lengths(before: str, after: str) -> tuple[int, int]:
    """Return the number of equal characters to omit at the beginning and the end of two texts."""
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
    """Return the length of the common prefix of two texts."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def camel_case(path: str) -> str:
    """Return `machine_type` in the stack file's spelling, `machineType`."""
    return re.sub(r"_([a-z0-9])", lambda match: match.group(1).upper(), path)


def format_queueing(queueing: tuple[bool, ...]) -> str:
    """Return what it means for jobs whether they wait for quota, `(before, after)`."""
    return "jobs wait in a queue for quota" if queueing[-1] else "jobs no longer wait for quota, and none limits them"
