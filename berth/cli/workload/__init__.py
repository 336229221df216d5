"""`berth workload`: the manifest of a job for a team's queue."""

from __future__ import annotations

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

EPILOG = "Example: berth workload dev vision train --slices 2 --image IMAGE -- python train.py"


def workload_command(
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
    template: options.Template = None,
    runtime: options.Runtime = None,
    as_json: JsonOption = False,
) -> None:
    """Print the manifest of a job for a team's queue.

    Derives slices, pods, chips and names from the queue's machines. Omits what Kueue adds, and lists it in comments.
    """
    given_options = {key: value for key, value in locals().items() if key not in ("stack", "team", "queue", "as_json")}
    given_options |= {"command": tuple(command or ()), "ports": tuple(given_options.pop("port") or ())}
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
