"""`berth simulate`: what a trace of jobs would have met on the queues of a stack, over time."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING, Annotated

import typer

from berth.cli import terminal
from berth.cli.arguments import (
    EXIT_FAULTS,
    JsonOption,
    exit_with_problems,
    format_json,
    or_examples,
    print_answer,
    print_problems,
    project_root,
    write_output,
)
from berth.cli.prices import PricesFile, load_prices
from berth.diagnostics import Severity

if TYPE_CHECKING:
    from berth.cli.simulate.answer import Request

EPILOG = "Example: berth simulate dev stacks/traces/dev.csv"


def simulate_command(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="STACK [NEW] [TRACE]",
            callback=or_examples,
            help="One stack, or two to compare; then a trace: CSV, or a JSON object on each line.",
        ),
    ],
    from_kueue: Annotated[
        pathlib.Path | None,
        typer.Option(
            "--from-kueue", metavar="FILE", help="Finished Workloads instead: `kubectl get workloads -A -o json`."
        ),
    ] = None,
    startup: Annotated[
        list[str] | None,
        typer.Option("--startup", metavar="FLAVOR=TIME", help="Time from admission until pods work, such as 5m."),
    ] = None,
    provisioning: Annotated[
        list[str] | None,
        typer.Option("--provisioning", metavar="FLAVOR=TIME", help="Time that a flavor's admission checks take."),
    ] = None,
    lose: Annotated[
        list[str] | None,
        typer.Option(
            "--lose",
            metavar="LOSS",
            help="Machines that fail meanwhile: '1 node of POOL at 3h for 30m', or 'every 5d for 1h'.",
        ),
    ] = None,
    prices: PricesFile = None,
    generate: Annotated[
        int | None, typer.Option("--generate", metavar="SEED", help="Print a trace for the stack instead.")
    ] = None,
    days: Annotated[int, typer.Option("--days", min=1, max=366, help="With --generate: length of the trace.")] = 7,
    load: Annotated[
        float, typer.Option("--load", min=0.01, max=10, help="With --generate: need as a part of the guarantees.")
    ] = 0.8,
    svg: Annotated[
        pathlib.Path | None,
        typer.Option(metavar="FILE", help="Also write use and waiting over time as a picture, for one stack."),
    ] = None,
    with_advice: Annotated[
        bool, typer.Option("--advise", help="Try single changes of the stack, and print the best as diffs.")
    ] = False,
    bound: Annotated[
        str, typer.Option(metavar="TIME", help="With --advise: how much longer a team's jobs may wait on average.")
    ] = "5m",
    as_json: JsonOption = False,
) -> None:
    """Simulate a trace of jobs over time: waiting, use, preemptions.

    Runs the jobs of a trace on the queues of a stack, second by second, with the decisions of `berth admit`. With two
    stacks, shows the figures of both.
    """
    from berth.cli.simulate import answer, output

    if generate is not None:
        if len(arguments) != 1 or from_kueue is not None:
            raise typer.BadParameter("with --generate, name one stack and no trace")
        typer.echo(answer.generated_trace(arguments[0], project_root(), generate, days, load), nl=False)
        return
    stacks, trace = _stacks_and_trace(arguments, from_kueue)
    if svg is not None and (len(stacks) != 1 or with_advice):
        raise typer.BadParameter("with --svg, name one stack, without --advise")
    request = answer.Request(
        stacks=tuple(stacks),
        trace=trace,
        is_kueue=from_kueue is not None,
        startup=tuple(startup or ()),
        provisioning=tuple(provisioning or ()),
        lose=tuple(lose or ()),
        prices=load_prices(prices),
    )
    if with_advice:
        _advise(request, bound, as_json=as_json)
        return
    with terminal.progress("simulating"):
        result = answer.simulate(request, project_root())
    if any(problem.severity == Severity.FAULT for problem in result.problems):
        exit_with_problems(result.problems)
    if not as_json:
        print_problems(result.problems)
    if svg is not None:
        from berth.cli.simulate.picture import simulation_svg

        write_output(simulation_svg(result.summaries[0]), svg, beside_answer=True)
    print_answer(output.trace_document(result), output.trace_as_json(result) if as_json else None)
    if any(summary.looping for summary in result.summaries):
        raise typer.Exit(EXIT_FAULTS)


def _stacks_and_trace(arguments: list[str], from_kueue: pathlib.Path | None) -> tuple[list[str], pathlib.Path]:
    """Return the one or two stacks, and the file of the trace."""
    if from_kueue is not None and pathlib.Path(arguments[-1]).suffix in (".csv", ".json", ".jsonl", ".tsv"):
        raise typer.BadParameter(f"--from-kueue is the trace; remove '{arguments[-1]}'")
    stacks = arguments if from_kueue is not None else arguments[:-1]
    if not 1 <= len(stacks) <= 2:
        raise typer.BadParameter("write STACK TRACE, OLD NEW TRACE, or STACK --from-kueue FILE")
    return stacks, from_kueue or pathlib.Path(arguments[-1])


def _advise(request: Request, bound: str, *, as_json: bool) -> None:
    from berth.cli.simulate import advice
    from berth.simulator.timed.trace import parse_duration

    longest = parse_duration(bound)
    if len(request.stacks) != 1 or longest is None:
        raise typer.BadParameter("with --advise, name one stack; write --bound 5m")
    with terminal.progress("simulating changes"):
        found, problems = advice.advise(request, project_root(), longest)
    if found is None or any(problem.severity == Severity.FAULT for problem in problems):
        exit_with_problems(problems)
    print_problems(problems)
    for line in [format_json(advice.advice_as_json(found))] if as_json else advice.advice_lines(found, longest):
        typer.echo(line)
