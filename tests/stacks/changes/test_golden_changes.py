"""What `berth diff` says of each edit, in all three formats, against goldens that are read like code."""

from __future__ import annotations

import json

import pytest

from stacks.changes.whole import compare
from stacks.cli import diff, diff_markdown
from tests.stack_files import is_golden
from tests.stacks.changes.edited import EDITS, HERE, changes, plan

every_edit = pytest.mark.parametrize("edit", EDITS)


@every_edit
def test_golden_of_an_edit_in_a_terminal(edit: str) -> None:
    is_golden(diff.text(changes(edit)) + "\n", HERE / "golden" / f"{edit}.txt")


@every_edit
def test_golden_of_an_edit_as_a_comment(edit: str) -> None:
    is_golden(diff_markdown.markdown(changes(edit)), HERE / "golden" / f"{edit}.md")


@every_edit
def test_golden_of_an_edit_as_json(edit: str) -> None:
    found = json.dumps(diff.as_json(changes(edit), "old", "new"), indent=1, ensure_ascii=False)
    is_golden(found + "\n", HERE / "golden" / f"{edit}.json")


def test_golden_of_a_drained_team_that_is_removed() -> None:
    """Nothing of it is guarded: it was stopped in the change before, and runs nothing any more."""
    found = compare(plan("team-drained"), plan("team-removed"))
    is_golden(diff.text(found) + "\n", HERE / "golden" / "team-removed-after-it-was-drained.txt")
    assert found.losses
    assert not found.guarded
