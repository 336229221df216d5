"""One edited key at a time, over the examples: how loud `berth diff` is, and whether the engine agrees."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec import Struct

from berth.diff.compare import AnyPlan, Changes, compare
from berth.diff.headline import headline
from berth.engine import RecordedResource, run_program
from tests.small_fleets import REMOVED, fleet_with, problems, run_planner
from tests.stack_files import ROOT, evaluation, fleet_values

TABLE = Path(__file__).with_name("one_key_edits.txt")
CALM: Final = ("nothing changes", "no team gains or loses, and nothing is replaced")


class Edit(Struct, frozen=True):
    """One key of a stack, its new value as it is written, and the class that is expected."""

    stack: str
    path: str
    value: str
    expected: str

    @property
    def fleet(self) -> dict[str, Any]:
        """The fleet with the edit made."""
        return fleet_with({self.path: _value(self.value)}, base=_base(self.stack))


def _value(text: str) -> Any:
    if text == "<removed>":
        return REMOVED
    try:
        return json.loads(text)
    except ValueError:
        return text


@cache
def _base(stack: str) -> dict[str, Any]:
    values = fleet_values(stack)
    values.pop("teamFiles", None)
    return values


@cache
def _old_plan(stack: str) -> AnyPlan:
    return run_planner(_base(stack), stack).plan


def _edits() -> list[Edit]:
    edits: list[Edit] = []
    for block in re.split(r"(?m)^== ", TABLE.read_text(encoding="utf-8"))[1:]:
        stack, *lines = block.strip().split("\n")
        for line in lines:
            expected, path, value = line.split(maxsplit=2)
            edits.append(Edit(stack, path, value, expected))
    return edits


EDITS: Final = _edits()


def _changes(edit: Edit) -> Changes:
    assert [problem.line() for problem in problems(edit.fleet, edit.stack) if problem.severity == "fault"] == []
    return compare(_old_plan(edit.stack), run_planner(edit.fleet, edit.stack).plan)


def _class(changes: Changes) -> str:
    if changes.blocked:
        return "blocked"
    told = headline(changes).partition(": ")[2]
    return {CALM[0]: "nothing", CALM[1]: "told"}.get(told, "loud")


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: f"{edit.stack}:{edit.path}={edit.value}"[:90])
def test_an_edit_is_as_loud_as_it_is_dangerous(edit: Edit) -> None:
    changes = _changes(edit)
    assert _class(changes) == edit.expected
    assert changes.is_empty == (edit.expected == "nothing") or changes.idle


def test_the_table_has_every_class_and_enough_rows() -> None:
    assert len(EDITS) >= 120
    assert {edit.expected for edit in EDITS} == {"nothing", "told", "loud", "blocked"}


# --- the engine agrees ------------------------------------------------------------------------------------------------


def _registered(stack: str, fleet: Mapping[str, Any]) -> dict[str, RecordedResource]:
    file = evaluation(stack).file
    assert file is not None
    config = {key: value for key, value in file.config.items() if key != "berth:fleet"}
    return {each.urn: each for each in run_program(ROOT, stack, fleet, config, preview=False).resources}


@cache
def _before(stack: str) -> dict[str, RecordedResource]:
    return _registered(stack, _base(stack))


def _differs(old: RecordedResource, new: RecordedResource) -> bool:
    return (old.inputs, old.protect, old.provider) != (new.inputs, new.protect, new.provider)


AGREEMENT: Final = [edit for edit in EDITS if edit.stack == "local" or edit.expected == "nothing"] + [
    edit for edit in EDITS if edit.stack != "local" and edit.expected != "nothing"
][::6]


@pytest.mark.parametrize("edit", AGREEMENT, ids=lambda edit: f"{edit.stack}:{edit.path}={edit.value}"[:90])
def test_what_the_diff_calls_unchanged_the_engine_registers_alike(edit: Edit) -> None:
    """So that what the engine registers otherwise has a line in the diff. (What is only described changes nothing.)"""
    before, after = _before(edit.stack), _registered(edit.stack, edit.fleet)
    differing = [urn for urn in before.keys() & after.keys() if _differs(before[urn], after[urn])]
    is_alike = before.keys() == after.keys() and not differing
    assert is_alike or not _changes(edit).is_empty, sorted(before.keys() ^ after.keys()) or differing
