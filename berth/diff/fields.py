"""Values of plans: compared leaf by leaf, with the path of each difference, and as one line of text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
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


class FieldChange(Struct, frozen=True):
    """One leaf that differs; `before` or `after` is None if it is not set.

    `path` joins fields by dots and has list entries in brackets, by name if they have one.
    """

    path: str
    before: object
    after: object


_NAMES = ("name", "rangeName", "exclusionName")
"""Keys of an entry's name, in Kubernetes and in Google Cloud."""


def compare_fields(before: object, after: object, path: str = "") -> Iterator[FieldChange]:
    """Yield every leaf that differs, in the order of the fields; recurses into plans, mappings, lists and JSON texts.

    Entries of a list are matched by name. Without names, lists of different lengths are one leaf. A changed order is a
    difference at the list's path.
    """
    if before == after:
        return
    # A plan is a struct, and the settings of nodes in it are a model of the stack file.
    names: Iterable[str] = getattr(before, "__struct_fields__", None) or getattr(type(before), "model_fields", ())
    if names and type(before) is type(after):
        for name in names:
            yield from compare_fields(getattr(before, name), getattr(after, name), _join_path(path, name))
    elif isinstance(before, Mapping) and isinstance(after, Mapping):
        old, new = cast("Mapping[str, object]", before), cast("Mapping[str, object]", after)
        for key in dict.fromkeys((*old, *new)):
            yield from compare_fields(old.get(key), new.get(key), _join_path(path, key))
    elif (parsed := _parse_json_objects(cast("object", before), after)) is not None:
        yield from compare_fields(*parsed, path)
    elif _are_comparable_lists(cast("object", before), after):
        yield from _compare_lists(cast("Sequence[object]", before or ()), cast("Sequence[object]", after or ()), path)
    else:
        yield FieldChange(path, cast("object", before), after)


def _are_comparable_lists(before: object, after: object) -> bool:
    """Return whether both are lists, or one is a list of named entries and the other None."""
    sides = [cast("Sequence[object]", each) for each in (before, after) if isinstance(each, (list, tuple))]
    if len(sides) == 2 or not sides:
        return bool(sides)
    return (before is None or after is None) and bool(sides[0]) and _entries_by_name(sides[0]) is not None


def _parse_json_objects(before: object, after: object) -> tuple[object, object] | None:
    """Parse two JSON objects, such as the configuration in a chart's values; None if either is not one."""
    if not (isinstance(before, str) and isinstance(after, str) and before[:1] == after[:1] == "{"):
        return None
    try:
        return json.loads(before), json.loads(after)
    except ValueError:
        return None


def _compare_lists(before: Sequence[object], after: Sequence[object], path: str) -> Iterator[FieldChange]:
    old, new = _entries_by_name(before), _entries_by_name(after)
    if old is not None and new is not None:
        for name in dict.fromkeys((*old, *new)):
            yield from compare_fields(old.get(name), new.get(name), f"{path}[{name}]")
        if [name for name in old if name in new] != [name for name in new if name in old]:
            yield FieldChange(path, list(old), list(new))
    elif len(before) == len(after) and all(isinstance(each, (Mapping, Struct)) for each in (*before, *after)):
        for index, (old_entry, new_entry) in enumerate(zip(before, after, strict=True)):
            yield from compare_fields(old_entry, new_entry, f"{path}[{index}]")
    else:
        yield FieldChange(path, list(before), list(after))


def _entries_by_name(entries: Sequence[object]) -> dict[str, object] | None:
    """Return the entries by name, or None if names are missing or repeated."""
    by_name: dict[str, object] = {}
    for entry in entries:
        keyed = cast("Mapping[str, object]", entry if isinstance(entry, Mapping) else {})
        name = next((keyed[key] for key in _NAMES if key in keyed), None)
        if not isinstance(name, str) or name in by_name:
            return None
        by_name[name] = entry
    return by_name


def _join_path(path: str, key: str) -> str:
    step = key if "." not in key and "/" not in key else f"[{key}]"
    return f"{path}.{step}" if path and not step.startswith("[") else path + step
