"""What a key takes: its allowed keys, and the shortest valid form of a list or a mapping, read from the models."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, cast

from berth.diagnostics import FieldPath, format_value
from berth.diagnostics.hints import with_written
from berth.spec.fleet import FleetSpec
from berth.spec.messages.examples import example
from berth.spec.model import Model

COLLECTION_NOUNS: Final = {
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "tuple_type": "a list",
    "list_type": "a list",
}
"""pydantic's type of error for a value that is no collection → the collection."""

MAX_KEYS: Final = 8
"""Maximum number of keys that a message lists."""

_MAX_NAMED: Final = 3
"""Maximum number of entries that a message names."""

REASONS: Final = ("allowReplacement", "allowDeletion", "allowChange", "acceptWarnings")
"""Sections whose values are reasons."""


def allowed_keys(path: FieldPath, root: type[Model] = FleetSpec) -> list[str]:
    """Return the keys that are allowed at `path`, found by walking the models' annotations from `root`."""
    model = model_of(annotation_at(path, root))
    return [field.alias or name for name, field in model.model_fields.items()] if model else []


@lru_cache(maxsize=16)
def _homes(root: type[Model]) -> dict[str, tuple[FieldPath, ...]]:
    """Return for each key the paths of the mappings that have it; the name of an entry is `<name>`."""
    homes: dict[str, tuple[FieldPath, ...]] = {}
    queue: list[tuple[FieldPath, Any]] = [((), root)]
    for path, annotation in queue:
        model = model_of(annotation)
        if model is None:
            args = typing.get_args(annotation)
            inner = args[1:2] if typing.get_origin(annotation) is dict else args
            queue += [
                ((*path, "<name>") if inner is not args else path, each)
                for each in inner
                if typing.get_args(each) or model_of(each)
            ]
            continue
        for name, field in model.model_fields.items():
            key = field.alias or name
            homes[key] = (*homes.get(key, ()), path)
            queue.append(((*path, key), field.annotation))
    return homes


def mappings_with(key: str, root: type[Model] = FleetSpec) -> tuple[FieldPath, ...]:
    """Return the paths of the mappings that have `key`; names of entries are `<name>`, and lists add no step."""
    return _homes(root).get(key, ())


def home_of(key: str, place: FieldPath, root: type[Model] = FleetSpec) -> FieldPath | None:
    """Return the path of the one mapping that has `key`, for an unknown key at `place`: below it, else anywhere.

    None if no mapping has it, or several that are equally near. Names of entries are `<name>`.
    """
    here = tuple(
        "<name>" if place[:index] and not allowed_keys(place[:index], root) else step
        for index, step in enumerate(place)
        if isinstance(step, str)
    )
    homes = mappings_with(key, root)
    for candidates in ([home for home in homes if home[: len(here)] == here], homes):
        nearest = [home for home in candidates if len(home) == min(map(len, candidates))]
        if len(nearest) == 1:
            return nearest[0]
        if nearest:
            return None
    return None


@lru_cache(maxsize=4096)
def annotation_at(path: FieldPath, root: type[Model]) -> Any:
    """Return the annotation of the value at `path`; None where the models have none."""
    annotation: Any = root
    for step in path:
        annotation = _child_annotation(annotation, step)
    return annotation


def _child_annotation(annotation: Any, step: str | int) -> Any:
    if (model := model_of(annotation)) is not None:
        for name, field in model.model_fields.items():
            if step in (field.alias, name):
                return field.annotation
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is dict:
        return args[1]
    if origin is tuple:
        return args[0]
    alternatives = [argument for argument in args if argument is not type(None)] if origin else []
    return _child_annotation(alternatives[0], step) if alternatives else None


def model_of(annotation: Any) -> type[Model] | None:
    """Return the model in an annotation, also in an optional one; None for lists, mappings of names and scalars."""
    if isinstance(annotation, type):
        return annotation if issubclass(annotation, Model) else None
    if typing.get_origin(annotation) in (dict, tuple):
        return None
    return next((model for argument in typing.get_args(annotation) if (model := model_of(argument)) is not None), None)


def collection_remedy(error: Mapping[str, Any], path: FieldPath, root: type[Model]) -> str:
    """Return what to write where a list or a mapping is required: the value in it, an example, or the keys."""
    value, noun, annotation = error["input"], COLLECTION_NOUNS[error["type"]], annotation_at(path, root)
    if noun == "a mapping" and model_of(annotation) is None and (form := _named_entries(value, annotation, path)):
        return f"; write {form}"
    entries = cast("dict[object, object]", error["input"] if isinstance(error["input"], dict) else {})
    if noun == "a list" and entries:  # the one item, written without brackets
        form = f"[{format_value(entries, quoted=True)}]"
        if {str(key) for key in entries} <= {*allowed_keys((*path, 0), root)} and "..." not in form:
            return f"; write {form}"
    # The example for `path`, or for the list that contains it, if it has the required type.
    form = example(path)[1:-1] if isinstance(path[-1], int) else example(path)
    form = form if form.startswith("[{" if noun == "a list" else "{") else _minimal_form(annotation, path)
    if form:
        return f"; write {with_written(cast('object', error['input']), form)}"
    if noun == "a list" and isinstance(value, str) and value.split():
        return f"; write [{format_value(', '.join(value.split()))}]"
    keys = allowed_keys(path, root)
    if len(keys) > MAX_KEYS:
        return f"; docs/stack-file.md lists its {len(keys)} keys"
    return f"; its keys are {', '.join(keys)}" if keys else ""


def _named_entries(value: object, annotation: Any, path: FieldPath) -> str:
    """Return a list of names, or of `key=value`, as the mapping that is required; "" for anything else."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    if items and all(isinstance(item, dict) and "name" in item for item in items):
        names = [f"{cast('dict[object, object]', item)['name']}: {{…}}" for item in items[:_MAX_NAMED]]
        return f"{{{', '.join(names)}{', …' if len(items) > _MAX_NAMED else ''}}}, each with its other keys"
    if not items or not all(isinstance(item, str) for item in items):
        return ""
    pairs = [str(item).partition("=") for item in items]
    entry = _minimal_form(annotation, path).removeprefix("{<name>: ").removesuffix("}") or "<value>"
    return "{" + ", ".join(f"{key.removeprefix('gs://')}: {written or entry}" for key, _, written in pairs) + "}"


def _minimal_form(annotation: Any, path: FieldPath) -> str:
    """Return the shortest valid form of a mapping or a list of mappings; "" for scalars, or if no key is required."""
    if (model := model_of(annotation)) is not None:
        required = [field.alias or name for name, field in model.model_fields.items() if field.is_required()]
        return "{" + ", ".join(f"{key}: {example((*path, key))}" for key in required) + "}" if required else ""
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is dict:
        # An entry that requires no key: an empty one, a reason or a value.
        value = "<why>" if path[0] in REASONS else example((*path, "*")) or "<value>"
        entry = _minimal_form(args[1], path) or ("{}" if model_of(args[1]) is not None else value)
        return f"{{<name>: {entry}}}"
    if origin is tuple:
        return f"[{inner}]" if (inner := _minimal_form(args[0], path)) else ""
    inner = [argument for argument in args if argument is not type(None)] if origin else []
    return _minimal_form(inner[0], path) if inner else ""
