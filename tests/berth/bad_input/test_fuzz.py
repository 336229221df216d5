"""Damaged fleets: every damage of a valid fleet gives a plan or a fault, and never an exception.

The damage is what people and merges do: a key lost, misspelt or written twice, a value of another type or another
place's, lines moved or torn. What comes out without a fault must also be fit to print and to render.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from berth.backends.interface import backend_of
from berth.cli import app
from berth.cli.render import output as render_verb
from berth.document.text import render_text
from berth.evaluate import Evaluation, evaluate_config, evaluate_stack
from berth.yaml_loader import LOADER
from tests.berth.bad_input import cases
from tests.stack_files import FLEET_STACKS

ROOT = pathlib.Path(__file__).resolve().parents[3]
SOUND = {**{file.name: file for file in FLEET_STACKS.values()}, "base.yaml": cases.HERE / "base.yaml"}
TEXTS = {name: file.read_text(encoding="utf-8") for name, file in SOUND.items()}
FLEETS: dict[str, Any] = {name: yaml.load(text, LOADER)["config"]["berth:fleet"] for name, text in TEXTS.items()}

Path = tuple[str | int, ...]

JUNK: list[Any] = [
    None, True, False, 0, 1, -1, 3, 1.5, -0.5, 1e300, 2**31, 2**63 - 1, 2**63, -(2**70), "", " ", "0", "8", "-8", "8.5",
    "1 slice", "999999999 slices", "25%", "33.3%", "101%", "100.0000001%", "all", "unlimited", "spot", "2x4", "4x4x4",
    "0x0", "16x16", "us-central1-a", "europe-west4-b", "g2-standard-24", "ct5lp-hightpu-8t", "tpu7x-standard-4t",
    "n1-standard-4", "a" * 64, "a" * 300, "größe", "\x1b[31m", "a\nb", "{x}", "{", "%s", "'", '"', "٣", "\U0001f6a2",
    [], {}, [None], [[]], [{}], {"a": {"b": {"c": []}}}, {"min": 3, "max": 1}, {"max": 0}, {"reservation": "l4"},
    ["a", "a"], {"": ""}, {"a.b": 1}, {"[key]": "[key]"}, {"name": "default", "existing": True}, {"secure": "v1:x"},
]  # fmt: skip


def paths(value: Any, path: Path = ()) -> list[Path]:
    """Every path into a value, its own among them."""
    inner: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    return [path, *(deeper for step, part in inner for deeper in paths(part, (*path, step)))]


def at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


Damage = Callable[[Any, Any, str | int, st.DataObject], None]


def lose(fleet: Any, parent: Any, step: str | int, data: st.DataObject) -> None:
    del parent[step]


def replace(fleet: Any, parent: Any, step: str | int, data: st.DataObject) -> None:
    parent[step] = copy.deepcopy(data.draw(st.sampled_from(JUNK)))


def transplant(fleet: Any, parent: Any, step: str | int, data: st.DataObject) -> None:
    parent[step] = copy.deepcopy(at(fleet, data.draw(st.sampled_from(paths(fleet)))))


def wrap(fleet: Any, parent: Any, step: str | int, data: st.DataObject) -> None:
    parent[step] = data.draw(st.sampled_from([lambda v: [v], lambda v: {"name": v}, str]))(parent[step])


def misspell(fleet: Any, parent: Any, step: str | int, data: st.DataObject) -> None:
    if isinstance(step, str):
        parent[step[1:] + data.draw(st.sampled_from(["", "s", "-", "X", "ö", "."]))] = parent.pop(step)


def double(fleet: Any, parent: Any, step: str | int, data: st.DataObject) -> None:
    if isinstance(parent, list):
        parent.append(copy.deepcopy(parent[int(step)]))
    else:
        parent[f"{step}-1"] = copy.deepcopy(parent[step])


def insert(fleet: Any, parent: Any, step: str | int, data: st.DataObject) -> None:
    thing = copy.deepcopy(data.draw(st.sampled_from(JUNK)))
    if isinstance(parent, list):
        parent.insert(int(step), thing)
    else:
        parent[data.draw(st.sampled_from(["name", "zone", "pool", "flavor", "cohort", "x", "", "a b", "min"]))] = thing


DAMAGES: list[Damage] = [lose, replace, replace, transplant, wrap, misspell, double, insert]


def damaged(fleet: Any, data: st.DataObject) -> Any:
    """The fleet with one to four damages."""
    fleet = copy.deepcopy(fleet)
    for _ in range(data.draw(st.integers(1, 4))):
        inner = [path for path in paths(fleet) if path]
        if inner:
            path = data.draw(st.sampled_from(inner))
            data.draw(st.sampled_from(DAMAGES))(fleet, at(fleet, path[:-1]), path[-1], data)
    return fleet


def answers_in_words(evaluation: Evaluation) -> None:
    """A plan or a fault; every problem has words and a place to look at; and all of it can be printed and rendered."""
    assert evaluation.plan is not None or evaluation.faults
    for problem in evaluation.problems:
        line = problem.line()
        assert problem.code and problem.message.strip() and line.isprintable()
        assert "pydantic" not in line and "Traceback" not in line and "Input should" not in line
        assert len(line) < 2000, line
    assert len(set(evaluation.problems)) == len(evaluation.problems), "said twice"
    backend = backend_of(evaluation)
    render_text(backend.document(evaluation, None))
    json.dumps(backend.as_json(evaluation, None))
    if evaluation.plan is not None and not evaluation.faults:
        render_verb.write_objects(evaluation.plan, io.StringIO())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pathlib.Path]:
    """A folder with the team files that the fleets name, in which one stands."""
    result = tmp_path_factory.mktemp("fuzz")
    cases.write(result, {"teams/speech.yaml": cases.FILES["teams/speech.yaml"].read_text(encoding="utf-8")})
    (result / "stacks" / "teams").mkdir(parents=True)
    for file in sorted((ROOT / "stacks" / "teams").glob("*.yaml")):
        (result / "stacks" / "teams" / file.name).write_bytes(file.read_bytes())
    with contextlib.chdir(result):
        yield result


many = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@pytest.mark.parametrize("name", FLEETS)
def test_an_undamaged_fleet_has_a_plan_and_no_fault(folder: pathlib.Path, name: str) -> None:
    """Or the damage would prove nothing."""
    evaluation = evaluate_config("dev", FLEETS[name], folder)
    assert evaluation.plan is not None and evaluation.faults == ()
    answers_in_words(evaluation)


@settings(many, max_examples=200)
@given(st.sampled_from(sorted(FLEETS)), st.data())
def test_a_damaged_fleet_gives_faults_and_no_traceback(folder: pathlib.Path, name: str, data: st.DataObject) -> None:
    """As the engine hands it over: values, without lines."""
    answers_in_words(evaluate_config("dev", damaged(FLEETS[name], data), folder))


@settings(many, max_examples=40)
@given(st.sampled_from(sorted(FLEETS)), st.data())
def test_a_damaged_file_exits_0_or_1(folder: pathlib.Path, name: str, data: st.DataObject) -> None:
    """As a person has it: through a file, and out of the command."""
    fleet = {"config": {"berth:fleet": damaged(FLEETS[name], data)}}
    file = folder / "Pulumi.damaged.yaml"
    file.write_text(yaml.dump(fleet, Dumper=yaml.CSafeDumper, allow_unicode=True, sort_keys=False), encoding="utf-8")
    result = CliRunner().invoke(app, ["check", str(file)])
    assert result.exit_code in (0, 1) and result.stdout and result.stderr == ""
    assert isinstance(result.exception, SystemExit | None)
    evaluation = evaluate_stack(str(file), folder)
    assert result.exit_code == (1 if evaluation.faults else 0)
    answers_in_words(evaluation)


SCRAPS = [
    ":",
    "- ",
    "{",
    "}",
    "[",
    "]",
    "&a ",
    "*a ",
    "!x ",
    "<<: ",
    "#",
    "'",
    '"',
    "\t",
    "? ",
    "|",
    "---",
    "%",
    "\x00",
]


def torn(text: str, data: st.DataObject) -> str:
    """The text with a few lines lost, doubled, moved in or out, and characters thrown in."""
    lines = text.split("\n")
    for _ in range(data.draw(st.integers(1, 4))):
        number = data.draw(st.integers(0, len(lines) - 1))
        line = lines[number]
        column = data.draw(st.integers(0, len(line)))
        thing = data.draw(st.sampled_from(SCRAPS))
        lines[number : number + 1] = data.draw(
            st.sampled_from([[], [line, line], ["  " + line], [line[2:]], [line[:column] + thing + line[column:]]])
        )
        lines = lines or [""]
    return "\n".join(lines)


@settings(many, max_examples=100)
@given(st.sampled_from(sorted(TEXTS)), st.data())
def test_a_truncated_file_gives_faults_and_no_traceback(folder: pathlib.Path, name: str, data: st.DataObject) -> None:
    """What is left may be no YAML at all."""
    file = folder / "Pulumi.torn.yaml"
    file.write_text(torn(TEXTS[name], data), encoding="utf-8")
    answers_in_words(evaluate_stack(str(file), folder))
