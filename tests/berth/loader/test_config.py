"""Under the engine the values come from its config, and the stack file beside it may only say where they stand."""

from __future__ import annotations

import json
import pathlib

import pytest

from berth.loader import read_config
from tests.berth.loader.conftest import Write, lines

WRITE = "write 'config:', below it 'berth:fleet:', and below that the fleet's project, region, pools and teams"
FLEET = "config:\n  berth:fleet:\n    project: acme\n    teams:\n      vision:\n        groups: [a, b]\n"
VALUE = {"project": "acme", "teams": {"vision": {"groups": ["a", "b"]}}}


def test_engine_values_have_places_if_the_file_is_equal(write: Write, tmp_path: pathlib.Path) -> None:
    """The engine sorts keys; that is no difference."""
    file = write(FLEET)
    document, problems = read_config("dev", json.loads(json.dumps(VALUE, sort_keys=True)), tmp_path)
    assert document is not None
    assert (document.stack, document.file, document.fleet, problems) == ("dev", file, VALUE, [])
    assert document.source_map.place_of(("teams", "vision", "groups", 1)) == "Pulumi.dev.yaml:6"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{a: 1}", {"a": True}),
        ("{a: 1}", {"a": 1.0}),
        ("{a: 1}", {"a": "1"}),
        ("{a: 1}", {"a": 1, "b": 2}),
        ("{a: [1, 2]}", {"a": [2, 1]}),
        ("{a: [1]}", {"a": [1, 1]}),
        ("{a: {}}", {"a": []}),
        ("{a: 1}\n---\n", {"a": 1}),
        ("{a: !x y}", {"a": "y"}),
        ("[", {"a": 1}),
        ("", {"a": 1}),
    ],
)
def test_engine_values_have_no_places_if_the_file_differs(
    write: Write, tmp_path: pathlib.Path, text: str, value: dict[str, object]
) -> None:
    """With `-c` or an environment a line of the file would point at something that is not so."""
    write(f"config:\n  berth:fleet: {text}\n")
    result, problems = read_config("dev", value, tmp_path)
    assert result is not None
    assert (result.file, result.fleet, problems, result.source_map.place_of(("a",))) == (None, value, [], "")


def test_the_engines_values_need_no_file(tmp_path: pathlib.Path) -> None:
    """With `--config-file` there is none of that name."""
    result, problems = read_config("dev", {"a": 1}, tmp_path)
    assert result is not None
    assert (result.file, result.fleet, problems, result.source_map.place_of(("a",))) == (None, {"a": 1}, [], "")


@pytest.mark.parametrize("value", [None, "x", 1, []])
def test_a_config_without_a_fleet_says_what_to_write(tmp_path: pathlib.Path, value: object) -> None:
    """`pulumi up` in a new stack comes here first."""
    result, problems = read_config("dev", value, tmp_path)
    line = f"no-fleet | the config of stack 'dev' has no 'berth:fleet'; {WRITE}"
    assert (result, lines(problems)) == (None, [line])
