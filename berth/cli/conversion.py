"""Conversion of command-line values: values of the right type pass unchanged, typer converts all others.

typer 0.29 converts with pydantic, whose import takes as long as everything else in a check of a small fleet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeVar, cast, get_args, get_origin

import typer

P = TypeVar("P")


class Converter:
    """A converter of one parameter that creates typer's own only for a value that needs it."""

    def __init__(self, parameter: Any) -> None:
        self._annotation = parameter.type_descriptor.annotation
        self._typer_converter = parameter.get_runtime_param

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value in the type of the verb's parameter. Raises BadParameter as typer does."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if needs_no_conversion(value, self._annotation):
            return [*cast("tuple[Any, ...]", value)] if isinstance(value, tuple) else value
        try:
            return self._typer_converter().coerce(value, param=param, ctx=ctx)
        except typer.BadParameter as error:
            message = error.message.removeprefix("Value error, ")
            error.message = message.replace("Input should be", f"'{value}' should be")
            raise


def needs_no_conversion(value: object, annotation: Any) -> bool:
    """Return whether typer would pass the value unchanged: ASCII text, a member of a Literal, or a list of them."""
    if get_origin(annotation) is list and isinstance(value, tuple):
        (item,) = get_args(annotation)
        return all(needs_no_conversion(each, item) for each in cast("Sequence[object]", value))
    if get_origin(annotation) is Literal:
        return value in get_args(annotation)
    return annotation is str and isinstance(value, str) and value.isascii()


def convert_when_needed(parameters: list[P]) -> list[P]:
    """Replace typer's converter in each parameter, and return the parameters."""
    for parameter in parameters:
        if "get_runtime_param" not in vars(parameter):
            converter = Converter(parameter)
            setattr(parameter, "get_runtime_param", lambda converter=converter: converter)  # noqa: B010
    return parameters
