"""Keys of a stack file as Python writes them: `machine_type` for `machineType`, at any depth, and back in messages."""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Union, cast, get_args, get_origin

from msgspec.structs import replace

from berth.diagnostics import FieldPath, Problem
from berth.names import to_camel, to_snake
from berth.spec.model import Model

Models = Sequence[type[Model]]

_MISSPELT = re.compile(r"[a-z]+([A-Z][a-z0-9]*)+")
"""A step of a path that is a key, perhaps misspelt: a name of the user has no capitals."""


def with_stack_file_keys(models: Models, name: str, value: Any) -> Any:
    """Return the value of an argument with the keys of a stack file; the argument is a field of one of the models."""
    annotation = next((each.model_fields[name].full_annotation for each in models if name in each.model_fields), None)
    return _respelt(annotation, value)


def _respelt(annotation: Any, value: Any) -> Any:
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        for each in _inner_types(annotation):
            if isinstance(each, type) and issubclass(each, Model):
                fields = each.model_fields
                return {
                    to_camel(key) if isinstance(key, str) else key: _respelt(
                        fields[key].full_annotation if key in fields else None, inner
                    )
                    for key, inner in items
                }
            if get_origin(each) is dict:
                return {key: _respelt(get_args(each)[1], inner) for key, inner in items}
        return dict(items)
    if isinstance(value, list | tuple):
        inner_types = [get_args(each)[0] for each in _inner_types(annotation) if get_origin(each) in (tuple, list)]
        return [_respelt(inner_types[0] if inner_types else None, each) for each in cast("Sequence[Any]", value)]
    return value


def _inner_types(annotation: Any) -> Iterator[Any]:
    """Yield the types of which a value is one: the members of a union, without their metadata."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _inner_types(get_args(annotation)[0])
    elif origin in (Union, types.UnionType):
        for each in get_args(annotation):
            yield from _inner_types(each)
    elif origin is not None and typing.get_origin(origin) is not None:
        yield from _inner_types(origin)
    else:
        yield annotation


def keys_in_python(text: str) -> str:
    """Return a text in which every word that looks like a key is spelt as Python does."""
    return re.sub(rf"\b{_MISSPELT.pattern}\b", lambda match: to_snake(match[0]), text)


def in_python(problems: Iterable[Problem], models: Models) -> Iterator[Problem]:
    """Yield the problems with keys as Python writes them, in their paths and messages."""
    keys = {each for model in models for each in _keys_below(model, set())}
    camel = sorted((each for each in keys if each != to_snake(each)), key=len)[::-1]
    pattern = re.compile(rf"(?<![\w/])({'|'.join(camel)})(?![\w/])")  # a word of a path stays as it is
    for problem in problems:
        if problem.code == "unknown-key" and len(problem.path) == 1:
            yield problem  # it names the argument as it was written
            continue
        path: FieldPath = tuple(
            to_snake(step) if isinstance(step, str) and (step in keys or _MISSPELT.fullmatch(step)) else step
            for step in problem.path
        )
        own = str(problem.path[-1]) if problem.path else ""
        message = (
            problem.message.replace(f"'{own}'", f"'{path[-1]}'") if problem.code == "unknown-key" else problem.message
        )
        yield replace(problem, path=path, message=pattern.sub(lambda match: to_snake(match[0]), message))


def _keys_below(model: type[Model], seen: set[type[Model]]) -> Iterator[str]:
    """Yield the keys of a model and of the models in it."""
    if model in seen:
        return
    seen.add(model)
    for field in model.model_fields.values():
        yield field.alias
        for inner in _models_in(field.full_annotation):
            yield from _keys_below(inner, seen)


def _models_in(annotation: Any) -> Iterator[type[Model]]:
    if isinstance(annotation, type) and issubclass(annotation, Model):
        yield annotation
    for each in get_args(annotation):
        yield from _models_in(each)
