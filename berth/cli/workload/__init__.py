"""`berth workload`: the manifest of a job for a team's queue."""

from __future__ import annotations

from typing import NoReturn

import typer

from berth.cli.arguments import (
    EXIT_FAULTS,
    EXIT_OK,
    JsonOption,
    StackArgument,
    evaluate_or_exit,
    format_json,
    print_problems,
)
from berth.cli.workload import options

EPILOG = "Example: berth workload dev vision train --slices 2 --image train:1 -- python train.py"

_BESIDE = ("stack", "team", "queue", "acceptance", "as_json")
"""Parameters of the verb that are no options of a job."""


def workload_command(
    stack: StackArgument,
    team: options.Team = None,
    queue: options.Queue = None,
    command: options.Command = None,
    kind: options.Kind = None,
    name: options.Name = None,
    image: options.Image = None,
    slices: options.Slices = None,
    topology: options.Topology = None,
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
    template: options.Template = None,
    runtime: options.Runtime = None,
    acceptance: options.Acceptance = False,
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
    if evaluation.fleet_plan is None:
        raise typer.BadParameter(f"'{evaluation.stack}' has no pools; write the stack of the platform")
    from berth.cli.workload import generate as verb
    from berth.cli.workload.generate import acceptance_jobs

    jobs = acceptance_jobs(evaluation, evaluation.fleet_plan, team, queue)
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
