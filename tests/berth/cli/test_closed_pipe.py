"""`berth COMMAND … | true` in bash: PIPESTATUS has the exit status of the command if its reader closes the pipe."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from berth.cli import VERBS
from tests.stack_files import ROOT

PREVIEWS: Final = "tests/berth/diff/previews"
SOUND: Final = {
    "check": ["dev"],
    "explain": ["overcommitted"],
    "plan": ["dev"],
    "quota": ["dev"],
    "usage": ["dev", "--queries"],
    "preview": ["dev"],
    "render": ["dev"],
    "admit": ["stacks/scenarios/multislice.yaml"],
    "workload": ["dev", "vision", "train", "--slices", "1", "--image", "a/b:1", "--", "python", "train.py"],
    "lint": ["dev", "stacks/jobs/train.yaml", "--team", "vision"],
    "diff": ["dev", "stacks/examples/multislice.yaml"],
    "guard": ["dev", f"{PREVIEWS}/topology-changed.json"],
    "rotate": ["dev", "v5e", "--set", "capacity=spot"],
    "drain": ["dev"],
    "split": ["dev", "--most", "500"],
    "report": ["dev"],
    "graph": ["dev"],
    "init": ["prod", "--project", "acme-ml-prod", "--region", "us-central1", "--team", "vision"],
    "adopt": ["new", "tests/berth/adopt/no-such-file.json"],
    "schema": [],
}
"""Arguments with which each verb prints its usual output."""
STATUSES: Final = {"diff": 3, "guard": 3, "drain": 3, "adopt": 1}
"""The statuses of SOUND that are not 0: blocked changes, a protected fleet, a missing answer."""


def piped(arguments: list[str], folder: Path = ROOT) -> tuple[int, str]:
    """The verb's own status behind `| true`, and what it printed on the error stream, which stays open."""
    command = shlex.join([sys.executable, "-c", "from berth.cli import run_command; run_command()", *arguments])
    done = subprocess.run(
        ["bash", "-c", f"{command} | true; exit ${{PIPESTATUS[0]}}"],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    return done.returncode, done.stderr


def test_every_verb_has_arguments() -> None:
    assert list(SOUND) == list(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_a_closed_pipe_leaves_the_status_of_the_verb(verb: str, tmp_path: Path) -> None:
    """Neither 120 (Python could not flush), nor 141 (SIGPIPE), nor a traceback."""
    (tmp_path / "Pulumi.yaml").write_text("name: berth\nruntime: python\n", encoding="utf-8")
    status, errors = piped([verb, *SOUND[verb]], tmp_path if verb == "init" else ROOT)
    assert status == STATUSES.get(verb, 0), errors
    assert "Traceback" not in errors
    assert "BrokenPipe" not in errors


@pytest.mark.parametrize("verb", ["check", "admit", "schema"])
def test_a_closed_pipe_leaves_the_status_of_wrong_usage(verb: str) -> None:
    assert piped([verb, "--no-such-option"])[0] == 2


@pytest.mark.parametrize("verb", ["check", "render", "diff", "workload"])
def test_a_closed_pipe_leaves_the_status_of_a_faulty_stack_file(verb: str, tmp_path: Path) -> None:
    """`berth check bad | true` leaves 1."""
    (tmp_path / "Pulumi.yaml").write_text("name: berth\nruntime: python\n", encoding="utf-8")
    (tmp_path / "Pulumi.bad.yaml").write_text("config:\n  berth:fleet: {project: a}\n", encoding="utf-8")
    arguments = [str(ROOT / each) if (ROOT / each).is_file() else each for each in SOUND[verb]]
    status, errors = piped([verb, *("bad" if each == "dev" else each for each in arguments)], tmp_path)
    assert status == 1, errors
    assert "Traceback" not in errors
