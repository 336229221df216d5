"""Warnings that a stack file accepts: what becomes a note, and what stays a warning."""

from __future__ import annotations

import pathlib
import shutil

import pytest
from typer.testing import CliRunner

from berth.cli import app
from berth.diagnostics import Problem, Severity
from berth.diagnostics.acceptance import accept_warnings
from tests.stack_files import ALL_STACKS, evaluation

OPEN = Problem(Severity.WARNING, "open", ("cluster",), "is open")


def lines(problems: tuple[Problem, ...]) -> list[str]:
    """The problems as lines."""
    return [each.line() for each in problems]


def test_an_accepted_warning_is_a_note_with_its_reason() -> None:
    assert lines(accept_warnings([OPEN], {"open": "a lab"})) == [
        "note: cluster: is open; accepted with the reason: 'a lab' [open]"
    ]


@pytest.mark.parametrize("code", ["region-unknown", "placeholder"])
def test_an_unknown_value_and_a_placeholder_stay_warnings(code: str) -> None:
    kept, idle = accept_warnings([Problem(Severity.WARNING, code, ("region",), "is new")], {code: "why"})
    assert kept.severity == Severity.WARNING
    assert idle.message == f"'{code}' cannot be accepted; remove acceptWarnings.{code}"


def test_a_fault_is_never_accepted() -> None:
    fault = Problem(Severity.FAULT, "open", (), "is wrong")
    assert accept_warnings([fault], {"open": "why"}) == (fault,)


@pytest.mark.parametrize("stack", [name for name, file in ALL_STACKS.items() if file.parent.name == "examples"])
def test_an_example_prints_no_ordinary_warning(stack: str) -> None:
    """Of an example, `berth check` prints accepted risks, as notes, and what depends on the day."""
    assert lines(evaluation(stack).warnings) == []


def test_the_reasons_of_an_example_are_not_those_of_its_copy(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy("Pulumi.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    command = ["init", "new", "--from", "multislice", "--project", "acme-ml", "--region", "us-central1"]
    result = CliRunner().invoke(app, [*command, "--zone", "us-central1-a", "--team", "vision"])
    assert "has no exclusion" in CliRunner().invoke(app, ["check", "new"]).stdout, result.output
    assert "acceptWarnings" not in (tmp_path / "Pulumi.new.yaml").read_text(encoding="utf-8")


def test_a_pull_request_that_opens_and_accepts_at_once_shows_the_risk(tmp_path: pathlib.Path) -> None:
    text = pathlib.Path("stacks/examples/hotswap.yaml").read_text(encoding="utf-8")
    closed = text.replace("      name: hotswap\n", "      name: hotswap\n      controlPlane: {publicEndpoint: false}\n")
    (tmp_path / "Pulumi.old.yaml").write_text(closed, encoding="utf-8")
    (tmp_path / "Pulumi.new.yaml").write_text(text, encoding="utf-8")
    result = CliRunner().invoke(app, ["diff", str(tmp_path / "Pulumi.old.yaml"), str(tmp_path / "Pulumi.new.yaml")])
    assert "open to every address" in result.stdout
