"""What is printed of many problems: their order, equal messages, the limit, and the total."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from berth.cli import app
from berth.diagnostics import Problem, Severity
from berth.diagnostics.listing import MAX_PRINTED, count_problems, printed_problems
from tests.stack_files import GKE_STACKS

FAULT, WARNING, NOTE = Severity.FAULT, Severity.WARNING, Severity.NOTE


def problem(severity: Severity, line: int, message: str = "") -> Problem:
    """A problem at a line of one file; its message is its own unless one is given."""
    return Problem(severity, "x", ("a", line), message or f"message {line}", f"f.yaml:{line}")


def test_errors_come_first_then_warnings_each_by_position() -> None:
    mixed = [problem(NOTE, 1), problem(WARNING, 2), problem(FAULT, 3), problem(WARNING, 4), problem(FAULT, 5)]
    shown, more = printed_problems(mixed)
    assert [each.place for each in shown] == ["f.yaml:3", "f.yaml:5", "f.yaml:2", "f.yaml:4", "f.yaml:1"]
    assert more == 0


def test_equal_messages_are_one_line_with_their_number_and_names() -> None:
    shown, _ = printed_problems([problem(FAULT, line, "equal") for line in range(1, 7)] + [problem(FAULT, 9)])
    assert [each.line() for each in shown] == [
        "f.yaml:1: error: a[1]: equal (5 more like this: f.yaml:2 a[2], f.yaml:3 a[3], f.yaml:4 a[4], …) [x]",
        "f.yaml:9: error: a[9]: message 9 [x]",
    ]


def test_two_equal_messages_and_equal_words_of_two_severities_stay_as_they_are() -> None:
    pairs = [problem(FAULT, 1, "equal"), problem(FAULT, 2, "equal"), problem(WARNING, 3, "equal")]
    assert printed_problems(pairs) == (pairs, 0)


def test_at_most_so_many_are_printed_and_the_rest_is_counted() -> None:
    many = [problem(FAULT, line) for line in range(MAX_PRINTED + 7)]
    shown, more = printed_problems(many)
    assert (shown, more) == (many[:MAX_PRINTED], 7)
    assert printed_problems(many, everything=True) == (many, 0)


@pytest.mark.parametrize(
    ("severities", "total"),
    [
        ([], "no errors"),
        ([NOTE], "no errors"),
        ([FAULT], "1 error"),
        ([WARNING], "no errors, 1 warning"),
        ([FAULT, WARNING, FAULT, WARNING], "2 errors, 2 warnings"),
    ],
)
def test_the_total_counts_errors_and_warnings(severities: list[Severity], total: str) -> None:
    assert count_problems([problem(each, number) for number, each in enumerate(severities)]) == total


@pytest.mark.parametrize("verb", ["check", "plan"])
def test_all_prints_what_is_folded(verb: str, tmp_path: Path) -> None:
    """A machine that no table has is one line, and with --all one for each pool; the total counts each."""
    file = tmp_path / "Pulumi.dev.yaml"
    text = GKE_STACKS["dev"].read_text(encoding="utf-8").replace("g2-standard-24", "g2-standard-25")
    file.write_text(text.replace("teamFiles", "# teamFiles"), encoding="utf-8")
    folded, whole = (CliRunner().invoke(app, [verb, str(file), *more]).stdout.splitlines() for more in ([], ["--all"]))
    machine = "accelerator: is missing: 'g2-standard-25' is unknown"
    # The machine of the reservation is a line of its own: a reservation states no cpu and memory.
    assert [machine in line for line in folded].count(True) == 2
    assert [machine in line for line in whole].count(True) == 4
    assert [line.count("2 more like this") for line in folded if machine in line] == [0, 1]
    assert [line for line in folded if line.endswith(" errors")] == [line for line in whole if line.endswith(" errors")]


def test_a_name_with_a_line_break_makes_no_line_of_its_own() -> None:
    assert Problem(FAULT, "x", ("a\nb",), "c\x1b[31m\nd", "e\nf").line() == r'e\nf: error: "a\nb": c\x1b[31m\nd [x]'
