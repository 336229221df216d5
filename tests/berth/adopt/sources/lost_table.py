"""The tables of docs/adopt-from.md: published sources, and what the stack file does not have of each."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from berth.cli.adopt.described import DescribedResult
from tests.stack_files import ROOT

PAGE = ROOT / "docs" / "adopt-from.md"


def lost_cell(result: DescribedResult) -> str:
    """Return what a stack file does not have: kinds of modules, and the beginning of each other reason."""
    cells: list[str] = []
    for each in result.left:
        kind, separator, _ = each.reason.partition(": ")
        is_module = each.subject.startswith("module ") and separator and re.fullmatch("[a-z-]+", kind)
        cells.append(f"`{kind}`" if is_module else each.reason.partition(";")[0].replace("|", "/"))
    return "; ".join(dict.fromkeys(cells)) or "–"


def assert_table(name: str, head: str, lines: Iterable[str]) -> None:
    """Compare a table of the page, between its comments; with BERTH_GOLDEN=write, write it."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    columns = "| --- " * (head.count("|") - 1) + "|"
    table = "\n".join([head, columns, *lines]) + "\n"
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(begin)
    written, _, after = rest.partition(end)
    if os.environ.get("BERTH_GOLDEN") == "write":
        PAGE.write_text(f"{before}{begin}{table}{end}{after}", encoding="utf-8")
        return
    assert written == table
