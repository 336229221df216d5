"""A copy of the project, for a real engine with a backend of its own: nothing is written into the checkout."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml
from typer.testing import CliRunner

from berth.cli import app

ROOT = Path(__file__).resolve().parents[3]
BERTH = (sys.executable, "-c", "from berth.cli import run_command; run_command()")
"""The command `berth` of the code under test."""
ENVIRONMENT = {
    "PULUMI_CONFIG_PASSPHRASE": "",
    "PULUMI_SKIP_UPDATE_CHECK": "1",
    "PULUMI_GCP_SKIP_REGION_VALIDATION": "true",
    "GOOGLE_OAUTH_ACCESS_TOKEN": "fake",
    "ALICLOUD_ACCESS_KEY": "fake",
    "ALICLOUD_SECRET_KEY": "fake",
    "NO_COLOR": "1",
}
_LEFT_OUT = (".git", ".venv", "build", "dist", "__pycache__", ".*_cache", "*.egg-info")


class Failed(Exception):
    """A command that did not do what it was asked, with what it said."""


def stack_files(root: Path = ROOT) -> list[Path]:
    """Return every stack file of the project and every example, except those of teams, which need a platform."""
    values = [*sorted(root.glob("Pulumi.*.yaml")), *sorted(root.glob("stacks/examples/*.yaml"))]
    return [file for file in values if "  berth:team:" not in file.read_text(encoding="utf-8")]


def team_files(root: Path = ROOT) -> list[Path]:
    """Return every example of a team's own stack."""
    return sorted(set(root.glob("stacks/examples/*.yaml")) - set(stack_files(root)))


def stack_name(file: Path) -> str:
    """What the stack of a file is called."""
    return file.stem.removeprefix("Pulumi.")


def copied(root: Path, folder: Path) -> Path:
    """Return the project in `folder`, run by the interpreter that runs this."""
    project = folder / "project"
    shutil.copytree(root, project, ignore=shutil.ignore_patterns(*_LEFT_OUT))
    settings = yaml.safe_load((project / "Pulumi.yaml").read_text())
    virtual = sys.prefix != sys.base_prefix
    settings["runtime"] = {
        "name": "python",
        "options": {"toolchain": "pip", **({"virtualenv": sys.prefix} if virtual else {})},
    }
    (project / "Pulumi.yaml").write_text(yaml.safe_dump(settings))
    return project


def output(
    command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None, given: str | None = None
) -> str:
    """What a command prints; `Failed` with the last of what it said when it fails."""
    done = subprocess.run(
        command, cwd=folder, env=os.environ | (environment or {}), input=given, capture_output=True, text=True
    )
    if done.returncode:
        raise Failed(
            f"{' '.join(command[:4])} ended with {done.returncode}:\n{_said(done.stdout)}{done.stderr[-4000:]}"
        )
    return done.stdout


def berth(*words: str, folder: Path) -> str:
    """Return the output of a command, run in this process; raises `Failed` with its output if it fails."""
    with contextlib.chdir(folder):
        done = CliRunner().invoke(app, words)
    if done.exit_code:
        raise Failed(f"berth {' '.join(words[:4])} ended with {done.exit_code}:\n{done.output}")
    return done.stdout


def _said(printed: str) -> str:
    """Return the errors in a preview's JSON, or the end of anything else."""
    try:
        document = json.loads(printed)["diagnostics"]
        return "".join(one["message"] for one in document if one["severity"] == "error")
    except (ValueError, KeyError, TypeError):
        return printed[-4000:]
