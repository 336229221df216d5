"""Comparison of two values, leaf by leaf, with the path of each difference."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from msgspec import Struct


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
    if isinstance(before, Struct) and type(before) is type(after):
        for field in before.__struct_fields__:
            yield from compare_fields(getattr(before, field), getattr(after, field), _join_path(path, field))
    elif isinstance(before, Mapping) and isinstance(after, Mapping):
        yield from _compare_mappings(cast("Mapping[str, object]", before), cast("Mapping[str, object]", after), path)
    elif isinstance(before, str) and isinstance(after, str) and (parsed := _parse_json_pair(before, after)):
        yield from compare_fields(*parsed, path)
    elif _are_comparable_lists(cast("object", before), cast("object", after)):
        yield from _compare_lists(cast("Sequence[object]", before or ()), cast("Sequence[object]", after or ()), path)
    else:
        yield FieldChange(path, cast("object", before), after)


def _are_comparable_lists(before: object, after: object) -> bool:
    """Return whether both are lists, or one is a list of named entries and the other None."""
    before_is_list, after_is_list = isinstance(before, (list, tuple)), isinstance(after, (list, tuple))
    if before_is_list and after_is_list:
        return True
    entries = before if after is None and before_is_list else after if before is None and after_is_list else ()
    return bool(entries) and _entries_by_name(cast("Sequence[object]", entries)) is not None


def _parse_json_pair(before: str, after: str) -> tuple[object, object] | None:
    """Parse two JSON objects, such as the configuration in a chart's values; None if either is not one."""
    try:
        return (json.loads(before), json.loads(after)) if before[:1] == after[:1] == "{" else None
    except ValueError:
        return None


def _compare_mappings(before: Mapping[str, object], after: Mapping[str, object], path: str) -> Iterator[FieldChange]:
    for key in [*before, *(key for key in after if key not in before)]:
        yield from compare_fields(before.get(key), after.get(key), _join_path(path, key))


def _compare_lists(before: Sequence[object], after: Sequence[object], path: str) -> Iterator[FieldChange]:
    old, new = _entries_by_name(before), _entries_by_name(after)
    if old is not None and new is not None:
        for name in [*old, *(name for name in new if name not in old)]:
            yield from compare_fields(old.get(name), new.get(name), f"{path}[{name}]")
        if [name for name in old if name in new] != [name for name in new if name in old]:
            yield FieldChange(path, list(old), list(new))
    elif len(before) == len(after) and all(map(_is_nested, [*before, *after])):
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


def _is_nested(value: object) -> bool:
    return isinstance(value, (Mapping, Struct))


def _join_path(path: str, key: str) -> str:
    step = key if "." not in key and "/" not in key else f"[{key}]"
    return f"{path}.{step}" if path and not step.startswith("[") else path + step
