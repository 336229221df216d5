"""docs/how-to: each page begins with a whole stack file, which is sound, and its commands run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from berth.cli import app
from tests.stack_files import ROOT

PAGES = {page.stem: page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs" / "how-to").glob("*.md"))}
del PAGES["first-fleet"]  # from init to a stack file: tests/docs/how_to/test_first_fleet.py
ACCEPTED = {"zone-unknown", "resize-requests"}
"""Warnings that a sound file of these pages may have: they are of Google's facts, not of the file."""


@pytest.mark.parametrize("name", PAGES)
def test_the_stack_file_of_a_page_is_sound_and_its_commands_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = PAGES[name]
    title, fence, rest = page.partition("\n\n```yaml\n")
    assert fence, "a page begins with its stack file"
    assert re.fullmatch(r"# [^\n]+", title)
    (tmp_path / "Pulumi.yaml").write_bytes((ROOT / "Pulumi.yaml").read_bytes())
    (tmp_path / "Pulumi.prod.yaml").write_text(rest.partition("```\n")[0], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", page, flags=re.M | re.S)
    for language, block in blocks[1:]:
        if language == "yaml" and (named := re.match(r"# ([\w./-]+\.yaml)\n", block)):
            (tmp_path / named[1]).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / named[1]).write_text(block, encoding="utf-8")
    commands = [line for language, block in blocks if not language for line in block.splitlines()]
    assert commands[0] == "berth check STACK"
    for command in commands:
        done = CliRunner().invoke(app, shlex.split(command.replace("STACK", "prod"))[1:])
        assert done.exit_code == 0, (command, done.output)
        if command == "berth check STACK":
            codes = set(re.findall(r": warning: .*\[([\w-]+)\]$", done.output, flags=re.M))
            assert codes <= ACCEPTED, done.output
