"""Compares an object with `fields.yaml`: unknown fields, missing ones, and values that the API server does not take."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from berth.diagnostics import FieldPath, did_you_mean, join_quoted, join_words
from berth.jobs.values import describe_value
from berth.lint.validity.values import FORMS
from berth.manifests.workloads.values import as_list, as_mapping
from berth.yaml_loader import load_table

_FIELD = re.compile(r"(?P<name>\w+)(?P<required>!?) (?P<kind>[^#]+)(?:#(?P<keys>.+))?")
_MOST_ANNOTATIONS = 256 * 1024
_RELEASE = "Kubernetes 1.36"

Refusal = tuple[FieldPath, str, str]
"""A path inside the object, the code of the fault, and its message."""


class _Field(Struct, frozen=True):
    kind: str
    required: bool
    unique: tuple[str, ...]


@cache
def _table() -> Mapping[str, Any]:
    return load_table(Path(__file__).with_name("fields.yaml"))


@cache
def _types() -> Mapping[str, Mapping[str, _Field]]:
    found: dict[str, dict[str, _Field]] = {}
    for name, text in _table()["types"].items():
        fields = found[name] = dict[str, _Field]()
        for each in text.split(", "):
            match = _FIELD.fullmatch(each)
            assert match is not None, each
            unique = tuple(match["keys"].split("+")) if match["keys"] else ()
            fields[match["name"]] = _Field(match["kind"], bool(match["required"]), unique)
    return found


def describes(kind: str) -> bool:
    """Return whether the table has the fields of a kind of objects."""
    return kind in _types()


def api_refusal(path: FieldPath, message: str) -> Refusal:
    """Return what a webhook of the API server does not take, which no type of a field says."""
    return path, "refused", f"the API server refuses {message}"


def find_refusals(value: object, kind: str, path: FieldPath = ()) -> Iterator[Refusal]:
    """Yield what the API server does not take of a value of a type; null counts as not written."""
    if value is None or kind == "any":
        return
    if kind[0] in "[{":
        yield from _of_collection(value, kind, path)
    elif kind in _types():
        yield from _of_type(value, kind, path)
    elif "|" in kind:
        known = kind.split("|")
        if value not in known:
            remedy = did_you_mean(value, known) if isinstance(value, str) else ""
            named = ", ".join(filter(None, known))
            message = f"{describe_value(value)} is not one of {named}{remedy or '; write one'}"
            yield path, "bad-value", message
    elif (message := FORMS[kind](value)) is not None:
        yield path, "bad-value", message


def _of_collection(value: object, kind: str, path: FieldPath) -> Iterator[Refusal]:
    items, entries = as_list(value), as_mapping(value)
    if not isinstance(value, list if kind[0] == "[" else dict):
        shape = "list" if kind[0] == "[" else "mapping"
        yield path, "bad-value", f"{describe_value(value)} is not a {shape}; write one"
    key_form, _, inner = kind[1:-1].rpartition(":")
    for index, item in enumerate(items):
        yield from find_refusals(item, inner, (*path, index))
    for key, item in entries.items():
        if key_form and (message := FORMS[key_form](key)) is not None:
            yield (*path, str(key)), "bad-value", message
        yield from find_refusals(item, inner, (*path, str(key)))


def _of_type(value: object, kind: str, path: FieldPath) -> Iterator[Refusal]:
    fields, known = as_mapping(value), _types()[kind]
    if not isinstance(value, dict):
        yield path, "bad-value", f"{describe_value(value)} is not a mapping; write one"
        return
    for key, inside in fields.items():
        field = known.get(str(key))
        if field is None:
            remedy = did_you_mean(str(key), known) or "; remove it"
            yield (*path, str(key)), "unknown-key", f"{_RELEASE} has no field '{key}' here{remedy}"
            continue
        yield from find_refusals(inside, field.kind, (*path, str(key)))
        if field.unique:
            yield from _repeated(inside, field.unique, (*path, str(key)))
    missing = [key for key, each in known.items() if each.required and fields.get(key) is None]
    if missing:
        message = f"{join_quoted(missing)} {'is missing; write it' if len(missing) == 1 else 'are missing; write them'}"
        yield path, "missing-key", message
    yield from _chosen(fields, kind, path)
    for key, other in _table()["needs"].get(kind, {}).items():
        if fields.get(key) is not None and fields.get(other) is None:
            yield (*path, key), "refused", f"the API server refuses {key} without {other}; write {other} too"
    yield from _sizes(fields, kind, path)
    if kind.endswith("SelectorRequirement"):
        yield from _without_sense(fields, path)


def _sizes(fields: Mapping[str, object], kind: str, path: FieldPath) -> Iterator[Refusal]:
    for key, size in _table()["sizes"].get(kind, {}).items():
        yield from _of_size(fields.get(key), key, size, (*path, key))
    if kind == "ObjectMeta":
        size = sum(len(str(each).encode()) for item in as_mapping(fields.get("annotations")).items() for each in item)
        if size > _MOST_ANNOTATIONS:
            message = f"the API server refuses annotations of {size} bytes; write at most {_MOST_ANNOTATIONS}"
            yield (*path, "annotations"), "refused", message


def _of_size(value: object, key: str, size: list[int], path: FieldPath) -> Iterator[Refusal]:
    """Yield that a list has too few entries, or too many; `size` has the least and, if there is one, the most."""
    least, *most = size
    count = len(as_list(value))
    if isinstance(value, list) and count < least:
        yield path, "missing-key", f"'{key}' is empty; write one of them"
    elif most and count > most[0]:
        message = f"the API server refuses {count} {key}; write at most {most[0]}"
        yield path, "refused", message


def _without_sense(fields: Mapping[str, object], path: FieldPath) -> Iterator[Refusal]:
    """Yield values of an expression that its operator does not take."""
    operator, values = fields.get("operator"), as_list(fields.get("values"))
    if operator in ("In", "NotIn", "Gt", "Lt") and not values:
        yield path, "missing-key", f"'values' is missing; {operator} needs it"
    elif operator in ("Exists", "DoesNotExist") and values:
        message = f"{operator} has no values; remove values, or write the operator In"
        yield (*path, "values"), "bad-value", message
    form = FORMS["filled-name" if fields.get("key") == "metadata.name" else "label-value"]
    is_preferred = any(str(step).startswith("preferred") for step in path)  # those values are not checked
    for index, value in enumerate(values if operator in ("In", "NotIn") and not is_preferred else ()):
        if isinstance(value, str) and (wrong := form(value)) is not None:
            yield (*path, "values", index), "bad-value", wrong


def _repeated(value: object, keys: tuple[str, ...], path: FieldPath) -> Iterator[Refusal]:
    seen: set[tuple[str, ...]] = set()
    for index, item in enumerate(as_list(value)):
        fields = as_mapping(item)
        named = tuple(str(fields.get(key)) for key in keys)
        if named in seen and keys[0] in fields:
            what = join_words([f"{key} '{fields[key]}'" for key in keys if key in fields])
            message = f"the API server refuses two entries with the {what}; write another"
            yield (*path, index, keys[0]), "refused", message
        seen.add(named)


def _chosen(fields: Mapping[str, object], kind: str, path: FieldPath) -> Iterator[Refusal]:
    """Yield that a type, of which one field may be written, has several or none."""
    choice = _table()["choices"].get(kind)
    if choice is None:
        return
    besides = as_list(choice["besides"])
    alternatives = [key for key in _types()[kind] if key not in besides]
    written = [key for key in alternatives if fields.get(key) not in (None, [])]
    if len(written) > 1:
        yield (
            (*path, written[1]),
            "refused",
            f"the API server refuses {join_quoted(written)} together; write one of them",
        )
    elif not written and choice["exactly"] and not fields.keys() - _types()[kind].keys():
        yield path, "missing-key", f"nothing of {', '.join(alternatives)} is written; write one"
