"""`berth lint`: whether manifests can ever be admitted and run, and why not."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any

import typer
from msgspec import Struct

from berth.cli import terminal
from berth.cli.arguments import (
    EXIT_FAULTS,
    EXIT_OK,
    AllOption,
    JsonOption,
    StackArgument,
    evaluate_or_exit,
    format_json,
    project_root,
)
from berth.cli.manifests import read_files
from berth.diagnostics import Problem, Severity, did_you_mean, join_quoted, printable
from berth.diagnostics.listing import count_problems
from berth.document.text import problem_lines
from berth.evaluate import Evaluation
from berth.lint.findings import Finding, lint_documents
from berth.lint.fleet import LintContext

VERSION = 1
"""Version of the JSON of `berth lint`."""

EPILOG = "Example: berth lint dev stacks/jobs/train.yaml --team vision"


def lint_command(
    stack: StackArgument,
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="Manifests, folders of them, or - for stdin.")],
    team: Annotated[
        str | None, typer.Option("--team", help="The team that submits them; its namespace is the default.")
    ] = None,
    print_json: JsonOption = False,
    everything: AllOption = False,
    sarif: Annotated[bool, typer.Option("--sarif", help="Print a SARIF log for code scanning instead.")] = False,
) -> None:
    """Check whether jobs can ever be admitted and run.

    Compares manifests with a stack's queues, priorities, machines and ceilings, and prints each fault with its line.
    """
    evaluation = evaluate_or_exit(stack)

    result = lint_files(evaluation, files, team, project_root())
    problems = [*result.problems, *(each for finding in result.findings for each in finding.named_problems())]
    if print_json:
        typer.echo(format_json(lint_as_json(result)))
    elif sarif:
        from berth.diagnostics.sarif import sarif_log

        typer.echo(format_json(sarif_log(problems)))
    else:
        for line in problem_lines(problems, coloured=terminal.is_coloured(sys.stdout), everything=everything):
            typer.echo(line)
        for line in admission_lines(result.findings):
            typer.echo(printable(line))
        if len(problems) > 1:
            typer.echo(count_problems(problems))
    raise typer.Exit(EXIT_FAULTS if result.has_faults else EXIT_OK)


class LintResult(Struct, frozen=True):
    """The findings for each object; `problems` are those of files and arguments."""

    findings: tuple[Finding, ...]
    problems: tuple[Problem, ...]

    @property
    def has_faults(self) -> bool:
        """Whether an object cannot run, or a file could not be read."""
        found = (*self.problems, *(each for finding in self.findings for each in finding.problems))
        return any(each.severity == Severity.FAULT for each in found)


def lint_files(evaluation: Evaluation, files: Sequence[str], team: str | None, root: pathlib.Path) -> LintResult:
    """Lint each object in the files, and in the files of folders."""
    fleet = LintContext(evaluation.fleet)
    teams = {each.name: each for each in evaluation.fleet.teams}
    if team is not None and team not in teams:
        hint = did_you_mean(team, teams) or f"; the teams are {join_quoted(teams)}"
        return LintResult((), (Problem(Severity.FAULT, "unknown-name", ("--team",), f"no team '{team}'{hint}"),))
    manifests = read_files(files, root)
    findings = tuple(lint_documents(manifests.documents, fleet, teams.get(team or "")))
    no_jobs = manifests.without_jobs({each.file for each in findings})
    return LintResult(findings, (*evaluation.unknown_releases, *manifests.problems, *no_jobs))


def admission_lines(findings: Iterable[Finding]) -> Iterator[str]:
    """Yield a sentence for each object without a fault, in the order of the files."""
    for finding in findings:
        if not finding.faults and finding.admission:
            subject = "it" if finding.workloads == 1 else f"each of its {finding.workloads} workloads"
            target = f"{finding.queue} can admit {subject}" if finding.queue else "can be requested"
            yield f"{finding.location}: {finding.object_name}: {target}, {finding.admission}"


def lint_as_json(result: LintResult) -> dict[str, Any]:
    """Return the result as JSON values: `objects` with their problems, and the problems of files."""
    return {
        "version": VERSION,
        "objects": [
            {
                "kind": each.kind,
                "name": each.name,
                "namespace": each.namespace,
                "place": each.location,
                "queue": each.queue or None,
                "admission": each.admission or None,
                "flavors": dict(each.flavors),
                "verdict": each.verdict,
                "reasons": [reason.message for reason in each.reasons],
                "sound": not each.faults,
                "problems": [object_problem.as_json() for object_problem in each.problems],
            }
            for each in result.findings
        ],
        "problems": [each.as_json() for each in result.problems],
    }
