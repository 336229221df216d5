"""The repository in which targets are run."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys

import pytest

from tests.stack_files import ROOT
from tests.targets import script


@pytest.fixture
def project(tmp_path: pathlib.Path) -> pathlib.Path:
    """A repository with the stack `dev`, and `berth` in its bin."""
    for name in ("Makefile", "Pulumi.yaml", "Pulumi.dev.yaml"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    shutil.copytree(ROOT / "stacks" / "teams", tmp_path / "stacks" / "teams")
    script(
        tmp_path / "bin" / "berth",
        f'PYTHONPATH={ROOT} exec {sys.executable} -c "from stacks.cli import main; main()" "$@"',
    )
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "as it is"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *words], cwd=tmp_path, check=True)
    return tmp_path
