"""Schema of the slices of a pool: a number of them, a range to scale in, or a list."""

from __future__ import annotations

import re
from typing import Annotated, Any, cast

from berth.diagnostics import format_value
from berth.spec.amounts import MAX_COUNT, FixedCount, Range, parse_count
from berth.spec.base import JsonSchema, Model, unique_items, validation_fault, wrong_type
from berth.spec.core import BeforeValidator, PlainValidator
from berth.spec.model import Field

MAX_SLICE_NUMBER = 99_999
"""Maximum number of a listed slice."""
_SLICE_NAME = r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?"


class SliceRange(Range):
    """A range of slices that are listed; `max` is their number, and the first ones are the minimum."""

    of: tuple[int | str, ...]
    """Numbers of the slices that scale, and names of their node pools."""


class FixedSlices(FixedCount):
    """Slices that are listed and do not scale with jobs."""

    of: tuple[int | str, ...]
    """Numbers of the fixed slices, and names of their node pools."""


def slice_list(size: Range | None) -> tuple[int | str, ...] | None:
    """Return the numbers and names of slices that are listed; None for a number of slices."""
    return size.of if isinstance(size, (SliceRange, FixedSlices)) else None


def _parse_slice_list(values: Any) -> tuple[int | str, ...]:
    if not isinstance(values, list | tuple):
        raise wrong_type(values, "write a list of numbers or names, such as of: [1, 3]")
    for value in cast("list[Any]", values):
        is_number = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_SLICE_NUMBER
        if not is_number and not (isinstance(value, str) and re.fullmatch(_SLICE_NAME, value)):
            raise validation_fault(
                "bad-value",
                f"'{format_value(value)}' is neither the number of a slice nor the name of a node pool; write a list "
                "such as [1, 3], or names of at most 40 lower-case letters, digits and '-'",
            )
    return unique_items(tuple(cast("list[Any]", values)))


_SliceList = Annotated[
    tuple[int | str, ...],
    PlainValidator(_parse_slice_list),
    JsonSchema(
        {
            "type": "array",
            "items": {
                "anyOf": [
                    {"type": "integer", "minimum": 0},
                    {"type": "string", "pattern": f"^(?:{_SLICE_NAME})$"},
                ]
            },
        }
    ),
]


class ListedSlices(Model):
    """Slices that are listed and scale with jobs."""

    min: int = Field(default=0, ge=0, le=MAX_COUNT)
    """Lower bound: this many slices, the first of the list, always have their nodes."""
    of: _SliceList
    """Numbers of the slices, and names of node pools."""


def _parse_slices(value: Any) -> Any:
    if isinstance(value, list | tuple):
        listed = _parse_slice_list(value)
        return FixedSlices.model_construct(min=len(listed), max=len(listed), of=listed)
    if not isinstance(value, dict) or "of" not in value:
        return parse_count(value)
    listed_slices = ListedSlices.model_validate(cast("object", value))
    count = len(listed_slices.of)
    if listed_slices.min > count:
        message = f"min {listed_slices.min} is above the {count} slices of the list; write a min of at most {count}"
        raise validation_fault("bad-size", message)
    return SliceRange.model_construct(min=listed_slices.min, max=count, of=listed_slices.of)


SlicesField = Annotated[
    Range, BeforeValidator(_parse_slices, json_schema_input_type=int | Range | _SliceList | ListedSlices)
]
"""`4`, `{min: 0, max: 24}`, `[1, 3]` or `{min: 0, of: [1, 3]}`."""
