"""The `berth` command. One module a verb; each is imported only when it runs, so `check` never loads Pulumi."""

from __future__ import annotations

import gc
import io
import os
import pathlib
import sys
from typing import Annotated, Literal

import typer

from berth.cli import changing, reporting, starting, terminal
from berth.cli import prices as costs
from berth.cli.arguments import (
    EXIT_FAULTS,
    EXIT_OK,
    JsonOption,
    StackArgument,
    evaluate_or_exit,
    format_json,
    print_problems,
    project_root,
)
from berth.cli.workload import options
from berth.evaluate import Evaluation, evaluate_stack

TRACEBACK = "BERTH_TRACEBACK"
"""Set in the environment, it lets a fault of Berth's own through as Python shows it."""

_GC_THRESHOLD = 200_000
"""New objects from one garbage collection to the next: what a verb makes it keeps until it ends, in plain values that
no circle holds, and looking through a large fleet again and again took a fifth of the time."""

app = typer.Typer(
    name="berth",
    help="Accelerator capacity for teams, as code: check, plan and preview a fleet without any credentials.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Stacks = Annotated[list[str], typer.Argument(metavar="STACK", help="Stack names or paths to stack files.")]


def main() -> None:
    """Run the command; a reader that stops reading (`| head`) is no fault, and nobody is shown a traceback unasked."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that knows no '▸' is shown its number
            stream.reconfigure(errors="backslashreplace")
    gc.set_threshold(_GC_THRESHOLD)
    try:
        _run()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(EXIT_OK)
    except Exception as error:
        if TRACEBACK in os.environ:
            raise
        message = " ".join(f"{type(error).__name__}: {error}".split())
        typer.echo(f"berth failed, and the fault is its own: {message}; with {TRACEBACK}=1 it says where", err=True)
        sys.exit(EXIT_FAULTS)


def _run() -> None:
    """Run the app. Raises BrokenPipeError where the reader has gone, which typer takes for a failure."""
    try:
        app()
    except SystemExit as exit_request:
        if isinstance(exit_request.__context__, BrokenPipeError):
            raise exit_request.__context__ from None
        sys.stdout.flush()  # here and not when Python ends, where nobody could catch it any more
        raise


@app.command("check", epilog="Example: berth check dev stacks/examples/multislice.yaml")
def _check(
    stacks: Stacks,
    output_format: Annotated[
        Literal["text", "json", "github"], typer.Option("--format", help="github: annotations of a pull request.")
    ] = "text",
    policies: Annotated[
        list[pathlib.Path] | None,
        typer.Option("--policy", metavar="FILE", help="Rules of your own, over the plan; may be said several times."),
    ] = None,
) -> None:
    """Say whether a fleet is sound.

    Validates stack files and proves their promises; prints every fault and warning, one a line.
    """
    evaluations = [evaluate_stack(stack, project_root()) for stack in stacks]
    if policies:
        from berth.policy import apply_policies

        evaluations = [apply_policies(evaluation, policies) for evaluation in evaluations]
    if output_format != "text":
        from berth.cli import check as verb

        output_lines = (
            [format_json(verb.as_json(evaluations))] if output_format == "json" else verb.as_annotations(evaluations)
        )
        for line in output_lines:
            typer.echo(line)
    for evaluation in evaluations if output_format == "text" else ():
        for problem in (p for p in evaluation.problems if p.severity != "note"):
            typer.echo(terminal.format_problem(problem))
        if not evaluation.faults:
            typer.echo(f"{evaluation.stack}: sound{_warning_count(evaluation)}")
    raise typer.Exit(EXIT_FAULTS if any(v.faults for v in evaluations) else EXIT_OK)


@app.command("plan", epilog="Example: berth plan dev --json | jq .teams")
def _plan(stack: StackArgument, as_json: JsonOption = False, prices: costs.PricesFile = None) -> None:
    """Say what will exist, and for whom.

    Capacity, pools, what each team is guaranteed and can reach, who can push out whom, and what to worry about.
    """
    price_table = costs.load_prices(prices)
    evaluation = evaluate_stack(stack, project_root())
    costs.require_priceable(evaluation, price_table)
    if evaluation.ack_plan is not None:
        from berth.cli.plan import ack

        typer.echo(format_json(ack.as_json(evaluation)) if as_json else ack.text(evaluation))
    elif evaluation.is_team_stack:
        from berth.cli.plan import team_stack

        typer.echo(format_json(team_stack.as_json(evaluation)) if as_json else team_stack.text(evaluation))
    else:
        from berth.cli.plan import fleet as verb

        typer.echo(
            format_json(verb.as_json(evaluation, price_table)) if as_json else verb.text(evaluation, price_table)
        )
    raise typer.Exit(EXIT_FAULTS if evaluation.faults else EXIT_OK)


@app.command("preview", epilog="Example: berth preview dev --inputs | less")
def _preview(
    stack: StackArgument,
    as_json: JsonOption = False,
    inputs: Annotated[bool, typer.Option("--inputs", help="Show the inputs of every resource too.")] = False,
) -> None:
    """Show what `pulumi up` would make.

    Runs the real program on an in-process engine, without credentials, and shows every resource it registers.
    """
    evaluation = evaluate_or_exit(stack, allow_any_kind=True)
    from berth.cli import preview as verb
    from berth.engine import ProgramError

    try:
        with terminal.progress("running the program"):
            result = verb.run(evaluation, project_root())
    except ProgramError as error:
        typer.echo(f"{error}", err=True)
        raise typer.Exit(EXIT_FAULTS) from None
    typer.echo(format_json(verb.as_json(result)) if as_json else verb.tree(result, inputs))


@app.command("render", epilog="Example: berth render dev -o manifests/")
def _render(
    stack: StackArgument,
    output: Annotated[
        pathlib.Path | None, typer.Option("-o", "--output", help="A folder for one file an object; stdout otherwise.")
    ] = None,
    nodes: Annotated[bool, typer.Option("--nodes", help="Print nodes as KWOK simulates them instead.")] = False,
) -> None:
    """Print the Kubernetes objects.

    Every object as YAML, in the order in which it may be applied.
    """
    evaluation = evaluate_or_exit(stack, allow_any_kind=True)
    from berth.cli.render import output as verb
    from berth.text import pluralize

    plan = evaluation.plan_of_any_kind
    assert plan is not None
    if nodes and evaluation.plan is None:
        raise typer.BadParameter("nodes are printed of a fleet on GKE or of an existing cluster")
    if output is None:
        verb.write(plan, sys.stdout, nodes=nodes)
        return
    try:
        typer.echo(f"{pluralize(verb.write_folder(plan, output, nodes=nodes), 'object')} in {output}", err=True)
    except verb.OutputNotEmpty as error:
        typer.echo(f"{error}", err=True)
        raise typer.Exit(EXIT_FAULTS) from None
    except OSError as error:
        typer.echo(f"{error.filename}: cannot be written: {error.strerror}", err=True)
        raise typer.Exit(EXIT_FAULTS) from None


@app.command("admit", epilog="Example: berth admit stacks/scenarios/multislice.yaml")
def _admit(
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
    from berth.cli.admit import answer as verb

    if bool(cases) == bool(arguments or live):
        raise typer.BadParameter("write STACK JOBS..., a scenario that names its stack, or --cases FILE")
    with terminal.progress("simulating"):
        if cases is not None:
            answers, text, problems = verb.answer_cases(cases)
            value: object = answers
        else:
            result = verb.run(arguments or (), live or (), project_root())
            value, text, problems = verb.as_json(result), verb.text(result), result.problems
    has_faults = any(problem.severity == "fault" for problem in problems)
    if not as_json or (cases and has_faults):
        print_problems(problems)
    if as_json or not has_faults:
        typer.echo(format_json(value) if as_json else text)
    raise typer.Exit(EXIT_FAULTS if has_faults else EXIT_OK)


@app.command("workload", epilog="Example: berth workload dev vision train --slices 2 --image IMAGE -- python train.py")
def _workload(
    stack: StackArgument,
    team: options.Team,
    queue: options.Queue,
    command: options.Command = None,
    kind: options.Kind = None,
    name: options.Name = None,
    image: options.Image = None,
    slices: options.Slices = None,
    pods: options.Pods = None,
    gpus: options.Gpus = None,
    cpu: options.Cpu = None,
    memory: options.Memory = None,
    priority: options.Priority = None,
    flavor: options.Flavor = None,
    max_run_duration: options.MaxRunDuration = None,
    max_restarts: options.MaxRestarts = 4,
    restart_strategy: options.RestartStrategy = None,
    backoff_limit: options.BackoffLimit = None,
    port: options.Ports = None,
    service_account: options.ServiceAccount = None,
    placement_group: options.PlacementGroup = None,
    as_json: JsonOption = False,
) -> None:
    """Print a manifest that is ready for a team's queue.

    Slices, pods, chips and names follow from the queue's machines; what Kueue adds is left out, and said.
    """
    given_options = {key: value for key, value in locals().items() if key not in ("stack", "team", "queue", "as_json")}
    given_options |= {"command": tuple(command or ()), "ports": tuple(given_options.pop("port") or ())}
    evaluation = evaluate_or_exit(stack, allow_ack=True)
    from berth.cli.workload import answer as verb

    result = verb.run(evaluation, team, queue, given_options)
    if as_json:
        typer.echo(format_json(verb.as_json(result)))
    else:
        print_problems(result.problems)
        if not result.faults:
            typer.echo(verb.text(result))
    raise typer.Exit(EXIT_FAULTS if result.faults else EXIT_OK)


@app.command("lint", epilog="Example: berth lint dev stacks/jobs/train.yaml --team vision")
def _lint(
    stack: StackArgument,
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="Manifests, or folders of them.")],
    team: Annotated[str | None, typer.Option("--team", help="Whose they are; its namespace is the default.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Say whether jobs can ever be admitted.

    Holds manifests against queues, priorities, machines and ceilings of a stack; tells each fault at its place.
    """
    evaluation = evaluate_or_exit(stack)
    from berth.cli import lint as verb

    result = verb.run(evaluation, files, team, project_root())
    for line in [format_json(verb.as_json(result))] if as_json else verb.lines(result):
        typer.echo(line if isinstance(line, str) else terminal.format_problem(line))
    raise typer.Exit(EXIT_FAULTS if result.has_faults else EXIT_OK)


def _warning_count(evaluation: Evaluation) -> str:
    count = len(evaluation.warnings)
    return f", {count} warning{'s' if count > 1 else ''}" if count else ""


changing.add_to(app)
reporting.add_to(app)
starting.add_to(app)
