"""The command itself, as a process: exit codes, streams, and nothing written."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator

import pytest
from typer.testing import CliRunner

from berth.cli import app
from tests.berth.bad_input import cases

ROOT = pathlib.Path(__file__).resolve().parents[3]
MAIN = "from berth.cli import run_command; run_command()"


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
        (["check", "dev"], 0, "dev: no errors\n", ""),
        (["check", "My_Dev", "dev", "dve"], 1, "Pulumi.My_Dev.yaml:5: error: cluster.name: ", ""),
        (["check", "\udcff"], 1, r"error: no stack '\udcff' (Pulumi.\udcff.yaml); write ", ""),
        (["render", "My_Dev", "-o", "out"], 1, "", "Pulumi.My_Dev.yaml:5: error: cluster.name: "),
        (["preview", "My_Dev"], 1, "", "Pulumi.My_Dev.yaml:5: error: cluster.name: "),
        (["plan", "My_Dev", "--json"], 1, '{\n  "stack": "My_Dev"', ""),
        (["check"], 2, "", "Usage: "),
        (["chek", "dev"], 2, "", "Usage: "),
        (["check", "dev", "--jsn"], 2, "", "Usage: "),
    ],
)
def test_the_command_uses_the_right_stream_and_exit_status_and_writes_nothing(
    folder: pathlib.Path, arguments: list[str], code: int, stdout: str, stderr: str
) -> None:
    """0 sound, 1 faults, 2 wrong usage. What was asked for goes to stdout, why there is nothing of it to stderr."""
    before = sorted(folder.rglob("*"))
    result = berth(folder, *arguments)
    assert result.returncode == code
    assert result.stdout.startswith(stdout) and bool(result.stdout) == bool(stdout)
    assert result.stderr.startswith(stderr) and bool(result.stderr) == bool(stderr)
    assert "Traceback" not in result.stdout + result.stderr
    assert sorted(folder.rglob("*")) == before


def test_an_ascii_terminal_gets_only_ascii(folder: pathlib.Path) -> None:
    pool = "{machineType: g2-standard-24, nodes: {max: 2}}"
    fleet = f"{{project: acme-ml-dev, region: us-central1, pools: {{l4: {pool}}}}}"
    (folder / "Pulumi.dev.yaml").write_text(f"config: {{berth:fleet: {fleet}}}\n", encoding="utf-8")
    result = berth(folder, "plan", "dev", PYTHONIOENCODING="latin-1")
    assert result.returncode == 0 and r"0\u20134 L4" in result.stdout


def test_a_fault_of_berths_own_is_a_line_too(folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless one asks where it is."""
    broken = "from berth.cli import check, run_command; check.evaluate_stack = lambda *_: 1 / 0; run_command()"
    monkeypatch.setitem(globals(), "MAIN", broken)
    result = berth(folder, "check", "dev")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == (
        "internal error in berth: ZeroDivisionError: division by zero; set BERTH_TRACEBACK=1 to see the traceback\n"
    )
    assert "Traceback" in berth(folder, "check", "dev", BERTH_TRACEBACK="1").stderr


# --- hostile files ----------------------------------------------------------------------------------------------------

LONG = "a" * 300
MERGES = "a: &a {x: 1}\n" + "".join(
    f"{new}: &{new} {{<<: [{', '.join([f'*{old}'] * 10)}]}}\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
"""Merge keys that would make 10⁸ entries."""
ALIASES = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
PADDING = "# " + "x" * (1 << 20)
"""Makes a file larger than what is read with lines."""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: a, namespace: vision, labels: {kueue.x-k8s.io/queue-name: train}}
spec:
  template:
    spec: {containers: [{name: main, image: x, resources: {limits: {nvidia.com/gpu: "DIGITS"}}}], restartPolicy: Never}
"""
HOSTILE_FILES = {
    "merges.yaml": MERGES + PADDING,
    "aliases.yaml": ALIASES + PADDING,
    "digits.yaml": JOB.replace("DIGITS", "9" * 20_000),
    "unquoted-digits.yaml": JOB.replace('"DIGITS"', "9" * 20_000) + PADDING,
    "date.yaml": JOB.replace('"DIGITS"', "2026-99-99") + PADDING,
    "deep.json": "[" * 100_000 + "]" * 100_000,
    "deep-objects.json": '{"items": ' * 500 + "1" + "}" * 500,
    "digits.json": '{"steps": ' + "9" * 20_000 + "}",
    "latin.json": '{"a": "\xff"}',
}


@pytest.fixture
def hostile(folder: pathlib.Path) -> pathlib.Path:
    """The folder of stacks, with hostile files, a pipe without a writer, and a directory."""
    for name, text in HOSTILE_FILES.items():
        (folder / name).write_text(text, encoding="latin-1")
    (folder / "job.yaml").write_text(JOB.replace("DIGITS", "1"), encoding="utf-8")
    (folder / "directory").mkdir()
    os.mkfifo(folder / "pipe")
    return folder


_YAML_VERBS = ("lint dev", "admit dev", "admit --cases", "plan dev --prices")
_JSON_VERBS = ("admit dev --live", "adopt new", "guard dev")
_REFUSALS = [
    *(
        (verb, name)
        for verb in (*_YAML_VERBS, *_JSON_VERBS, "check dev --policy", "simulate dev")
        for name in ("pipe", "/dev/zero", LONG, "directory")
    ),
    *((verb, name) for verb in _YAML_VERBS for name in HOSTILE_FILES if name.endswith(".yaml")),
    *((verb, name) for verb in _JSON_VERBS for name in HOSTILE_FILES if name.endswith(".json")),
]


@pytest.mark.parametrize(("verb", "name"), _REFUSALS)
def test_a_hostile_file_is_refused_in_a_line(
    hostile: pathlib.Path, verb: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within seconds, and without more memory than a small file takes."""
    monkeypatch.chdir(hostile)
    with limits(seconds=20):
        result = CliRunner().invoke(app, [*verb.split(), name])
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code in (1, 2)
    assert result.output.strip()
    assert all(line.isprintable() and len(line) < 700 for line in result.output.splitlines())


@contextlib.contextmanager
def limits(seconds: int) -> Generator[None]:
    """Fail after so many seconds, also while a file is being opened; a TimeoutError would be an OSError of the file."""

    def stop(*_: object) -> None:
        raise AssertionError(f"not within {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    ("verb", "output"),
    [
        *((verb, "directory") for verb in ("drain", "report", "graph")),
        *((verb, output) for verb in ("drain", "report", "graph", "render") for output in (LONG, "/proc/none/file")),
    ],
)
def test_a_file_that_cannot_be_written_is_a_line(
    hostile: pathlib.Path, verb: str, output: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(hostile)
    result = CliRunner().invoke(app, [verb, "dev", "-o", output])
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code in (1, 2)
    assert "cannot be written" in result.stderr


@pytest.mark.parametrize("stack", ["größe", "\u0661", "a" * 300, "a b", "-", "..", "dev\n"])
@pytest.mark.parametrize("verb", ["check", "plan", "preview", "drain", "render", "report", "graph", "split"])
def test_an_unusual_stack_name_gives_one_line(
    folder: pathlib.Path, verb: str, stack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the name of a stack that is missing, and of one whose file is there."""
    monkeypatch.chdir(folder)
    with contextlib.suppress(OSError):
        shutil.copy("Pulumi.dev.yaml", f"Pulumi.{stack}.yaml")
    result = CliRunner().invoke(app, [verb, "--", stack])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code in (0, 1, 2)
