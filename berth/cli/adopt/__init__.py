"""`berth adopt`: a stack file and import files for a cluster that stands."""

from __future__ import annotations

import pathlib
from typing import Annotated

import typer

from berth.cli.arguments import EXIT_FAULTS, print_problems, writable_project_folder

Name = Annotated[str, typer.Argument(metavar="NAME", help="The stack's name: Pulumi.NAME.yaml is written.")]
EPILOG = "Example: berth adopt prod cluster.json node-pools.json objects.json"


def command(
    name: Name,
    files: Annotated[
        list[pathlib.Path],
        typer.Argument(metavar="FILE...", help="What gcloud (--format json) and kubectl (-o json) say of the cluster."),
    ],
    inside: Annotated[
        str | None,
        typer.Option("--inside", metavar="CONTEXT", help="Only what lies in the cluster, which this context reaches."),
    ] = None,
) -> None:
    """Write a stack file for a cluster that stands.

    And the files by which `pulumi import` takes over what is there. What the stack file cannot say, and what the first
    `pulumi up` would change, is told. Nothing is asked of a cloud, and nothing is ever overwritten.
    """
    from berth.cli.adopt import answer as verb
    from berth.cli.init.stack_file import stack_name_errors
    from berth.engine import ProgramError

    folder = writable_project_folder()
    if errors := stack_name_errors(name):
        raise typer.BadParameter("; ".join(errors))
    try:
        result = verb.run(name, files, folder, inside)
        verb.write(result, folder)
    except (verb.InvalidInventory, ProgramError, OSError) as error:
        typer.echo(f"{error}", err=True)
        raise typer.Exit(EXIT_FAULTS) from None
    for line in verb.lines(result):
        typer.echo(line)
    if result.faults:
        typer.echo("the stack file has faults, so that nothing can be imported yet:", err=True)
        print_problems(problem.with_place("") for problem in result.faults)
        raise typer.Exit(EXIT_FAULTS)
