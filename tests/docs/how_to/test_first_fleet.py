"""docs/how-to/first-fleet.md: five fleets from words to a file without errors, by typing what messages say."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from berth.cli import app
from tests.stack_files import ROOT

PAGE = (ROOT / "docs" / "how-to" / "first-fleet.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MAX_COMMANDS, MAX_ROUNDS = 6, 2


@pytest.mark.parametrize("title", SECTIONS)
def test_a_fleet_is_sound_after_the_commands_and_rounds_of_the_page(
    title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in ("Pulumi.yaml", "Pulumi.dev.yaml", "Pulumi.local.yaml"):
        shutil.copy(ROOT / file, tmp_path)
    shutil.copytree(ROOT / "stacks", tmp_path / "stacks")
    monkeypatch.chdir(tmp_path)
    words, _, _ = SECTIONS[title].partition("```")
    commands, rounds, shown = 0, 0, ""
    for language, block in BLOCK.findall(SECTIONS[title]):
        if language == "diff":
            rounds += bool(re.search("^(Pulumi.*: )?(error|warning): ", shown, re.MULTILINE))
            edit(tmp_path, block, f"{words}\n{shown}" if shown else None)
        elif language == "text":
            assert [line for line in block.splitlines() if line not in shown] == []
        else:
            for command in block.splitlines():
                done = CliRunner().invoke(app, shlex.split(command)[1:])
                commands, shown = commands + 1, done.output if command.startswith("berth check") else ""
    assert commands <= MAX_COMMANDS
    assert rounds <= MAX_ROUNDS
    last = [each for language, block in BLOCK.findall(SECTIONS[title]) if not language for each in block.splitlines()]
    check = next(each for each in reversed(last) if each.startswith("berth check"))
    done = CliRunner().invoke(app, shlex.split(check)[1:])
    assert (done.exit_code, "error" in done.output.replace("no errors", "")) == (0, False), done.output


def edit(folder: Path, block: str, known: str | None) -> None:
    """Replace text in a file; what a correction adds is in the words of the fleet or in the messages (`known`)."""
    name, *lines = block.splitlines()
    file = folder / name.removeprefix("--- ")
    text = file.read_text(encoding="utf-8")
    old: str | None = None
    added: list[str] = []
    for line in [*lines, "-"]:
        if line.startswith("-"):
            if old is not None:
                assert old in text, old
                text = text.replace(old, "\n".join(added))
                fresh = set(re.findall(r"[\w./-]+", " ".join(added))) - set(re.findall(r"[\w./-]+", old))
                assert known is None or [word for word in fresh if word not in known] == []
            old, added = line[1:], []
        else:
            added.append(line[1:])
    file.write_text(text, encoding="utf-8")


def test_there_are_five_fleets_of_different_kinds() -> None:
    assert len(SECTIONS) == 5
    examples = set(re.findall(r"--from ([\w-]+)", PAGE))
    assert {"dev", "existing-gke", "inference", "local"} <= examples
