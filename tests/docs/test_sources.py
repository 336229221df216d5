"""docs/sources.md names every example, and what it quotes as YAML is in the example's file."""

from __future__ import annotations

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")
EXAMPLES = {file.stem: file for file in sorted((ROOT / "stacks" / "examples").glob("*.yaml"))}
SECTIONS = {block.split("\n", 1)[0]: block for block in PAGE.split("\n## ")[1:]}


def _here(section: str) -> list[str]:
    """Return the quoted YAML of the third column."""
    cells = [row.split("|")[3] for row in section.splitlines() if row.startswith("| ") and " here " not in row]
    return [code for cell in cells for code in re.findall(r"`([^`]+: [^`]+)`", cell)]


def test_every_example_is_on_the_page() -> None:
    others = re.findall(r"`([a-z-]+)`", SECTIONS["The other examples"])
    assert sorted([*(SECTIONS.keys() & EXAMPLES.keys()), *(set(others) & EXAMPLES.keys())]) == sorted(EXAMPLES)


@pytest.mark.parametrize("name", sorted(SECTIONS.keys() & EXAMPLES.keys()))
def test_what_is_quoted_is_in_the_file(name: str) -> None:
    text = re.sub(r" +", " ", EXAMPLES[name].read_text(encoding="utf-8"))
    quoted = _here(SECTIONS[name])
    assert quoted
    assert [code for code in quoted if code not in text] == []
