"""What each code means and what to do about it, as `berth explain` and docs/faults.md show it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct, convert

from berth.diagnostics import Severity
from berth.yaml_loader import load_table

_FAULTS = Path(__file__).with_name("faults.yaml")
EXAMPLES = Path(__file__).with_name("examples.yaml")
"""Code → the example as text. `make golden` writes it from the cases of bad input."""


class Example(Struct, frozen=True):
    """An edit of a sound stack file as lines that start with `-` and `+`, and the line that is then printed.

    `edit` is empty where the example is a whole file or a wrong name.
    """

    severity: Severity
    line: str
    edit: str = ""


class Explanation(Struct, frozen=True):
    """A code with its cause and remedy, as sentences in Markdown.

    `of` names the verbs that report it where that is not `check`. `case` is the case of bad input that is the example.
    """

    code: str
    cause: str
    remedy: str
    of: str = "check"
    case: str = ""
    example: Example | None = None


@cache
def explanations() -> Mapping[str, Explanation]:
    """Return every code with its explanation, sorted by code."""
    examples: Mapping[str, Any] = load_table(EXAMPLES) or {}
    fields = {
        code: {"case" if key == "example" else key: value for key, value in row.items()}
        for section in load_table(_FAULTS).values()
        for code, row in section.items()
    }
    return {
        code: convert({"code": code, **fields[code], "example": examples.get(code)}, Explanation)
        for code in sorted(fields)
    }
