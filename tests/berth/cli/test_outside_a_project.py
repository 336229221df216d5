"""A verb outside a project does not read the checkout that Berth was installed from."""

from __future__ import annotations

import pathlib

import pytest
from typer.testing import CliRunner

from berth.cli import app


@pytest.mark.parametrize("words", [["check", "dev"], ["plan", "dev"], ["render", "dev"], ["graph", "dev"]])
def test_a_stack_of_the_checkout_is_not_read(
    words: list[str], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 1
    assert "no stack 'dev': there is no Pulumi.yaml here or in a directory above" in done.stdout + done.stderr
