"""`berth admit`: Kueue's decisions on the queues of a stack, simulated."""

from __future__ import annotations

import pathlib
from typing import Annotated

import typer

from berth.cli import terminal
from berth.cli.arguments import EXIT_FAULTS, EXIT_OK, JsonOption, format_json, print_problems, project_root
from berth.diagnostics import Severity

EPILOG = "Example: berth admit stacks/scenarios/multislice.yaml"


def command(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="STACK [NEW] JOBS",
            help="A stack, or two to compare; then manifests, folders of them and scenarios, in the order of arrival.",
        ),
    ] = None,
    live: Annotated[
        list[pathlib.Path] | None,
        typer.Option("--live", help="Begin with what `kubectl get workloads,clusterqueues -A -o json` printed."),
    ] = None,
    cases: Annotated[
        pathlib.Path | None, typer.Option("--cases", help="Answer recorded cases instead, and say how far it agrees.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Say who gets in, who waits and why, who is pushed out.

    Runs Kueue's decisions on the queues of a stack, without a cluster; of two stacks it shows only what differs.
    """
    from berth.cli.admit import output, simulate

    if bool(cases) == bool(arguments or live):
        raise typer.BadParameter("write STACK JOBS..., a scenario that names its stack, or --cases FILE")
    with terminal.progress("simulating"):
        if cases is not None:
            answers, text, problems = simulate.answer_cases(cases)
            value: object = answers
        else:
            result = simulate.run(arguments or (), live or (), project_root())
            value, text, problems = output.as_json(result), output.text(result), result.problems
    has_faults = any(problem.severity == Severity.FAULT for problem in problems)
    if not as_json or (cases and has_faults):
        print_problems(problems)
    if as_json or not has_faults:
        typer.echo(format_json(value) if as_json else text)
    raise typer.Exit(EXIT_FAULTS if has_faults else EXIT_OK)
