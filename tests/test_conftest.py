"""CI accepts only the skips that tests/conftest.py lists."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stack_files import ROOT


@pytest.mark.parametrize(
    ("reason", "ci", "code"),
    [
        ("no `pulumi` on PATH: install the CLI", "true", 0),
        ("the facts are not here", "true", 1),
        ("the facts are not here", "", 0),
    ],
)
@pytest.mark.parametrize("level", ["test", "module"])
def test_an_unknown_skip_fails_in_ci(tmp_path: Path, reason: str, ci: str, code: int, level: str) -> None:
    """One subprocess per case: a plugin cannot be tried on the session that it is part of."""
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    skip = f"pytest.skip({reason!r}, allow_module_level=True)"
    body = skip if level == "module" else f"def test_it():\n    {skip}"
    (tmp_path / "test_it.py").write_text(f"import pytest\n{body}\ndef test_that(): pass\n", encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        str(tmp_path),
    ]
    done = subprocess.run(
        command, cwd=tmp_path, env={"CI": ci, "PATH": ""}, capture_output=True, text=True, check=False
    )
    assert (done.returncode in (0, 5)) == (code == 0), done.stdout  # 5: every test was skipped
    assert ("tests/conftest.py does not list" in done.stdout) == bool(code)
