"""Jobs that have quota and nodes, and lack something around their pods: every line of `berth lint`."""

from __future__ import annotations

import os
import pathlib
import re
import shutil

import pytest
from typer.testing import CliRunner

from berth.cli import app
from tests.berth.bad_input.cases import Case, parsed
from tests.problem_lines import without_codes
from tests.stack_files import ROOT

HERE = pathlib.Path(__file__).parent
BASES = {file.stem: file.read_text(encoding="utf-8") for file in sorted((HERE / "base").glob("*.yaml"))}
TABLES = {file.stem: file for file in sorted(HERE.glob("*.txt"))}
CASES = {
    f"{table}: {case.claim}": case
    for table, file in TABLES.items()
    for case in parsed(file.read_text(encoding="utf-8"))
}


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """Return a project's folder, the current directory, with the stack and the valid manifests."""
    (tmp_path / "Pulumi.yaml").write_text("name: berth\nruntime: python\n")
    shutil.copy(HERE / "stack.yaml", tmp_path / "Pulumi.lab.yaml")
    for name, text in BASES.items():
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lint(folder: pathlib.Path, case: Case) -> list[str]:
    """Return the lines of `berth lint` for a case's manifest or, where an edit is of the stack, with that stack."""
    base = case.claim.partition(":")[0]
    files = {f"{base}.yaml": BASES[base], "Pulumi.lab.yaml": (HERE / "stack.yaml").read_text(encoding="utf-8")}
    for old, new in case.edits:
        (name,) = [each for each, text in files.items() if text.count(old) == 1]
        files[name] = files[name].replace(old, new)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    result = CliRunner().invoke(app, ["lint", "lab", f"{base}.yaml"])
    assert result.stderr == ""
    assert not re.search(r"Traceback|\b(None|True|False|dict|tuple|str)\b", result.stdout)
    lines = without_codes(result.stdout).splitlines()
    problems = [line for line in lines if not re.fullmatch(r"\d+ errors?.*|no errors.*", line)]
    assert result.exit_code == (1 if any(": error: " in line for line in result.stdout.splitlines()) else 0)
    return problems


@pytest.mark.parametrize("base", BASES)
def test_a_base_has_no_problem(folder: pathlib.Path, base: str) -> None:
    (line,) = lint(folder, Case(f"{base}: as it is", (), ()))
    assert "can admit" in line


@pytest.mark.parametrize("claim", CASES)
def test_every_line_of_a_case(folder: pathlib.Path, claim: str) -> None:
    case = CASES[claim]
    lines = lint(folder, case)
    if os.environ.get("BERTH_GOLDEN") == "write":
        _rewrite(claim, lines)
    else:
        assert lines == list(case.lines)
    assert any("error" in line or "warning" in line or "can admit" not in line for line in lines)


@pytest.mark.parametrize(
    ("topology", "exit_code", "message"),
    [
        ("4x4", 0, "warning: JobSet/slices: not checked: whether the cluster, which Berth does not create, has GKE's"),
        ("3x3", 1, "JobSet/slices: '3x3' is no slice of ct5lp-hightpu-4t; write one such as 2x2, 2x4, 4x4"),
    ],
)
def test_a_dynamic_slice_on_a_cluster_of_others(
    topology: str, exit_code: int, message: str, tmp_path: pathlib.Path
) -> None:
    """Somebody else may have its slice controller; a shape that cannot be formed is refused there too."""
    text = BASES["slices"].replace("namespace: llm", "namespace: research").replace("netdev-2", "nics")
    annotation = f"{{cloud.google.com/gke-tpu-slice-topology: {topology}}}"
    (tmp_path / "job.yaml").write_text(text.replace("{example.com/owner: llm}", annotation), encoding="utf-8")
    result = CliRunner().invoke(
        app, ["lint", str(ROOT / "stacks/examples/existing-gke.yaml"), str(tmp_path / "job.yaml")]
    )
    assert message in without_codes(result.stdout)
    assert ("not checked: whether the cluster" in result.stdout) is (exit_code == 0)


def _rewrite(claim: str, lines: list[str]) -> None:
    """Put the lines of a case into its table."""
    table, _, title = claim.partition(": ")
    blocks = re.split(r"(?m)^(?=== )", TABLES[table].read_text(encoding="utf-8"))
    for index, block in enumerate(blocks):
        if block.startswith(f"== {title}\n"):
            kept = [line for line in block.rstrip().split("\n") if not line.startswith("!")]
            blocks[index] = "\n".join([*kept, *(f"! {line}" for line in lines)]) + "\n\n"
    TABLES[table].write_text("".join(blocks).rstrip() + "\n", encoding="utf-8")
