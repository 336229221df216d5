"""A release that no table has is unknown in the answer of every verb that depends on it, and no verb refuses for it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from berth.cli import app
from tests.stack_files import ROOT

KUEUE = "Kueue '0.25.0' is unknown: it is not in Berth's table of releases of"
GKE = "'1.45' is unknown: it is not in Berth's table of GKE releases of"


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of the stack dev, with a Kueue and a GKE that no table has."""
    text = (ROOT / "Pulumi.dev.yaml").read_text(encoding="utf-8")
    assert text.count("\n    cluster:\n") == 1
    edited = text.replace("\n    cluster:\n", '\n    kueue: {version: "0.25.0"}\n    cluster:\n      version: "1.45"\n')
    (tmp_path / "Pulumi.dev.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "Pulumi.new.yaml").write_text(edited, encoding="utf-8")
    for name in ("Pulumi.yaml", "__main__.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "stacks", tmp_path / "stacks")
    for name in ("berth", "components"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    return "new"


@pytest.mark.parametrize(
    "words",
    [
        ("check", "new"),
        ("plan", "new"),
        ("preview", "new"),
        ("diff", "dev", "new"),
        ("lint", "new", "stacks/jobs/train.yaml"),
        ("admit", "new", "stacks/jobs/train.yaml"),
    ],
    ids=lambda words: words[0],
)
@pytest.mark.usefixtures("stack")
def test_an_unknown_release_is_said_to_be_unknown(words: tuple[str, ...]) -> None:
    result = CliRunner().invoke(app, list(words))
    said = " ".join(result.output.split())
    assert result.exit_code == 0, said
    assert KUEUE in said
    assert GKE in said


def test_the_headline_of_a_diff_says_it(stack: str) -> None:
    first = CliRunner().invoke(app, ["diff", "dev", stack]).stdout.splitlines()[0]
    assert "what it changes is UNKNOWN" in first
