"""docs/faults.md has every code that the source reports; its causes and remedies are rows of faults.yaml, its examples
cases of bad input, which are run."""

from __future__ import annotations

import os
import pathlib
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import yaml

from berth.diagnostics import Problem
from berth.evaluate import evaluate_stack
from berth.yaml_loader import LOADER
from tests.berth.bad_input import cases
from tests.berth.bad_input.test_bad_input import ROOT, SOURCES, written_codes
from tests.berth.bad_input.unreachable import CODES as UNREACHABLE

PAGE = ROOT / "docs" / "faults.md"
TABLE = pathlib.Path(__file__).with_name("faults.yaml")

HEAD = """\
# Faults, warnings and notes

Every code of `berth check`, with its cause, what to do, and an example: an edit of a sound fleet (`-`, `+`) and the
line that answers it (`!`), which ends with the remedy that fits the case. The code is in `berth check --format json`,
and is the title of an annotation of `--format github`. Written by `make golden` from
`tests/berth/diagnostics/faults.yaml` and the cases of bad input.

"""
JOBS = """\
## Of jobs, scenarios, team stacks and policies

What is reported besides, and of what.

| code | of | cause | what to do |
| --- | --- | --- | --- |
"""
REST = """\
## Without an example

No stack file leads to these: they hold requests for machines to the rules of GKE, whoever made them.

"""


@cache
def _table() -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    return yaml.load(TABLE.read_text(encoding="utf-8"), LOADER)


def _of_check() -> set[str]:
    return written_codes(*SOURCES, "rules")


def _all() -> set[str]:
    """Every code that anything prints, whichever room or module it stands in; what policies find has their own."""
    places = (place.name for place in (ROOT / "berth").iterdir() if place.is_dir() or place.suffix == ".py")
    return written_codes(*places) - {""}


def page(folder: pathlib.Path) -> str:
    """The page as the table, the cases and the source say it."""
    entries = (_entry(code, row, folder) for code, row in sorted(_table()["check"].items()))
    jobs = (
        f'| <a id="{code}"></a>`{code}` | {row["of"]} | {row["cause"]} | {row["remedy"]} |\n'
        for code, row in sorted(_table()["jobs"].items())
    )
    return f"{HEAD}{''.join(entries)}{JOBS}{''.join(jobs)}\n{REST}{''.join(_without())}"


def _entry(code: str, row: Mapping[str, str], folder: pathlib.Path) -> str:
    edits, problem = _example(code, row["example"], folder)
    said = "" if problem.severity == "fault" else f"*{problem.severity.capitalize()}.* "
    return f"### {code}\n\n{said}{row['cause']} {row['remedy']}\n\n```diff\n{edits}! {problem.line()}\n```\n\n"


def _example(code: str, name: str, folder: pathlib.Path) -> tuple[str, Problem]:
    """What is edited, if anything, and the first problem of this code that it leads to."""
    edits, stack = "", "bad"
    if name in cases.EDITS:
        case = cases.EDITS[name]
        cases.write(folder, cases.edited(case))
        edits = "".join(_diff(old, new) for old, new in case.edits)
    elif name in cases.WHOLE:
        (folder / "Pulumi.bad.yaml").write_bytes(cases.WHOLE[name][0])
    else:
        stack = name
    found = [problem for problem in evaluate_stack(stack, folder).problems if problem.code == code]
    assert found, f"the case '{name}' does not lead to {code}: name another in {TABLE.name}"
    return edits, found[0]


def _diff(old: str, new: str) -> str:
    """The lines of an edit, without what they are indented by in common."""
    lines = [*(("-", line) for line in old.split("\n")), *(("+", line) for line in new.split("\n"))]
    written = [(sign, line) for sign, line in lines if line.strip()]
    margin = min((len(line) - len(line.lstrip()) for _, line in written), default=0)
    return "".join(f"{sign} {line[margin:]}\n" for sign, line in written)


def _without() -> Iterator[str]:
    for reason in dict.fromkeys(UNREACHABLE.values()):
        codes = sorted(code for code, why in UNREACHABLE.items() if why == reason)
        named = ", ".join(f'<a id="{code}"></a>`{code}`' for code in codes)
        yield f"- {reason}: {named}\n"


def test_golden_faults_page(tmp_path: pathlib.Path) -> None:
    """`make golden` writes it anew."""
    cases.stacks(tmp_path)
    expected = page(tmp_path)
    if os.environ.get("BERTH_GOLDEN") == "write":
        PAGE.write_text(expected, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == expected, "run `make golden`, and read the difference"


def test_every_code_has_a_row_and_every_row_a_code() -> None:
    assert _table()["check"].keys() == _of_check() - UNREACHABLE.keys(), f"write its row in {TABLE.name}"
    assert _table()["jobs"].keys() == _all() - _of_check(), f"write its row in {TABLE.name}"


def test_every_code_has_one_place_on_the_page() -> None:
    found = re.findall(r'(?m)^### (.+)$|<a id="(.+?)">', PAGE.read_text(encoding="utf-8"))
    anchors = [heading or anchor for heading, anchor in found]
    assert sorted(anchors) == sorted(_all())
