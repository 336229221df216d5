"""Hold a resource of the Google provider to Google's published description of the API behind it.

The descriptions are `tests/vendored/google/api.json`, the names that differ `provider_names.yaml` beside it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

import yaml

_FOLDER = Path(__file__).parent / "vendored" / "google"
Schema = Mapping[str, Any]

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "int32": (int,),
    "uint32": (int,),
    "int64": (int, str),
    "uint64": (int, str),
    "number": (int, float),
    "double": (int, float),
}
"""Types of a description to types of Python. Google writes 64-bit numbers as text, the provider often as numbers."""


@cache
def _apis() -> Mapping[str, Any]:
    return json.loads((_FOLDER / "api.json").read_text(encoding="utf-8"))["apis"]


@cache
def provider_names() -> Mapping[str, Any]:
    """What is known of each type of resource: its schema and the names that differ."""
    return yaml.safe_load((_FOLDER / "provider_names.yaml").read_text(encoding="utf-8"))


def violations(kind: str, inputs: Mapping[str, Any]) -> list[str]:
    """What the description does not have, in inputs of one resource: `path: what is wrong`.

    KeyError for a type that the table does not have.
    """
    names = provider_names()[kind]
    if "schema" not in names:
        return []
    api, schema = names["schema"]
    value = json.loads(inputs[names["json"]]) if "json" in names else inputs
    return [*_Description(api, names).of_object(value, _apis()[api]["schemas"][schema], "")]


class _Description:
    """One API and how the provider's names become its own."""

    def __init__(self, api: str, names: Mapping[str, Any]) -> None:
        self.schemas: Mapping[str, Schema] = _apis()[api]["schemas"]
        self.fields: Mapping[str, str] = names.get("fields", {})
        self.none: Mapping[str, str] = names.get("none", {})
        self.root: Schema = self.schemas[names["schema"][1]]

    def of_object(self, value: Mapping[str, Any], schema: Schema, path: str) -> Iterator[str]:
        for key, inner in value.items():
            place = f"{path}.{key}" if path else key
            if place in self.none or inner is None:
                continue
            field = self._renamed(place) if self._is_renamed(place) else schema.get(key)
            if field is None:
                yield f"{place}: unknown field"
            else:
                yield from self._of_value(inner, field, place)

    def _is_renamed(self, place: str) -> bool:
        return any(place == name or place.startswith(f"{name}.") for name in self.fields)

    def _renamed(self, place: str) -> Schema | None:
        """The field at a renamed path: the longest renamed beginning, and the rest as it is."""
        name = max((n for n in self.fields if place == n or place.startswith(f"{n}.")), key=len)
        steps = (self.fields[name] + place[len(name) :]).split(".")
        field: Schema | None = {"fields": self.root}
        for step in steps:
            field = None if field is None else self._inside(field).get(step)
        return field

    def _inside(self, field: Schema) -> Schema:
        """The fields of an object, of the items of a list and of the values of a map."""
        for key in ("list", "map"):
            if key in field:
                return self._inside(field[key])
        if "ref" in field:
            return self.schemas[field["ref"]]
        return field.get("fields", {})

    def _of_value(self, value: Any, field: Schema, place: str) -> Iterator[str]:
        if "list" in field or ("map" in field and isinstance(value, list)):
            if not isinstance(value, list):
                yield f"{place}: not a list"
                return
            for item in cast("list[Any]", value):
                yield from self._of_value(item, field.get("list") or field["map"], place)
        elif "map" in field and isinstance(value, Mapping):
            for item in cast("Mapping[str, Any]", value).values():
                yield from self._of_value(item, field["map"], place)
        elif "type" in field:
            yield from _of_scalar(value, field, place)
        elif isinstance(value, Mapping):
            yield from self.of_object(cast("Mapping[str, Any]", value), self._inside(field), place)
        else:
            yield f"{place}: {value!r} is not an object"


def _of_scalar(value: Any, field: Schema, place: str) -> Iterator[str]:
    allowed = _TYPES.get(field["type"], (object,))
    is_number_as_text = isinstance(value, str) and value.isdecimal() and int in allowed
    if not is_number_as_text and (not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed)):
        if object not in allowed:
            yield f"{place}: {value!r} is not {field['type']}"
    elif "enum" in field and value not in field["enum"]:
        yield f"{place}: {value!r} is not one of {', '.join(field['enum'])}"
    elif "pattern" in field and isinstance(value, str) and not re.fullmatch(field["pattern"], value):
        yield f"{place}: {value!r} does not match {field['pattern']}"
