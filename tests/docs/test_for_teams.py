"""docs/for-teams.md: every `berth` command of the page runs, as it stands there."""

from __future__ import annotations

import os
import pathlib
import re
import shlex

import pytest
from typer.testing import CliRunner

from berth.cli import app
from berth.why.words import all_words

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "for-teams.md"
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
LINES = [line for language, block in BLOCKS if not language for line in block.splitlines()]
COMMANDS = [line for line in LINES if line.startswith("berth ")]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_page_runs(command: str) -> None:
    """With exit status 0 and an answer."""
    _, *words = shlex.split(command, comments=True)
    done = CliRunner().invoke(app, words)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout


def test_the_page_shows_the_verbs_that_a_team_needs_and_nothing_else_than_commands() -> None:
    assert {shlex.split(line)[1] for line in COMMANDS} == {"check", "plan", "workload", "lint", "admit"}
    assert [line for line in LINES if not line.startswith(("berth ", "kubectl "))] == []


_BEGIN, _END = "<!-- words of kueue -->\n", "<!-- end of words -->"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("{", "<").replace("}", ">")


def test_the_golden_table_of_reasons_has_every_text_of_kueue() -> None:
    """Written with BERTH_GOLDEN=write (`make golden`)."""
    rows = [f"| `{_cell(each.shown)}` | {_cell(each.means)} | {each.helps} |" for each in all_words()]
    table = "\n".join(["| Kueue writes | it means | what helps |", "| --- | --- | --- |", *rows, ""])
    page = PAGE.read_text(encoding="utf-8")
    head, _, rest = page.partition(_BEGIN)
    written = f"{head}{_BEGIN}{table}{_END}{rest.partition(_END)[2]}"
    if os.environ.get("BERTH_GOLDEN") == "write":
        PAGE.write_text(written, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == written


def test_the_page_begins_with_how_to_get_berth() -> None:
    assert PAGE.read_text(encoding="utf-8").startswith("# For a team lead\n\n## Get berth\n\n`pipx install")
