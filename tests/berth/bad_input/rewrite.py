"""Rewrite the lines that the cases expect (`!`) with what is printed now: `python -m tests.berth.bad_input.rewrite`.

For a change that touches many messages. Read the difference before you commit it: people read these lines.
"""

from __future__ import annotations

import importlib
import pathlib
import re
import tempfile

from berth.evaluate import evaluate_stack
from tests.berth.bad_input import cases


def rewrite_tables(folder: pathlib.Path) -> None:
    """Rewrite every table of cases; a case whose edit no longer applies raises AssertionError."""
    for table in sorted(cases.HERE.glob("*.txt")):
        base = cases.base_of(table)
        head, *blocks = re.split(r"(?m)^(?=== )", table.read_text(encoding="utf-8"))
        table.write_text(head + "".join(_rewritten(block, base, folder) for block in blocks), encoding="utf-8")


def _rewritten(block: str, base: str, folder: pathlib.Path) -> str:
    (case,) = cases.parsed(block, base)
    cases.write(folder, cases.edited(case))
    problems = evaluate_stack("bad", folder).problems
    printed = [problem.line() for problem in problems if problem.severity != "note" or problem.accepted]
    lines = block.split("\n")
    first = next((i for i, line in enumerate(lines) if line.startswith("!")), len(block.rstrip().split("\n")))
    kept = [line for line in lines[first:] if not line.startswith("!")]
    return "\n".join([*lines[:first], *(f"! {line}" for line in printed), *kept])


if __name__ == "__main__":
    importlib.import_module("tests.conftest")  # sets the day that the tests compare dates with
    with tempfile.TemporaryDirectory() as name:
        rewrite_tables(pathlib.Path(name))
