"""The table one_key_edits.txt: one edited key a row, over the examples, with the class that is expected."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from tests.berth.diff.edits.one_key import base_values
from tests.berth.diff.edits.schema_edits import SchemaKey, keys_of_edit, root_schema
from tests.small_fleets import REMOVED, fleet_with

TABLE: Final = Path(__file__).with_name("one_key_edits.txt")
GIVEN: Final = "given"
"""In the first column: the stack has this in what follows, up to the next stack."""


class Row(Struct, frozen=True):
    """One key of a stack, its new value as it is written, and the class that is expected.

    `given` are the edits (path, value) that make the stack a suitable one.
    """

    stack: str
    given: tuple[tuple[str, str], ...]
    path: str
    value: str
    expected: str

    @property
    def base(self) -> dict[str, Any]:
        """The stack before the edit."""
        return _base(self.stack, self.given)

    @property
    def edited(self) -> dict[str, Any]:
        """The stack with the edit made."""
        return edited(self.base, self.path, self.value)

    @property
    def keys(self) -> set[SchemaKey]:
        """The keys of the schema that the edit is of."""
        return set(keys_of_edit(root_schema(self.stack), self.base, self.edited))

    @property
    def title(self) -> str:
        """The row in one short line."""
        return f"{self.stack}:{self.path}={self.value}"[:90]


def edited(values: dict[str, Any], path: str, value: str) -> dict[str, Any]:
    """The values of a stack with one edit, as the table writes it."""
    return fleet_with({path: parsed(value)}, base=values)


def parsed(text: str) -> Any:
    """The value that the table writes: JSON, a word, or nothing."""
    if text == "<removed>":
        return REMOVED
    try:
        return json.loads(text)
    except ValueError:
        return text


@cache
def _base(stack: str, given: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    if not given:
        return base_values(stack)
    return edited(_base(stack, given[:-1]), *given[-1])


def _rows() -> Iterator[Row]:
    for block in re.split(r"(?m)^== ", TABLE.read_text(encoding="utf-8"))[1:]:
        stack, *lines = block.strip().split("\n")
        given: tuple[tuple[str, str], ...] = ()
        for line in lines:
            expected, path, value = line.split(maxsplit=2)
            if expected == GIVEN:
                given = (*given, (path, value))
            else:
                yield Row(stack, given, path, value, expected)


ROWS: Final = list(_rows())
