"""Targets of the Makefile, run in a repository of their own as a workflow runs them."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess

from tests.stack_files import ROOT


def write_script(path: pathlib.Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/bash\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


def run_make(project: pathlib.Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a target, with the installation taken for done and the project's own bin first on PATH.

    It starts as at a prompt: nothing of a `make` or a workflow that runs these tests reaches it.
    """
    path = f"{project / 'bin'}{os.pathsep}{os.environ['PATH']}"
    exported = set(re.findall(r"(?m)^VALUES\s*:?=(.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"))[0].split())
    env = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("GITHUB_", "MAKE", "MFLAGS")) and key not in exported | {"BERTH"}
    }
    command = ["make", "-o", ".venv/.installed", f"BIN={project / 'bin'}", *arguments]
    return subprocess.run(
        command, cwd=project, env={**env, "PATH": path, **variables}, capture_output=True, text=True, check=False
    )


def commit_all(project: pathlib.Path) -> None:
    """Everything as it is."""
    for arguments in (["add", "."], ["commit", "-q", "-m", "as it is"]):
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *arguments], cwd=project, check=True
        )


def replace_in_stack(project: pathlib.Path, old: str, new: str) -> None:
    file = project / "Pulumi.dev.yaml"
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")
