"""SARIF of check and lint: held to what the standard requires, and to the same problems as JSON."""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any

import jsonschema
import pytest
import yaml
from typer.testing import CliRunner

from berth.cli import app
from tests.stack_files import ROOT

LEVELS = {"fault": "error", "warning": "warning", "note": "note"}


@pytest.fixture(autouse=True)
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    (tmp_path / "Pulumi.yaml").write_text("name: berth\nruntime: python\n")
    text = (ROOT / "tests" / "berth" / "simulator" / "stack.yaml").read_text(encoding="utf-8")
    (tmp_path / "Pulumi.lab.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "Pulumi.bad one.yaml").write_text(text.replace("slices: 3", "slices: three"), encoding="utf-8")
    job = (ROOT / "stacks" / "jobs" / "train.yaml").read_text(encoding="utf-8")
    (tmp_path / "train.yaml").write_text(re.sub("queue-name: .*", "queue-name: nope", job), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> Any:
    return json.loads(CliRunner().invoke(app, [*words]).stdout)


SCHEMA = json.loads((ROOT / "tests" / "vendored" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
"""The published schema, reduced to the objects that Berth writes (its head says how)."""


def schema_errors(log: dict[str, Any]) -> list[str]:
    """Return what the schema refuses in a log."""
    return [str(error.message) for error in jsonschema.Draft4Validator(SCHEMA).iter_errors(log)]  # pyright: ignore


def is_sound(log: dict[str, Any]) -> None:
    """Hold a log to the standard: required properties (3.13.2, 3.14.6, 3.18.2, 3.19.2, 3.27.11), values and indices."""
    assert schema_errors(log) == []
    assert log["version"] == "2.1.0"
    assert set(log) == {"$schema", "version", "runs"}
    (run_,) = log["runs"]
    driver = run_["tool"]["driver"]
    assert driver["name"]
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(set(ids)) == len(ids)
    for result in run_["results"]:
        assert set(result) <= {"ruleId", "ruleIndex", "level", "message", "locations"}
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in {"none", "note", "warning", "error"}
        assert result["message"]["text"]
        for location in result.get("locations", ()):
            physical = location["physicalLocation"]
            uri = physical["artifactLocation"]["uri"]
            assert re.fullmatch(r"[\w./~%:-]+", uri)
            assert all(isinstance(value, int) and value >= 1 for value in physical.get("region", {}).values())
            assert set(physical.get("region", {})) <= {"startLine", "startColumn"}


@pytest.mark.parametrize("stack", ["lab", "bad one", "missing"])
def test_check_has_the_same_problems_as_json(stack: str) -> None:
    log = run("check", stack, "--format", "sarif")
    is_sound(log)
    problems = run("check", stack, "--format", "json")["stacks"][0]["problems"]
    assert [(each["ruleId"], each["level"]) for each in log["runs"][0]["results"]] == [
        (each["code"], LEVELS[each["severity"]]) for each in problems
    ]


@pytest.mark.parametrize(
    "change", [{"message": {}}, {"level": "fault"}, {"ruleIndex": -2}, {"place": "x"}, {"locations": [{"line": 1}]}]
)
def test_the_schema_refuses_a_result_that_is_none(change: dict[str, Any]) -> None:
    log = run("check", "bad one", "--format", "sarif")
    log["runs"][0]["results"][0] |= change
    assert schema_errors(log) != []


def test_a_place_is_a_uri_a_line_and_a_column() -> None:
    results = run("check", "bad one", "--format", "sarif")["runs"][0]["results"]
    (result,) = (each for each in results if each["ruleId"] == "bad-type")
    physical = result["locations"][0]["physicalLocation"]
    assert physical == {"artifactLocation": {"uri": "Pulumi.bad%20one.yaml"}, "region": {"startLine": 11}}
    assert result["message"]["text"].startswith("pools.v5e.slices: 'three' is text; write a whole number")


def test_lint_has_the_same_problems_as_json() -> None:
    log = run("lint", "lab", "train.yaml", "--sarif")
    is_sound(log)
    value = run("lint", "lab", "train.yaml", "--json")
    found = [*value["problems"], *(each for item in value["objects"] for each in item["problems"])]
    assert [each["ruleId"] for each in log["runs"][0]["results"]] == [each["code"] for each in found]
    assert found


def test_the_hook_checks_stack_files() -> None:
    """Keys as pre-commit's manifest requires them: id, name, entry, language; `files` is a pattern of paths."""
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert {"id", "name", "entry", "language"} <= hook.keys()
    pattern = re.compile(hook["files"])
    files = [str(file.relative_to(ROOT)) for file in ROOT.glob("Pulumi*.yaml")]
    assert {file for file in files if pattern.search(file)} == set(files) - {"Pulumi.yaml"}
    _, *words = hook["entry"].split()
    assert CliRunner().invoke(app, [*words, "Pulumi.lab.yaml"]).exit_code == 0
