"""Compare what `berth diff` prints for each edit with goldens: all as text, a dozen as Markdown and JSON too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from berth.backends.interface import compare
from berth.cli.diff.as_json import changes_as_json
from berth.diff.document import changes_document
from berth.document.markdown import render_markdown
from berth.document.text import render_text
from tests.berth.diff.edits.edited import SUBJECTS, Subject, plan
from tests.stack_files import assert_golden

GOLDEN = Path(__file__).parent / "golden"

every_edit = pytest.mark.parametrize(
    ("subject", "edit", "golden"),
    [pytest.param(s, e, f"{begin}{e}", id=f"{begin}{e}") for begin, s in SUBJECTS.items() for e in s.edits],
)

IN_DETAIL = (
    *("ack-quota-moved", "alerts-changed", "cluster-renamed", "managed-worker-taken-out", "pool-taken-out"),
    *("priorities-swapped", "quota-moved", "reservation-moved", "roles-given", "team-removed"),
    *("team-stack-image-changed", "topology-changed-and-allowed"),
)
"""Edits that are also compared as Markdown and as JSON: one of each kind of change."""
detailed_edits = pytest.mark.parametrize(
    ("subject", "edit", "golden"),
    [
        pytest.param(subject, edit, f"{prefix}{edit}", id=f"{prefix}{edit}")
        for prefix, subject in SUBJECTS.items()
        for edit in subject.edits
        if f"{prefix}{edit}" in IN_DETAIL
    ],
)


@every_edit
def test_golden_of_an_edit_in_a_terminal(subject: Subject, edit: str, golden: str) -> None:
    assert_golden(render_text(changes_document(subject.changes(edit))) + "\n", GOLDEN / f"{golden}.txt")


@detailed_edits
def test_golden_of_an_edit_as_a_comment(subject: Subject, edit: str, golden: str) -> None:
    assert_golden(render_markdown(changes_document(subject.changes(edit))), GOLDEN / f"{golden}.md")


@detailed_edits
def test_golden_of_an_edit_as_json(subject: Subject, edit: str, golden: str) -> None:
    document = json.dumps(changes_as_json(subject.changes(edit), "old", "new"), indent=1, ensure_ascii=False)
    assert_golden(document + "\n", GOLDEN / f"{golden}.json")


def test_golden_of_a_drained_team_that_is_removed() -> None:
    """Nothing of it is guarded: it was stopped in the change before, and runs nothing any more."""
    changes = compare(plan("team-drained"), plan("team-removed"))
    assert_golden(render_text(changes_document(changes)) + "\n", GOLDEN / "team-removed-after-it-was-drained.txt")
    assert changes.losses
    assert not changes.blocked
