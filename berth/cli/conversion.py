"""Conversion of what is typed: values that are what a verb takes go through, typer converts all others.

typer 0.29 converts with pydantic, and loading that takes as long as all else that the check of a small fleet needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeVar, cast, get_args, get_origin

P = TypeVar("P")


class Converter:
    """typer's converter of one parameter, made only for a value that needs it."""

    def __init__(self, parameter: Any) -> None:
        self._annotation = parameter.type_descriptor.annotation
        self._typer_converter = parameter.get_runtime_param

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value as the verb takes it. Raises BadParameter where typer does."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if needs_no_conversion(value, self._annotation):
            return [*cast("tuple[Any, ...]", value)] if isinstance(value, tuple) else value
        return self._typer_converter().coerce(value, param=param, ctx=ctx)


def needs_no_conversion(value: object, annotation: Any) -> bool:
    """Whether typer would hand on the value as it is: ASCII text, a word of a Literal, or several of them."""
    if get_origin(annotation) is list and isinstance(value, tuple):
        (item,) = get_args(annotation)
        return all(needs_no_conversion(each, item) for each in cast("Sequence[object]", value))
    if get_origin(annotation) is Literal:
        return value in get_args(annotation)
    return annotation is str and isinstance(value, str) and value.isascii()


def convert_when_needed(parameters: list[P]) -> list[P]:
    """The parameters, each with the converter in the place of typer's."""
    for parameter in parameters:
        if "get_runtime_param" not in vars(parameter):
            converter = Converter(parameter)
            setattr(parameter, "get_runtime_param", lambda converter=converter: converter)  # noqa: B010
    return parameters
