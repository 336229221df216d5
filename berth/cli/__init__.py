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
from berth.cli.arguments import FAULTS, SOUND, AsJson, Stack, as_json_text, complain, root, sound
from berth.cli.workload import options
from berth.evaluate import Verdict, of_stack

TRACEBACK = "BERTH_TRACEBACK"
"""Set in the environment, it lets a fault of Berth's own through as Python shows it."""

_RARELY = 200_000
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
    gc.set_threshold(_RARELY)
    try:
        _run()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(SOUND)
    except Exception as error:
        if TRACEBACK in os.environ:
            raise
        said = " ".join(f"{type(error).__name__}: {error}".split())
        typer.echo(f"berth failed, and the fault is its own: {said}; with {TRACEBACK}=1 it says where", err=True)
        sys.exit(FAULTS)


def _run() -> None:
    """Run the app. Raises BrokenPipeError where the reader has gone, which typer takes for a failure."""
    try:
        app()
    except SystemExit as ended:
        if isinstance(ended.__context__, BrokenPipeError):
            raise ended.__context__ from None
        sys.stdout.flush()  # here and not when Python ends, where nobody could catch it any more
        raise


@app.command("check", epilog="Example: berth check dev stacks/examples/multislice.yaml")
def _check(
    stacks: Stacks,
    form: Annotated[
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
    verdicts = [of_stack(stack, root()) for stack in stacks]
    if policies:
        from berth.policy import judge

        verdicts = [judge(verdict, policies) for verdict in verdicts]
    if form != "text":
        from berth.cli import check as verb

        told = [as_json_text(verb.as_json(verdicts))] if form == "json" else verb.as_annotations(verdicts)
        for line in told:
            typer.echo(line)
    for verdict in verdicts if form == "text" else ():
        for problem in (p for p in verdict.problems if p.severity != "note"):
            typer.echo(terminal.problem(problem))
        if not verdict.faults:
            typer.echo(f"{verdict.stack}: sound{_warned(verdict)}")
    raise typer.Exit(FAULTS if any(v.faults for v in verdicts) else SOUND)


@app.command("plan", epilog="Example: berth plan dev --json | jq .teams")
def _plan(stack: Stack, as_json: AsJson = False, prices: costs.PricesFile = None) -> None:
    """Say what will exist, and for whom.

    Capacity, pools, what each team is guaranteed and can reach, who can push out whom, and what to worry about.
    """
    table = costs.prices(prices)
    verdict = of_stack(stack, root())
    costs.of_kueue(verdict, table)
    if verdict.ack is not None:
        from berth.cli.plan import ack

        typer.echo(as_json_text(ack.as_json(verdict)) if as_json else ack.text(verdict))
    elif verdict.of_team:
        from berth.cli.plan import team_stack

        typer.echo(as_json_text(team_stack.as_json(verdict)) if as_json else team_stack.text(verdict))
    else:
        from berth.cli.plan import fleet as verb

        typer.echo(as_json_text(verb.as_json(verdict, table)) if as_json else verb.text(verdict, table))
    raise typer.Exit(FAULTS if verdict.faults else SOUND)


@app.command("preview", epilog="Example: berth preview dev --inputs | less")
def _preview(
    stack: Stack,
    as_json: AsJson = False,
    inputs: Annotated[bool, typer.Option("--inputs", help="Show the inputs of every resource too.")] = False,
) -> None:
    """Show what `pulumi up` would make.

    Runs the real program on an in-process engine, without credentials, and shows every resource it registers.
    """
    verdict = sound(stack, any_kind=True)
    from berth.cli import preview as verb
    from berth.engine import ProgramError

    try:
        with terminal.progress("running the program"):
            found = verb.run(verdict, root())
    except ProgramError as error:
        typer.echo(f"{error}", err=True)
        raise typer.Exit(FAULTS) from None
    typer.echo(as_json_text(verb.as_json(found)) if as_json else verb.tree(found, inputs))


@app.command("render", epilog="Example: berth render dev -o manifests/")
def _render(
    stack: Stack,
    output: Annotated[
        pathlib.Path | None, typer.Option("-o", "--output", help="A folder for one file an object; stdout otherwise.")
    ] = None,
    nodes: Annotated[bool, typer.Option("--nodes", help="Print nodes as KWOK simulates them instead.")] = False,
) -> None:
    """Print the Kubernetes objects.

    Every object as YAML, in the order in which it may be applied.
    """
    verdict = sound(stack, any_kind=True)
    from berth.cli.render import output as verb
    from berth.text import many

    plan = verdict.whole
    assert plan is not None
    if nodes and verdict.plan is None:
        raise typer.BadParameter("nodes are printed of a fleet on GKE or of an existing cluster")
    if output is None:
        verb.write(plan, sys.stdout, nodes=nodes)
        return
    try:
        typer.echo(f"{many(verb.write_folder(plan, output, nodes=nodes), 'object')} in {output}", err=True)
    except verb.Occupied as error:
        typer.echo(f"{error}", err=True)
        raise typer.Exit(FAULTS) from None
    except OSError as error:
        typer.echo(f"{error.filename}: cannot be written: {error.strerror}", err=True)
        raise typer.Exit(FAULTS) from None


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
    as_json: AsJson = False,
) -> None:
    """Say who gets in, who waits and why, who is pushed out.

    Runs Kueue's decisions on the queues of a stack, without a cluster; of two stacks it shows only what differs.
    """
    from berth.cli.admit import answer as verb

    if bool(cases) == bool(arguments or live):
        raise typer.BadParameter("write STACK JOBS..., a scenario that names its stack, or --cases FILE")
    with terminal.progress("simulating"):
        if cases is not None:
            answers, words, problems = verb.cases(cases)
            value: object = answers
        else:
            answer = verb.run(arguments or (), live or (), root())
            value, words, problems = verb.as_json(answer), verb.text(answer), answer.problems
    faulty = any(problem.severity == "fault" for problem in problems)
    if not as_json or (cases and faulty):
        complain(problems)
    if as_json or not faulty:
        typer.echo(as_json_text(value) if as_json else words)
    raise typer.Exit(FAULTS if faulty else SOUND)


@app.command("workload", epilog="Example: berth workload dev vision train --slices 2 --image IMAGE -- python train.py")
def _workload(
    stack: Stack,
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
    as_json: AsJson = False,
) -> None:
    """Print a manifest that is ready for a team's queue.

    Slices, pods, chips and names follow from the queue's machines; what Kueue adds is left out, and said.
    """
    asked = {key: value for key, value in locals().items() if key not in ("stack", "team", "queue", "as_json")}
    asked |= {"command": tuple(command or ()), "ports": tuple(asked.pop("port") or ())}
    verdict = sound(stack, on_ack=True)
    from berth.cli.workload import answer as verb

    answer = verb.run(verdict, team, queue, asked)
    if as_json:
        typer.echo(as_json_text(verb.as_json(answer)))
    else:
        complain(answer.problems)
        if not answer.faults:
            typer.echo(verb.text(answer))
    raise typer.Exit(FAULTS if answer.faults else SOUND)


@app.command("lint", epilog="Example: berth lint dev stacks/jobs/train.yaml --team vision")
def _lint(
    stack: Stack,
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="Manifests, or folders of them.")],
    team: Annotated[str | None, typer.Option("--team", help="Whose they are; its namespace is the default.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say whether jobs can ever be admitted.

    Holds manifests against queues, priorities, machines and ceilings of a stack; tells each fault at its place.
    """
    verdict = sound(stack)
    from berth.cli import lint as verb

    answer = verb.run(verdict, files, team, root())
    for line in [as_json_text(verb.as_json(answer))] if as_json else verb.lines(answer):
        typer.echo(line if isinstance(line, str) else terminal.problem(line))
    raise typer.Exit(FAULTS if answer.refused else SOUND)


def _warned(verdict: Verdict) -> str:
    number = len(verdict.warnings)
    return f", {number} warning{'s' if number > 1 else ''}" if number else ""


changing.add_to(app)
reporting.add_to(app)
starting.add_to(app)
