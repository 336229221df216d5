"""`berth test`: what a stack must do with jobs, as assertions in a file beside it."""

from __future__ import annotations

import pathlib
from typing import Annotated

import typer

from berth.cli import terminal
from berth.cli.arguments import EXIT_FAULTS, JsonOption, StackArgument, print_answer, print_problems, project_root
from berth.diagnostics import Severity

EPILOG = "Example: berth test dev"


def test_command(
    stack: StackArgument,
    files: Annotated[
        list[pathlib.Path] | None,
        typer.Argument(metavar="[FILE]...", help="Files of assertions (assertions/NAME.yaml beside the stack file)."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check assertions about admission, preemption and waiting.

    Simulates the jobs and traces of each test, compares what happens with what the test expects, and exits 1 if an
    assertion fails.
    """
    from berth.cli.test import checks

    with terminal.progress("testing"):
        result = checks.run_tests(stack, files or [], project_root())
    print_problems(result.problems)
    if result.outcomes:
        print_answer(checks.outcomes_document(result), checks.outcomes_as_json(result) if as_json else None)
    has_faults = any(problem.severity == Severity.FAULT for problem in result.problems)
    if has_faults or not all(outcome.holds for outcome in result.outcomes):
        raise typer.Exit(EXIT_FAULTS)
