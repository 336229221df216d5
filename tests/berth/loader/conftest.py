"""A folder of Pulumi.yaml to write stack files and team files into."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import pytest

from berth.diagnostics import Problem
from berth.loader import StackFile, read_stack
from tests.problem_lines import line_without_code

Write = Callable[..., pathlib.Path]
Read = Callable[[str], tuple[StackFile | None, list[str]]]


@pytest.fixture
def write(tmp_path: pathlib.Path) -> Write:
    """Write `text` into a file of a project's folder, `Pulumi.dev.yaml` unless another name is given."""
    (tmp_path / "Pulumi.yaml").write_text("name: berth\nruntime: python\n", encoding="utf-8")

    def to_file(text: str, name: str = "Pulumi.dev.yaml") -> pathlib.Path:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode("utf-8", "surrogateescape"))
        return file

    return to_file


@pytest.fixture
def read(tmp_path: pathlib.Path, write: Write) -> Read:
    """Read `text` as the stack file of `dev`: what was found, and every fault as the line a person sees."""

    def stack_file(text: str) -> tuple[StackFile | None, list[str]]:
        write(text)
        result, problems = read_stack("dev", tmp_path)
        return result, lines(problems)

    return stack_file


@pytest.fixture
def fleet(read: Read) -> Read:
    """Read `text` as what stands under `berth:fleet`, four columns in; the first line of it is line 3 of the file."""
    return lambda text: read("config:\n  berth:fleet:\n" + "".join(f"    {line}\n" for line in text.splitlines()))


def lines(problems: list[Problem]) -> list[str]:
    """`code | line` of every problem."""
    return [f"{problem.code} | {line_without_code(problem)}" for problem in problems]
