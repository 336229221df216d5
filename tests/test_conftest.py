"""CI accepts only the skips that tests/conftest.py lists."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stack_files import ROOT

REASONS = {"known": "no `pulumi` on PATH: install the CLI", "unknown": "the facts are not here"}


@pytest.mark.parametrize("ci", ["true", ""])
def test_an_unknown_skip_fails_in_ci(tmp_path: Path, ci: str) -> None:
    """A module and a test of each reason, in a process: a plugin cannot be tried on the session that it is part of."""
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    for name, reason in REASONS.items():
        skip = f"pytest.skip({reason!r}, allow_module_level=True)"
        for level, body in {"module": skip, "test": f"def test_it():\n    {skip}"}.items():
            text = f"import pytest\n{body}\ndef test_that(): pass\n"
            (tmp_path / f"test_{name}_{level}.py").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "--continue-on-collection-errors"]
    command += ["--rootdir", str(tmp_path), str(tmp_path)]
    done = subprocess.run(
        command, cwd=tmp_path, env={"CI": ci, "PATH": ""}, capture_output=True, text=True, check=False
    )
    refused = re.findall(r"(?m)^(?:ERROR|FAILED) (\w+)\.py", done.stdout)
    assert sorted(refused) == (["test_unknown_module", "test_unknown_test"] if ci else []), done.stdout
    assert (done.returncode == 0) == (not ci)
    assert done.stdout.count("tests/conftest.py does not list") >= len(refused)
    assert re.search(rf"2 passed, {2 if ci else 4} skipped|1 failed, 2 passed, 2 skipped", done.stdout), done.stdout
