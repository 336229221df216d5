"""docs/for-platform-owners.md: its edits are written into the stack `dev` in turn, and its commands run on that."""

from __future__ import annotations

import pathlib
import re
import shlex
import shutil
import subprocess
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from berth.cli import app
from berth.evaluate import evaluate_stack

ROOT = pathlib.Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "for-platform-owners.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
LINES = [line for language, block in BLOCKS if not language for line in block.splitlines()]


@pytest.fixture
def project(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """Return a copy of the project's stack files, committed, in which the commands run."""
    for name in ("__main__.py", "Pulumi.yaml", "Pulumi.dev.yaml"):
        shutil.copy(ROOT / name, tmp_path / name)
    for name in ("teams", "examples", "scenarios"):
        shutil.copytree(ROOT / "stacks" / name, tmp_path / "stacks" / name)
    who = ["-c", "user.name=owner", "-c", "user.email=owner@example.com"]
    for words in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "as it is"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_edit_of_the_page_is_sound_and_every_command_answers(project: pathlib.Path) -> None:
    file = project / "Pulumi.dev.yaml"
    answers: dict[str, str] = {}
    for language, block in BLOCKS:
        if language:
            stack = yaml.safe_load(file.read_text(encoding="utf-8"))
            _write_into(stack["config"]["berth:fleet"], yaml.safe_load(block))
            file.write_text(yaml.safe_dump(stack), encoding="utf-8")
            assert [p.line() for p in evaluate_stack("dev", project).faults] == [], block
            continue
        for command in (line for line in block.splitlines() if line.startswith("berth ")):
            done = CliRunner().invoke(app, shlex.split(command, comments=True)[1:])
            refused = command.endswith("# exits 3")
            assert (done.exit_code, bool(done.stderr)) == ((3, True) if refused else (0, False)), command
            assert done.stdout, command
            answers[command] = done.stdout
    assert "stopPolicy: HoldAndDrain" in answers["berth render dev"]
    assert "bought-h100" in answers["berth plan dev"]
    assert "robotics" in answers["berth diff dev --since HEAD"]


def test_the_edits_of_the_page_have_the_documented_effects(project: pathlib.Path) -> None:
    """12 spot GPUs go from one team to the other; the second pool leaves 16 chips without a guarantee."""
    stack = yaml.safe_load((project / "Pulumi.dev.yaml").read_text(encoding="utf-8"))
    for language, block in BLOCKS:
        if language:
            _write_into(stack["config"]["berth:fleet"], yaml.safe_load(block))
    (project / "Pulumi.dev.yaml").write_text(yaml.safe_dump(stack), encoding="utf-8")
    plan = evaluate_stack("dev", project).fleet_plan
    assert plan is not None
    promised = {team.name: team.guaranteed.get("l4-spot", 0) for team in plan.teams}
    assert (promised["language"], promised["robotics"]) == (36, 12)
    (v5e,) = (flavor for flavor in plan.flavors if flavor.name == "v5e")
    assert v5e.capacity.max - v5e.promised == 16


def test_the_page_shows_nothing_else_than_edits_and_commands() -> None:
    assert {language for language, _ in BLOCKS} == {"", "yaml"}
    assert [line for line in LINES if not line.startswith(("berth ", "kubectl ", "make "))] == []


def _write_into(fleet: dict[str, Any], edit: dict[str, Any]) -> None:
    """Apply the edit as a person would: add entries to their sections, overwrite existing keys.

    A team with a file of its own would be edited there; the page edits none.
    """
    for key, value in edit.items():
        if isinstance(value, dict) and isinstance(fleet.get(key), dict):
            _write_into(fleet[key], value)
        else:
            fleet[key] = value
