"""Broken stack files: what `berth check` prints for each, line by line."""

from __future__ import annotations

import ast
import pathlib
import re
from collections.abc import Iterator
from functools import cache

import pytest
from typer.testing import CliRunner

from berth.cli import app
from berth.cli import check as check_verb
from berth.diagnostics import printable
from berth.evaluate import Evaluation, evaluate_stack
from tests.berth.bad_input import cases
from tests.berth.bad_input.cases import EDITS, STACKS, WHOLE, Case

ROOT = pathlib.Path(__file__).resolve().parents[3]
"""Codes that no stack file leads to; each is tested where it is written."""


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A project's folder, in which one stands."""
    cases.write(tmp_path, {})
    monkeypatch.chdir(tmp_path)
    return tmp_path


_CODES: dict[str, frozenset[str]] = {}
"""The codes of each case of EDITS that was evaluated in this process."""


@pytest.fixture
def evaluations(monkeypatch: pytest.MonkeyPatch) -> list[Evaluation]:
    """Every evaluation that `berth check` makes in a test, so that no case has to be evaluated again for its codes."""
    made: list[Evaluation] = []

    def record(stack: str, folder: pathlib.Path) -> Evaluation:
        made.append(evaluate_stack(stack, folder))
        return made[-1]

    monkeypatch.setattr(check_verb, "evaluate_stack", record)
    return made


def codes(evaluation: Evaluation) -> frozenset[str]:
    """The codes of everything reported for a stack."""
    return frozenset(problem.code for problem in evaluation.problems)


def check(folder: pathlib.Path, stack: str = "bad") -> list[str]:
    """The lines of `berth check` above their total.

    It exits 1 exactly when one is a fault, writes nothing and speaks no Python. Errors are above warnings, and
    these above accepted risks, which are notes.
    """
    before = sorted(folder.rglob("*"))
    result = CliRunner().invoke(app, ["check", stack])
    *lines, total = result.stdout.splitlines()
    assert result.stderr == "" and sorted(folder.rglob("*")) == before
    severities = [re.search(r"(?:^|: )(error|warning|note): ", line)[1] for line in lines]  # pyright: ignore
    assert severities == sorted(severities, key=["error", "warning", "note"].index)
    errors, warnings = severities.count("error"), severities.count("warning")
    warned = f", {warnings} warning{'s' * (warnings > 1)}" if warnings else ""
    assert total == f"{printable(stack)}: {errors or 'no'} error{'s' * (errors != 1)}{warned}"
    assert result.exit_code == (1 if errors else 0)
    assert not re.search(r"Traceback|pydantic|Python|Input should|\b(None|True|False|dict|tuple|str)\b", result.stdout)
    return lines


@pytest.mark.parametrize("base", sorted({case.base for case in EDITS.values()}))
def test_the_base_fleet_of_the_cases_has_no_faults(folder: pathlib.Path, base: str) -> None:
    """Without a warning, so that every line of a case is its own doing."""
    cases.write(folder, cases.edited(Case("", (), (), base)))
    assert check(folder) == []


@pytest.mark.parametrize("name", EDITS)
def test_each_fault_of_a_fleet_is_one_line(folder: pathlib.Path, evaluations: list[Evaluation], name: str) -> None:
    """All faults at once and nothing that follows from them, each with its place, the wrong value and a remedy."""
    case = EDITS[name]
    cases.write(folder, cases.edited(case))
    result = check(folder)
    (evaluation,) = evaluations
    _CODES[name] = codes(evaluation)
    assert result == sorted(case.lines, key=lambda line: (": note: " in line, ": warning: " in line))


@pytest.mark.parametrize("name", WHOLE)
def test_a_file_that_is_not_a_fleet_is_reported_with_place_and_reason(folder: pathlib.Path, name: str) -> None:
    """Whatever a file holds, it is answered in a line."""
    content, lines = WHOLE[name]
    (folder / "Pulumi.bad.yaml").write_bytes(content)
    assert check(folder) == sorted(lines, key=lambda line: ": warning: " in line)


@pytest.mark.parametrize("stack", STACKS)
def test_an_unknown_stack_is_reported_with_the_existing_ones(folder: pathlib.Path, stack: str) -> None:
    """Return a similar name if one exists, otherwise the allowed names."""
    cases.stacks(folder)
    assert [line for line in check(folder, stack) if ": warning: " not in line] == STACKS[stack]


# --- every code has a case --------------------------------------------------------------------------------------------

SOURCES = ("loader", "spec", "planner", "validation", "worker_stacks.py", "diagnostics/acceptance.py")
_REPORTING = {
    "fault": 0, "warning": 0, "accepted_risk": 0, "unknown": 0, "_fault": 0, "_fault_at_path": 0,
    "Problem": 1, "reject": 2, "HardwareError": 0,
    "note": 0, "warn": 0, "Rule": 0, "FleetRule": 0, "gke_fault": 0, "gke_warning": 0, "validation_fault": 0,
}  # fmt: skip
"""What reports a problem, and which of its arguments is the code (with `*`, one less)."""
_NAMED = {"code", "_WORDS", "_MAPPING", "_LIST", "_MESSAGES", "_CAPACITY_BY_WORD", "_CONSTANTS"}
"""Names that codes are kept under until then."""


def written_codes(*rooms: str) -> set[str]:
    """Every code in the source of these packages, folders or modules."""
    places = [ROOT / "berth" / room for room in rooms]
    files = [file for place in places for file in ([place] if place.is_file() else place.rglob("*.py"))]
    return {code for file in files for code in _codes_of(file)}


@cache
def _codes_of(file: pathlib.Path) -> frozenset[str]:
    return frozenset(code for node in ast.walk(ast.parse(file.read_text())) for code in _codes(node))


def _codes(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        yield from _text([k.value for k in node.keywords if k.arg == "code"])
        starred = any(isinstance(argument, ast.Starred) for argument in node.args)
        reports = name in _REPORTING and (name != "unknown" or len(node.args) == len(("code", "path", "message")))
        yield from _text(node.args[_REPORTING[name] - starred :] if reports else [])
    elif (
        isinstance(node, ast.Yield)
        and isinstance(node.value, ast.Tuple)
        and len(node.value.elts) == 3
        and isinstance(node.value.elts[0], ast.Constant)
    ):
        yield from _text(node.value.elts)  # code, key, message
    elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in _NAMED:
        yield from _text([node.value])
    elif isinstance(node, ast.AnnAssign) and ast.unparse(node.target) in _NAMED and isinstance(node.value, ast.Dict):
        yield from (code for value in node.value.values for code in _text([value]))


def _text(nodes: list[ast.expr]) -> Iterator[str]:
    """The codes at the head of a list of expressions: as they are, or at the head of a tuple, or one of two."""
    for node in nodes[:1]:
        if isinstance(node, ast.Tuple):
            yield from _text(node.elts)
        elif isinstance(node, ast.IfExp):
            yield from _text([node.body])
            yield from _text([node.orelse])
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def occurring_codes(folder: pathlib.Path) -> Iterator[str]:
    """Every code that a case leads to."""
    cases.stacks(folder)
    for stack in STACKS:
        yield from (problem.code for problem in evaluate_stack(stack, folder).problems)
    for content, _ in WHOLE.values():
        (folder / "Pulumi.bad.yaml").write_bytes(content)
        yield from (problem.code for problem in evaluate_stack("bad", folder).problems)
    for name, case in EDITS.items():
        if name not in _CODES:  # evaluated by another process, or not at all
            cases.write(folder, cases.edited(case))
            _CODES[name] = codes(evaluate_stack("bad", folder))
        yield from _CODES[name]


def test_every_code_in_the_source_occurs_in_some_case(folder: pathlib.Path) -> None:
    """Every fault has a case, so that its message is reviewed."""
    occurring, written = set(occurring_codes(folder)), written_codes(*SOURCES, "rules") - {"bad-json"}  # of other verbs
    assert occurring - written == set(), "reported in a way that this test does not see"
    assert written - occurring == set(), "without a case"
