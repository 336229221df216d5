"""The repository in which targets are run."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys
from collections.abc import Generator

import pytest

from tests.berth.diff.answers.engine_previews import as_text, digest
from tests.berth.diff.answers.test_guard_answers import run_of
from tests.forked import berth_for_scripts
from tests.stack_files import ROOT
from tests.targets import commit_all, write_script


@pytest.fixture(scope="session")
def berth() -> Generator[str]:
    """The script `berth`."""
    with berth_for_scripts() as script:
        yield script


@pytest.fixture
def project(tmp_path: pathlib.Path, berth: str) -> pathlib.Path:
    """Return a repository with the stack `dev`, and `berth` in its bin."""
    for name in ("Makefile", "Pulumi.yaml", "Pulumi.dev.yaml"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    shutil.copytree(ROOT / "stacks" / "teams", tmp_path / "stacks" / "teams")
    write_script(tmp_path / "bin" / "berth", berth)
    write_script(tmp_path / "bin" / "python", f'exec {sys.executable} "$@"')
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=tmp_path, check=True)
    commit_all(tmp_path)
    return tmp_path


@pytest.fixture
def unchanged(project: pathlib.Path) -> str:
    """Write a preview of dev that changes nothing into the project, and return its name there."""
    name = "unchanged.json"
    (project / name).write_bytes(as_text(digest(run_of("dev", "again"), {})))
    return name
