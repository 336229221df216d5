"""docs/sources.md: every example is on it, and every published value is in the example or in the page's tables."""

from __future__ import annotations

import pathlib
import re
from typing import Any

import pytest
import yaml

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
def test_quoted_lines_are_in_the_file(name: str) -> None:
    text = re.sub(r" +", " ", EXAMPLES[name].read_text(encoding="utf-8"))
    quoted = _here(SECTIONS[name])
    assert quoted
    assert [code for code in quoted if code not in text] == []


PUBLISHED: dict[str, Any] = yaml.safe_load(
    (ROOT / "tests" / "vendored" / "facts" / "published_systems.yaml").read_text(encoding="utf-8")
)


def _created(example: str, kind: str) -> dict[str, Any]:
    """Return what an example creates, from its golden files: cloud inputs by name, or objects by kind and name."""
    folder = ROOT / "tests" / "golden" / example
    if kind == "cloud":
        inputs: dict[str, Any] = yaml.safe_load((folder / "cloud.yaml").read_text(encoding="utf-8"))
        return {urn.rpartition("::")[2]: value for urn, value in inputs.items()}
    objects = yaml.safe_load_all((folder / "manifests.yaml").read_text(encoding="utf-8"))
    return {f"{each['kind']}/{each['metadata']['name']}": each for each in objects if each}


def _value_at(value: Any, path: str) -> Any:
    for step in re.findall(r'"[^"]+"|[^.]+', path):
        value = value[int(step)] if isinstance(value, list) else value[step.strip('"')]
    return value


@pytest.mark.parametrize("kind", ["cloud", "objects"])
@pytest.mark.parametrize("example", PUBLISHED)
def test_a_published_value_that_is_not_on_the_page_is_in_the_example(example: str, kind: str) -> None:
    created = _created(example, kind)
    rows = PUBLISHED[example][kind]
    assert [(name, path, _value_at(created[name], path)) for name, path, _ in rows] == [tuple(row) for row in rows]


@pytest.mark.parametrize("example", PUBLISHED)
def test_a_published_value_that_the_example_does_not_have_is_on_the_page_with_a_reason(example: str) -> None:
    tables = f"{PAGE.split(chr(10) + '## ')[0]}\n{SECTIONS[example]}"
    cells = [[cell.strip() for cell in row.split("|")[1:5]] for row in tables.splitlines() if row.startswith("| ")]
    for published, field in PUBLISHED[example]["differs"]:
        reasons = [why for name, value, here, why in cells if name == field and published in value and here]
        assert reasons == [why for why in reasons if why]
        assert len(reasons) == 1, f"{published}: {field}"


def test_every_published_system_is_compared() -> None:
    assert PUBLISHED.keys() == SECTIONS.keys() - {"The other examples"}
