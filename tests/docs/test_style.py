"""Messages, docs, docstrings and comments avoid the phrases of banned_phrases.yaml (docs/style.md has the rules)."""

from __future__ import annotations

import ast
import io
import pathlib
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from typing import Any

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = pathlib.Path(__file__).with_name("banned_phrases.yaml")
FOLDERS = ("berth", "components", "packages", "stacks", "scripts", "docs", "tests", ".github")
TEXT_SUFFIXES = {".md", ".yaml", ".yml", ".html"}
# Data, generated pages and what quotes the phrases; a golden holds what other rooms print.
SKIPPED = (
    "tests/golden/",
    "tests/vendored/",
    "tests/docs/",
    "docs/style.md",
    "docs/stack.schema.json",
    "docs/faults.md",
    "berth/diagnostics/examples.yaml",
)


@cache
def _table() -> dict[str, Any]:
    return yaml.safe_load(TABLE.read_text(encoding="utf-8"))


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile("|".join(rf"\b(?:{phrase})\b" for phrase in _table()["phrases"]), re.IGNORECASE)


def _files() -> Iterator[pathlib.Path]:
    yield from sorted(ROOT.glob("*.md"))
    yield ROOT / "Makefile"
    yield ROOT / "__main__.py"
    for folder in FOLDERS:
        yield from (file for file in sorted((ROOT / folder).rglob("*")) if file.is_file() and _is_read(file))


def _is_read(file: pathlib.Path) -> bool:
    name = file.relative_to(ROOT).as_posix()
    return not name.startswith(SKIPPED) and (file.suffix in {*TEXT_SUFFIXES, ".py"} or name.startswith("scripts/"))


def prose(file: pathlib.Path) -> str:
    """What a person reads of a file: all of a text file; of Python the string literals, docstrings and comments."""
    text = file.read_text(encoding="utf-8")
    if file.suffix != ".py":
        return text
    nodes = (node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant))
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = (token.string for token in tokens if token.type == tokenize.COMMENT)
    return "\n".join([*(value for value in nodes if isinstance(value, str)), *comments])


def violations(text: str) -> list[str]:
    """Return the banned phrases in a text, each once; line breaks count as spaces."""
    return sorted({match[0].lower() for match in _pattern().finditer(" ".join(text.split()))})


@cache
def _by_file() -> dict[str, list[str]]:
    violation = ((file.relative_to(ROOT).as_posix(), violations(prose(file))) for file in _files())
    return {name: phrases for name, phrases in violation if phrases}


def test_converted_files_contain_no_banned_phrase() -> None:
    exempt = tuple(_table()["not_converted"])
    assert {name: phrases for name, phrases in _by_file().items() if not name.startswith(exempt)} == {}


def test_the_list_of_files_to_convert_shrinks() -> None:
    """An entry without a banned phrase is converted, and has to leave the list."""
    names = _by_file()
    assert [prefix for prefix in _table()["not_converted"] if not any(name.startswith(prefix) for name in names)] == []


def test_a_phrase_is_found_across_lines_and_in_docstrings(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "a.py"
    file.write_text('"""At the\nmost 3."""\nx = f"{1} is no key here"  # mended\n')
    assert violations(prose(file)) == ["at the most", "is no key", "mended"]


def test_no_docstring_begins_with_the_same() -> None:
    rooms = [ROOT / "berth", ROOT / "components", ROOT / "stacks"]
    lines = [
        (file.relative_to(ROOT).as_posix(), line)
        for room in rooms
        for file in sorted(room.rglob("*.py"))
        for line in re.findall(r'"""(The same\b.*)', file.read_text(encoding="utf-8"))
    ]
    exempt = tuple(_table()["not_converted"])
    assert [(name, line) for name, line in lines if not name.startswith(exempt)] == []
