"""The keys of a stack file by its schema, and edits of one key that the schema allows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, cast

from msgspec import Struct

from berth.spec.schema import stack_schema
from tests.small_fleets import REMOVED
from tests.stack_files import ACK_STACKS, TEAM_STACKS

SchemaKey = tuple[str, str]
"""A definition of the schema and a key in it: ("PoolSpec", "diskSizeGb")."""
Path = tuple[str | int, ...]
Schema = Mapping[str, Any]


@cache
def definitions() -> Mapping[str, Schema]:
    """The definitions of the schema by name."""
    return stack_schema()["$defs"]


def all_keys() -> set[SchemaKey]:
    """Every key of every definition."""
    return {(name, key) for name, schema in definitions().items() for key in schema.get("properties", {})}


def root_schema(stack: str) -> Schema:
    """The schema of what is written below `berth:fleet` or `berth:team` of a stack."""
    name = "TeamStackSpec" if stack in TEAM_STACKS else "AckFleetSpec" if stack in ACK_STACKS else "FleetSpec"
    return {"$ref": f"#/$defs/{name}"}


def _resolved(schema: Schema, value: object) -> tuple[str, Schema]:
    """The definition (or "") and the schema that holds for a value, of those that the schema allows."""
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return name, definitions()[name]
    choices = [_resolved(choice, value) for choice in cast("list[Schema]", schema.get("anyOf", ()))]
    fitting = [each for each in choices if _fits(each[1], value)]
    return next((each for each in fitting if _has_keys(each[1], value)), fitting[0] if fitting else ("", schema))


def _has_keys(schema: Schema, value: object) -> bool:
    """Whether a closed object of the schema can have all keys of a value."""
    is_closed = schema.get("additionalProperties") is False and "patternProperties" not in schema
    return (
        not (is_closed and isinstance(value, dict))
        or cast("dict[str, object]", value).keys() <= schema.get("properties", {}).keys()
    )


def _fits(schema: Schema, value: object) -> bool:
    kinds: dict[str, tuple[type, ...]] = {
        "object": (dict,),
        "array": (list,),
        "string": (str,),
        "boolean": (bool,),
        "integer": (int,),
        "number": (int, float),
        "null": (type(None),),
    }
    return any(isinstance(value, kinds[each]) for each in _types(schema)) if "type" in schema else True


def _types(schema: Schema) -> list[str]:
    written: object = schema.get("type", [])
    return [written] if isinstance(written, str) else cast("list[str]", written)


def _inner(schema: Schema, value: object) -> Iterator[tuple[str | int, Schema, bool]]:
    """Step, schema and whether the step is a key of a definition, of everything that a value holds."""
    if isinstance(value, dict):
        properties, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
        for key in cast("dict[str, object]", value):
            if key in properties:
                yield key, properties[key], True
            else:
                yield key, next((each for pattern, each in patterns.items() if re.search(pattern, key)), {}), False
    elif isinstance(value, list):
        yield from ((at, schema.get("items", {}), False) for at in range(len(cast("list[object]", value))))


def keys_of_edit(schema: Schema, before: object, after: object) -> Iterator[SchemaKey]:
    """The keys that one edit is of: those on the way to the only difference, as far as there is one."""
    name, resolved = _resolved(schema, after if after is not None else before)
    old, new = (cast("dict[Any, object]", _as_mapping(each)) for each in (before, after))
    differing = [step for step in {**old, **new} if old.get(step, REMOVED) != new.get(step, REMOVED)]
    if len(differing) != 1:
        return
    (step,) = differing
    whole = new if step in new else old
    inner, is_key = next(
        (each, is_key) for at, each, is_key in _inner(resolved, _like(after or before, whole)) if at == step
    )
    if is_key:
        yield name, str(step)
    yield from keys_of_edit(inner, old.get(step), new.get(step))


def _as_mapping(value: object) -> Mapping[Any, object]:
    if isinstance(value, dict):
        return cast("dict[Any, object]", value)
    return dict(enumerate(cast("list[object]", value))) if isinstance(value, list) else {}


def _like(value: object, mapping: Mapping[Any, object]) -> object:
    return list(mapping.values()) if isinstance(value, list) else mapping


# --- generated edits --------------------------------------------------------------------------------------------------


class Edit(Struct, frozen=True):
    """One edit: the key it is of, where, and the new value (REMOVED takes it out)."""

    key: SchemaKey
    path: Path
    value: Any

    @property
    def dotted(self) -> str:
        """The path as a table of edits spells it."""
        return ".".join(map(str, self.path))


def generated_edits(schema: Schema, value: object, at: Path = ()) -> Iterator[Edit]:
    """Every edit of one key that the schema suggests: other values of what is written, and keys that are not."""
    name, resolved = _resolved(schema, value)
    for step, inner, is_key in _inner(resolved, value):
        here, old = (*at, step), cast("Any", value)[step]
        if is_key:
            yield from (Edit((name, str(step)), here, new) for new in _other_values(inner, old) if new != old)
            if step not in resolved.get("required", ()):
                yield Edit((name, str(step)), here, REMOVED)
        yield from generated_edits(inner, old, here)
    if isinstance(value, dict):
        for key, inner in resolved.get("properties", {}).items():
            if key not in value:
                old = inner.get("default")
                yield from (
                    Edit((name, key), (*at, key), new) for new in _other_values(inner, old) if new not in (old, None)
                )


def _other_values(schema: Schema, old: object) -> Iterator[Any]:
    """Return a few values that the schema allows; none for texts of an unknown form."""
    choices = [resolved for choice in schema.get("anyOf", [schema]) for _, resolved in [_resolved(choice, None)]]
    for choice in choices:
        kind = next(iter(_types(choice)), None)
        if "enum" in choice or "const" in choice:
            yield from choice.get("enum", [choice.get("const")])
        elif kind == "boolean":
            yield from (True, False)
        elif kind in ("integer", "number"):
            number = old if isinstance(old, (int, float)) and not isinstance(old, bool) else 0
            least, most = choice.get("minimum", 0), choice.get("maximum", 10**9)
            near = [each for each in (number + 1, number - 1, number * 2) if least <= each <= most]
            yield from near or [least]
        elif kind == "string" and (text := _other_text(choice.get("pattern", ""), old)) is not None:
            yield text
        elif kind == "array" and "enum" in choice["items"]:
            yield from ([each] for each in choice["items"]["enum"])
        elif kind == "object" and (pattern := next(iter(choice.get("patternProperties", ())), None)) is not None:
            inner, key = choice["patternProperties"][pattern], _other_text(pattern, None)
            yield from ({key: each} for each in list(_other_values(inner, None))[:1] if key is not None)
        elif kind == "object" and choice.get("properties"):
            yield from _objects(choice)


_SAMPLES = ("other", "other-1", "10.240.0.0/20", "us-central1-b", "us-east5-b", "2h", "1.33", "roles/viewer")


def _other_text(pattern: str, old: object) -> str | None:
    changed = f"{old}x" if isinstance(old, str) and old else ""
    return next((each for each in (changed, *_SAMPLES) if each and re.search(pattern, each)), None)


def _objects(schema: Schema) -> Iterator[dict[str, Any]]:
    """Objects with one key each; none where more are required."""
    required = schema.get("required", ())
    for key, inner in schema["properties"].items() if len(required) < 2 else ():
        if set(required) <= {key}:
            yield from ({key: value} for value in list(_other_values(inner, inner.get("default")))[:1])
