"""`berth check`: faults and warnings as lines, JSON or GitHub Actions annotations."""

from __future__ import annotations

import pathlib
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import typer

from berth.cli import terminal
from berth.cli.arguments import (
    EXIT_FAULTS,
    EXIT_OK,
    AllOption,
    complete_stack,
    format_json,
    or_examples,
    project_root,
)
from berth.diagnostics import Severity, printable
from berth.diagnostics.listing import count_problems
from berth.document import Lines
from berth.document.text import problem_lines
from berth.evaluate import Evaluation, evaluate_stack

if TYPE_CHECKING:
    from berth.policy import PolicyRun

VERSION = 1
"""Version of the JSON output; increased when a key changes its meaning or is removed."""

_LEVELS = {Severity.FAULT: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
_PLACE = re.compile(r"(?P<file>.*?)(?::(?P<line>\d+))?(?::(?P<col>\d+))?", re.DOTALL)
_MESSAGE_ESCAPES = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY_ESCAPES = _MESSAGE_ESCAPES | str.maketrans({":": "%3A", ",": "%2C"})


EPILOG = "Example: berth check dev stacks/examples/multislice.yaml"


def check_command(
    stacks: Annotated[
        list[str],
        typer.Argument(
            metavar="STACK",
            help="Names of stacks or examples, or paths to stack files.",
            autocompletion=complete_stack,
            callback=or_examples,
        ),
    ],
    output_format: Annotated[
        Literal["text", "json", "github", "markdown", "sarif"],
        typer.Option(
            "--format",
            help="github prints annotations for a pull request, markdown what policies say, for a comment, sarif a "
            "log for code scanning.",
        ),
    ] = "text",
    policies: Annotated[
        list[pathlib.Path] | None,
        typer.Option("--policy", metavar="FILE", help="A file with your own rules, or a folder of them; repeatable."),
    ] = None,
    policy_root: Annotated[
        pathlib.Path | None,
        typer.Option(metavar="FOLDER", help="Folder that --policy and the files that policies read are relative to."),
    ] = None,
    everything: AllOption = False,
) -> None:
    """Check stack files for faults and warnings.

    Validates stack files, compares guarantees with capacity, and prints faults and warnings, one a line.
    """
    evaluations = [evaluate_stack(stack, project_root()) for stack in stacks]
    runs: list[tuple[PolicyRun, ...]] = [() for _ in evaluations]
    if policies:
        from berth.policy import apply_policies

        root = policy_root or pathlib.Path()
        applied = [apply_policies(evaluation, policies, root) for evaluation in evaluations]
        evaluations, runs = [each for each, _ in applied], [each for _, each in applied]
    if output_format == "json":
        document = checks_as_json(evaluations)
        for stack, rules in zip(document["stacks"], runs, strict=True):
            stack |= {"policies": [msgspec.to_builtins(rule) for rule in rules]} if policies else {}
        typer.echo(format_json(document))
    for line in _for_programs(evaluations, output_format):
        typer.echo(line)
    for evaluation, rules in zip(evaluations, runs, strict=True) if output_format == "markdown" else ():
        typer.echo(_policies_as_markdown(evaluation, rules), nl=False)
    for evaluation, rules in zip(evaluations, runs, strict=True) if output_format == "text" else ():
        problems = (*evaluation.faults, *evaluation.warnings, *evaluation.accepted_risks)
        for line in problem_lines(problems, coloured=terminal.is_coloured(sys.stdout), everything=everything):
            typer.echo(line)
        for rule in rules:
            typer.echo(f"policy {printable(rule.line)}")
        if policies and not rules:
            typer.echo("policy: no rule ran")
        typer.echo(f"{printable(evaluation.stack)}: {count_problems(problems)}")
    raise typer.Exit(EXIT_FAULTS if any(v.faults for v in evaluations) else EXIT_OK)


def _for_programs(evaluations: Sequence[Evaluation], output_format: str) -> Iterator[str]:
    """Yield the output of formats that other programs read besides JSON."""
    if output_format == "github":
        yield from as_annotations(evaluations)
    elif output_format == "sarif":
        from berth.diagnostics.sarif import sarif_log

        yield format_json(sarif_log(problem for each in evaluations for problem in each.problems))


def _policies_as_markdown(evaluation: Evaluation, rules: Sequence[PolicyRun]) -> str:
    """Return what policies say of a stack: what they found, and which rules ran."""
    from berth.document.markdown import render_markdown

    codes = {"policy-failed", *(rule.rule.replace("_", "-") for rule in rules)}
    found = [each.line() for each in (*evaluation.faults, *evaluation.warnings) if each.code in codes]
    ran = [rule.line for rule in rules] or ["no rule ran"]
    return render_markdown((Lines("Found by policies", found, whole=True), Lines("Policies", ran, whole=True)))


def checks_as_json(evaluations: Iterable[Evaluation]) -> dict[str, Any]:
    """Return each stack with its problems, in the format of `berth plan --json`; `sound` is true without faults."""
    stacks = [
        {"stack": v.stack, "sound": not v.faults, "problems": [each.as_json() for each in v.problems]}
        for v in evaluations
    ]
    return {"version": VERSION, "stacks": stacks}


def as_annotations(evaluations: Iterable[Evaluation]) -> Iterator[str]:
    """Yield workflow commands that mark lines of a pull request; a problem without a place marks none.

    Source: GitHub documentation, "Workflow commands for GitHub Actions", "Setting an error message".
    """
    for problem in (problem for evaluation in evaluations for problem in evaluation.problems):
        match = _PLACE.fullmatch(problem.place)
        location = {key: text for key, text in match.groupdict().items() if text} if match else {}
        properties = {**location, "title": problem.code}
        place = ",".join(f"{key}={text.translate(_PROPERTY_ESCAPES)}" for key, text in properties.items())
        yield f"::{_LEVELS[problem.severity]} {place}::{problem.text_with_code().translate(_MESSAGE_ESCAPES)}"
