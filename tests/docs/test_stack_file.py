"""docs/stack-file.md names every key of the stack file, and no other."""

from __future__ import annotations

import pathlib
import re

from berth.spec.schema import stack_schema

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "stack-file.md"


def keys() -> set[str]:
    return {key for model in stack_schema()["$defs"].values() for key in model.get("properties", {})}


def test_every_key_is_on_the_page() -> None:
    """Every key is on the page."""
    words = set(re.findall(r"[A-Za-z0-9]+", " ".join(re.findall(r"`[^`]+`", PAGE.read_text()))))
    assert sorted(keys() - words) == []


def test_the_page_names_no_key_that_is_gone() -> None:
    """The first column of each table holds keys only."""
    rows = re.findall(r"^\| (`.+?) \|", PAGE.read_text(), re.MULTILINE)
    written = {word for row in rows for word in re.findall(r"`(\w+)`", row)}
    assert sorted(written - keys()) == []
