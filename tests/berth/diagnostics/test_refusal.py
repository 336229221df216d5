"""The engine is handed a fleet directly: the program itself must refuse what is unsound, in the same words."""

from __future__ import annotations

import copy
import pathlib
from typing import Any

import pytest

from berth.engine import ProgramError, run_program
from berth.evaluate import evaluate_stack

ROOT = pathlib.Path(__file__).parents[3]


def config() -> dict[str, Any]:
    file = evaluate_stack("dev", ROOT).file
    assert file is not None
    return copy.deepcopy(dict(file.config))


def test_the_program_refuses_an_unsound_fleet_and_registers_nothing() -> None:
    """`pulumi up` does not run `berth check` first; with `-c` the values may not even stand in a file."""
    given = config()
    fleet = given.pop("berth:fleet")
    fleet["pools"]["v5e"]["topology"] = "2x5"
    fleet["teams"]["vision"]["cohort"] = "reserch"
    with pytest.raises(ProgramError) as refused:
        run_program(ROOT, "dev", fleet, given)
    text = str(refused.value)
    assert "stack 'dev' has faults:" in text
    assert "pools.v5e.topology: '2x5' is not a v5e slice of ct5lp-hightpu-4t" in text
    assert "teams.vision.cohort: no cohort 'reserch'; did you mean 'research'?" in text


def test_warnings_reach_the_engine() -> None:
    """`pulumi preview` prints them too; the engine marks them as warnings."""
    given = config()
    fleet = given.pop("berth:fleet")
    del fleet["cluster"]["controlPlane"]  # anyone on the internet reaches it then
    messages = run_program(ROOT, "dev", fleet, given).messages
    values = [m.text for m in messages if m.severity == "warning"]
    assert any("cluster.controlPlane" in text for text in values)
    assert not any("warning" in text for text in values)
