"""The command itself, as a process: exit codes, streams, and nothing written."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

from tests.berth.bad_input import cases

ROOT = pathlib.Path(__file__).resolve().parents[3]
MAIN = "from berth.cli import main; main()"


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    """A folder of stacks."""
    cases.stacks(tmp_path)
    return tmp_path


def berth(folder: pathlib.Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command as a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", MAIN, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", **environment},
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "code", "stdout", "stderr"),
    [
        (["check", "dev"], 0, "dev: sound\n", ""),
        (["check", "My_Dev", "dev", "dve"], 1, "Pulumi.My_Dev.yaml:5: cluster.name: ", ""),
        (["check", "\udcff"], 1, r"no stack '\udcff' (Pulumi.\udcff.yaml); choose ", ""),
        (["render", "My_Dev", "-o", "out"], 1, "", "Pulumi.My_Dev.yaml:5: cluster.name: "),
        (["preview", "My_Dev"], 1, "", "Pulumi.My_Dev.yaml:5: cluster.name: "),
        (["plan", "My_Dev", "--json"], 1, '{\n  "stack": "My_Dev"', ""),
        (["check"], 2, "", "Usage: "),
        (["chek", "dev"], 2, "", "Usage: "),
        (["check", "dev", "--jsn"], 2, "", "Usage: "),
    ],
)
def test_the_command_answers_on_the_right_stream_with_the_right_code_and_writes_nothing(
    folder: pathlib.Path, arguments: list[str], code: int, stdout: str, stderr: str
) -> None:
    """0 sound, 1 faults, 2 wrong usage. What was asked for goes to stdout, why there is nothing of it to stderr."""
    before = sorted(folder.rglob("*"))
    found = berth(folder, *arguments)
    assert found.returncode == code
    assert found.stdout.startswith(stdout) and bool(found.stdout) == bool(stdout)
    assert found.stderr.startswith(stderr) and bool(found.stderr) == bool(stderr)
    assert "Traceback" not in found.stdout + found.stderr
    assert sorted(folder.rglob("*")) == before


def test_a_terminal_that_knows_few_letters_is_spared_them(folder: pathlib.Path) -> None:
    pool = "{machineType: g2-standard-24, nodes: {max: 2}}"
    fleet = f"{{project: acme-ml-dev, region: us-central1, pools: {{l4: {pool}}}}}"
    (folder / "Pulumi.dev.yaml").write_text(f"config: {{berth:fleet: {fleet}}}\n", encoding="utf-8")
    found = berth(folder, "plan", "dev", PYTHONIOENCODING="latin-1")
    assert found.returncode == 0 and r"0\u20134 L4" in found.stdout


def test_a_fault_of_berths_own_is_a_line_too(folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless one asks where it is."""
    broken = "from berth.cli import check, main; check.evaluate_stack = lambda *_: 1 / 0; main()"
    monkeypatch.setitem(globals(), "MAIN", broken)
    found = berth(folder, "check", "dev")
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr == (
        "berth failed, and the fault is its own: ZeroDivisionError: division by zero; with BERTH_TRACEBACK=1 it says "
        "where\n"
    )
    assert "Traceback" in berth(folder, "check", "dev", BERTH_TRACEBACK="1").stderr
