"""`berth workload`: the manifest of a job for a team's queue."""

from __future__ import annotations

from typing import Annotated, NoReturn

import typer

from berth.cli.arguments import (
    EXIT_FAULTS,
    EXIT_OK,
    JsonOption,
    StackArgument,
    evaluate_or_exit,
    format_json,
    google_fleet,
    print_problems,
)
from berth.workloads.options import KINDS, RESTART_STRATEGIES

EPILOG = "Example: berth workload dev vision train --slices 2 --image train:1 -- python train.py"

_BESIDE = ("stack", "team", "queue", "acceptance", "as_json")
"""Parameters of the verb that are no options of a job."""


def workload_command(
    stack: StackArgument,
    team: Annotated[
        str | None, typer.Argument(metavar="TEAM", help="The team that submits; needed without --acceptance.")
    ] = None,
    queue: Annotated[
        str | None, typer.Argument(metavar="QUEUE", help="One of its queues; a namespace where ACK has no quota tree.")
    ] = None,
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- COMMAND...]", help="Command of the container; the default sleeps for 60 s."),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option("--kind", help=f"One of {', '.join(KINDS)}; the default is jobset for TPUs, job for GPUs."),
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="The workload's name; the default is the queue's.")] = None,
    image: Annotated[str | None, typer.Option("--image", help="The container's image.")] = None,
    slices: Annotated[
        int | None, typer.Option("--slices", min=1, help="Number of TPU slices; the default is 1.")
    ] = None,
    topology: Annotated[
        str | None,
        typer.Option("--topology", help="Topology of each TPU slice, such as 4x4x8; the default is the pool's."),
    ] = None,
    pods: Annotated[
        int | None, typer.Option("--pods", "--nodes", min=1, help="Number of pods with GPUs; the default is 1.")
    ] = None,
    gpus: Annotated[
        int | None, typer.Option("--gpus", min=1, help="GPUs of each pod; the default is all of a node.")
    ] = None,
    cpu: Annotated[str | None, typer.Option("--cpu", help="CPU of each pod, such as 4 or 500m.")] = None,
    memory: Annotated[str | None, typer.Option("--memory", help="Memory of each pod, such as 16Gi.")] = None,
    priority: Annotated[str | None, typer.Option("--priority", help="A priority; the default is the queue's.")] = None,
    flavor: Annotated[str | None, typer.Option("--flavor", help="Use only this flavor of the queue.")] = None,
    max_run_duration: Annotated[
        str | None, typer.Option("--max-run-duration", help="Maximum run time on queued machines: 3600s, 36h, 7d.")
    ] = None,
    max_restarts: Annotated[
        int, typer.Option("--max-restarts", min=0, help="Maximum number of restarts of a JobSet.")
    ] = 4,
    restart_strategy: Annotated[
        str | None,
        typer.Option("--restart-strategy", help=f"Restart strategy of a JobSet: {' or '.join(RESTART_STRATEGIES)}."),
    ] = None,
    backoff_limit: Annotated[
        int | None, typer.Option("--backoff-limit", min=0, help="Number of failed pods before a Job fails.")
    ] = None,
    port: Annotated[list[int] | None, typer.Option("--port", min=1, max=65535, help="A port of the container.")] = None,
    service_account: Annotated[
        str | None, typer.Option("--service-account", help="Service account of the pods; the default is the team's.")
    ] = None,
    placement_group: Annotated[
        str | None,
        typer.Option("--placement-group", help="Name of the compact placement group for the nodes that GKE creates."),
    ] = None,
    template: Annotated[
        str | None,
        typer.Option("--template", metavar="FILE", help="A pod template; Berth adds what the queue needs."),
    ] = None,
    runtime: Annotated[str | None, typer.Option("--runtime", help="A trainjob's ClusterTrainingRuntime.")] = None,
    acceptance: Annotated[
        bool,
        typer.Option(
            "--acceptance",
            help="Print a short job for each pool instead, which proves its accelerators and their network.",
            show_default=False,
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Print the manifest of a job for a team's queue.

    Derives slices, pods, chips and names from the queue's machines. Omits what Kueue adds, and lists it in comments.
    """
    given_options = {key: value for key, value in locals().items() if key not in _BESIDE}
    given_options |= {"command": tuple(command or ()), "ports": tuple(given_options.pop("port") or ())}
    if acceptance:
        written = [key for key, value in given_options.items() if value not in (None, ()) and key != "max_restarts"]
        if written:
            raise typer.BadParameter(f"--acceptance chooses all of a job; leave out --{written[0].replace('_', '-')}")
        _print_acceptance(stack, team, queue, as_json=as_json)
    if team is None or queue is None:
        raise typer.BadParameter("write TEAM and QUEUE, or --acceptance for a job of each pool")
    evaluation = evaluate_or_exit(stack, needs="jobs")
    from berth.cli.workload import generate as verb

    result = verb.generate_workload(evaluation, team, queue, given_options)
    if as_json:
        typer.echo(format_json(verb.workload_as_json(result)))
    else:
        print_problems(result.problems)
        if not result.faults:
            typer.echo(verb.workload_text(result))
    raise typer.Exit(EXIT_FAULTS if result.faults else EXIT_OK)


def _print_acceptance(stack: str, team: str | None, queue: str | None, *, as_json: bool) -> NoReturn:
    """Print a short job for each pool, and exit 1 if there is none at all."""
    evaluation = evaluate_or_exit(stack, needs="kueue")
    plan = google_fleet(evaluation, "has no pools; write the stack of the platform")
    from berth.cli.workload import generate as verb

    jobs = verb.acceptance_jobs(evaluation, plan, team, queue)
    if as_json:
        typer.echo(
            format_json(
                {
                    "jobs": [{"pool": pool, **verb.workload_as_json(result)} for pool, result in jobs.results],
                    "problems": [each.as_json() for each in jobs.problems],
                }
            )
        )
    else:
        print_problems(jobs.problems)
        for pool, result in jobs.results:
            typer.echo(f"# pool {pool}\n{verb.workload_text(result)}")
    raise typer.Exit(EXIT_OK if jobs.results else EXIT_FAULTS)
