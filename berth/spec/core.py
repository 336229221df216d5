"""Convert type annotations to schemas of pydantic-core, the validator inside pydantic, and apply their metadata.

Metadata is applied from left to right, each around the previous result, as in pydantic.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final, Literal, Protocol, Union, cast, runtime_checkable

from msgspec import Struct
from pydantic_core import CoreSchema, core_schema

SchemaBuilder = Callable[[], CoreSchema]
Handler = Callable[[Any], dict[str, Any]]
"""Function that returns the JSON Schema for a schema of pydantic-core."""

MAX_LINE: Final = 4096
"""Largest length of a text, in characters, unless its type says otherwise."""
NOT_SEEN: Final = (
    r"\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ue000-\uf8ff\ufeff\ufff9-\uffff"
    r"\U000e0000-\U0010ffff"
)
"""Ranges of line breaks, and of characters that are not seen or that change the order of others. Ranges instead of
classes of Unicode, because every text of the schema compiles them."""
_ONE_LINE: Final = f"^[^{NOT_SEEN}]*$"


def _line() -> CoreSchema:
    """Return the schema of text: one printable line of bounded length. Editors only read that it is text."""
    schema = core_schema.str_schema(pattern=_ONE_LINE, max_length=MAX_LINE)
    unsaid = (("pattern", _ONE_LINE), ("maxLength", MAX_LINE))
    return with_json_schema(
        schema, lambda core, generate: {each[0]: each[1] for each in generate(core).items() if each not in unsaid}
    )


_SIMPLE: Mapping[Any, SchemaBuilder] = {
    str: _line,
    int: core_schema.int_schema,
    float: core_schema.float_schema,
    bool: core_schema.bool_schema,
    Any: core_schema.any_schema,
}


@runtime_checkable
class Metadata(Protocol):
    """Metadata of a type in Annotated."""

    def apply(self, inner: SchemaBuilder) -> CoreSchema:
        """Return the schema of the type with this metadata applied."""
        ...


class AfterValidator(Struct, frozen=True):
    """Metadata: a function that checks or changes a valid value."""

    function: Callable[[Any], Any]

    def apply(self, inner: SchemaBuilder) -> CoreSchema:
        """Call the function with the validated value."""
        return core_schema.no_info_after_validator_function(self.function, inner())


class BeforeValidator(Struct, frozen=True):
    """Metadata: a function that converts the written value before validation.

    `json_schema_input_type` is the type of the written value, if it differs from the validated type.
    """

    function: Callable[[Any], Any]
    json_schema_input_type: Any = None

    def apply(self, inner: SchemaBuilder) -> CoreSchema:
        """Call the function with the written value."""
        written = None if self.json_schema_input_type is None else schema_of(self.json_schema_input_type)
        return core_schema.no_info_before_validator_function(self.function, inner(), json_schema_input_schema=written)


class PlainValidator(Struct, frozen=True):
    """Metadata: a function that replaces the validation of the type."""

    function: Callable[[Any], Any]

    def apply(self, inner: SchemaBuilder) -> CoreSchema:
        """Call the function instead of validating the type."""
        return core_schema.no_info_plain_validator_function(self.function)


class SeveralLines(Struct, frozen=True):
    """Metadata of a text that may have line breaks and any length: the content of a file, or of a script."""

    def apply(self, inner: SchemaBuilder) -> CoreSchema:
        """Accept any text."""
        return core_schema.str_schema()


class Lax(Struct, frozen=True):
    """Metadata of a tuple: accept lists, which YAML has."""

    def apply(self, inner: SchemaBuilder) -> CoreSchema:
        """Accept any sequence."""
        return cast("CoreSchema", {**inner(), "strict": False})


class FieldBounds(Struct, frozen=True):
    """Metadata of a number, text or collection: minimum and maximum of its value or length."""

    limits: Mapping[str, float]

    def apply(self, inner: SchemaBuilder) -> CoreSchema:
        """Put the limits on the innermost type, where pydantic-core checks them."""
        return _with_limits(inner(), self.limits)


def _with_limits(schema: CoreSchema, limits: Mapping[str, float]) -> CoreSchema:
    parts = cast("dict[str, Any]", schema)
    if parts["type"] in ("nullable", "function-before", "function-after"):
        return cast("CoreSchema", {**parts, "schema": _with_limits(parts["schema"], limits)})
    return cast("CoreSchema", {**parts, **limits})


def schema_of(annotation: Any) -> CoreSchema:
    """Return the schema of a type: text, numbers, Literal, `X | None`, tuple[X, ...], dict[K, V], models, Annotated."""
    if annotation in _SIMPLE:
        return _SIMPLE[annotation]()
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return annotated_schema(arguments[0], arguments[1:])
    if origin is Literal:
        return core_schema.literal_schema(list(arguments))
    if origin in (Union, types.UnionType):
        schemas = [schema_of(choice) for choice in arguments if choice is not types.NoneType]
        schema = schemas[0] if len(schemas) == 1 else core_schema.union_schema(list(schemas))
        return core_schema.nullable_schema(schema) if types.NoneType in arguments else schema
    if origin is tuple:
        return core_schema.tuple_schema([schema_of(arguments[0])], variadic_item_index=0)
    if origin is dict:
        return core_schema.dict_schema(*map(schema_of, arguments))
    return annotation.reference_schema()


def annotated_schema(annotation: Any, metadata: Sequence[Any]) -> CoreSchema:
    """Return the schema of a type with its metadata applied; other metadata (of a Field) is ignored."""
    if not metadata:
        return schema_of(annotation)
    *inner, outermost = metadata
    return outermost.apply(lambda: annotated_schema(annotation, inner))


# --- JSON Schema ------------------------------------------------------------------------------------------------------


def with_json_schema(schema: CoreSchema, function: Callable[[Any, Handler], Any]) -> CoreSchema:
    """Return the schema with a function that returns its JSON Schema, where `pydantic.json_schema` looks for it."""
    metadata = schema.get("metadata") or {}
    functions = [*metadata.get("pydantic_js_annotation_functions", ()), function]
    return cast("CoreSchema", {**schema, "metadata": {**metadata, "pydantic_js_annotation_functions": functions}})
