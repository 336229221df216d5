"""`berth admit`: simulate Kueue's admission of jobs on the queues of a stack."""

from __future__ import annotations

import pathlib
from typing import Annotated

import typer

from berth.cli import terminal
from berth.cli.arguments import (
    EXIT_FAULTS,
    EXIT_OK,
    JsonOption,
    or_examples,
    print_answer,
    print_problems,
    project_root,
)
from berth.diagnostics import Severity
from berth.document import Block, Note

EPILOG = "Example: berth admit stacks/scenarios/multislice.yaml"


def admit_command(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="STACK [NEW] JOBS",
            callback=or_examples,
            help="One stack, or two to compare; then manifests, folders, scenarios or - (stdin), in order of arrival.",
        ),
    ] = None,
    live: Annotated[
        list[pathlib.Path] | None,
        typer.Option(
            "--live", metavar="FILE", help="Start from the output of `kubectl get workloads,clusterqueues -A -o json`."
        ),
    ] = None,
    team: Annotated[
        str | None, typer.Option("--team", help="The team that submits them; its namespace is the default.")
    ] = None,
    history: Annotated[
        pathlib.Path | None,
        typer.Option(
            "--history",
            metavar="TRACE",
            help="Forecast when waiting jobs start, from jobs that ran: a trace, or finished Workloads of kubectl.",
        ),
    ] = None,
    cases: Annotated[
        pathlib.Path | None,
        typer.Option(
            "--cases", metavar="FILE", help="Replay recorded decisions of Kueue instead, and count agreements."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Simulate admission: which jobs start, wait or are preempted.

    Simulates Kueue's decisions on the queues of a stack, without a cluster. With two stacks, shows the jobs whose
    result differs.
    """
    from berth.cli.admit import output, simulate
    from berth.cli.admit.cases import answer_cases

    if bool(cases) == bool(arguments or live or history):
        raise typer.BadParameter("write STACK JOBS..., a scenario that names its stack, or --cases FILE")
    with terminal.progress("simulating"):
        if cases is not None:
            answers, text, problems = answer_cases(cases)
            value: object = answers
            document: list[Block] = [Note(text.splitlines())]
        else:
            result = simulate.simulate_arguments(arguments or (), live or (), project_root(), team, history)
            value, document, problems = (
                output.simulation_as_json(result),
                list(output.simulation_document(result)),
                result.problems,
            )
    has_faults = any(problem.severity == Severity.FAULT for problem in problems)
    is_useless = cases is not None and has_faults
    if not as_json or is_useless:
        print_problems(problems)
    if not is_useless and (as_json or document):
        print_answer(document, value if as_json else None)
    raise typer.Exit(EXIT_FAULTS if has_faults else EXIT_OK)
