"""What the tests of adoption share."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.stack_files import ROOT


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project's folder with the real program."""
    for name in ("Pulumi.yaml", "__main__.py"):
        shutil.copy(ROOT / name, tmp_path)
    for room in ("berth", "components", "stacks"):
        (tmp_path / room).symlink_to(ROOT / room)
    monkeypatch.chdir(tmp_path)
    return tmp_path
