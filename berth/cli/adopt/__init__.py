"""`berth adopt`: a stack file and import files for an existing cluster."""

from __future__ import annotations

import pathlib
from typing import Annotated

import typer

from berth.cli.arguments import EXIT_BLOCKED, exit_with_error, exit_with_problems, writable_project_folder
from berth.diagnostics import printable

Name = Annotated[str, typer.Argument(metavar="NAME", help="The stack's name; writes Pulumi.NAME.yaml.")]
EPILOG = "Example: berth adopt prod cluster.json node-pools.json objects.json"


def adopt_command(
    name: Name,
    files: Annotated[
        list[pathlib.Path],
        typer.Argument(metavar="FILE...", help="Output of gcloud (--format json) and kubectl (-o json)."),
    ],
    inside: Annotated[
        str | None,
        typer.Option(
            "--inside", metavar="CONTEXT", help="Adopt only Kubernetes objects, through this kubeconfig context."
        ),
    ] = None,
    keep_cluster: Annotated[
        bool,
        typer.Option(
            "--keep-cluster", help="Adopt node pools, queues and teams; the cluster itself stays with its owner."
        ),
    ] = False,
    accept: Annotated[
        list[str] | None,
        typer.Option("--accept", metavar="NAME", help="Accept that the first update replaces this resource."),
    ] = None,
) -> None:
    """Write a stack file for an existing cluster.

    Also writes the files for `pulumi import`. Prints what the stack file cannot express, and what the first `pulumi up`
    would change. Makes no call to a cloud, and never overwrites a file.
    """
    from berth.cli.adopt import answer as verb
    from berth.cli.init.stack_file import stack_name_errors
    from berth.engine import ProgramError

    if inside is not None and keep_cluster:
        raise typer.BadParameter("--keep-cluster adopts node pools, and --inside only objects; leave one of them out")
    folder = writable_project_folder()
    if errors := stack_name_errors(name):
        raise typer.BadParameter("; ".join(errors))
    try:
        result = verb.adopt_cluster(name, files, folder, inside, keep_cluster=keep_cluster, accepted=accept or ())
        for line in verb.change_lines(result):
            typer.echo(printable(line))
        verb.write_adopted_files(result, folder)
    except verb.LosesResources as error:
        typer.echo("\n".join(map(printable, error.lines)), err=True)
        raise typer.Exit(EXIT_BLOCKED) from None
    except (verb.InvalidInventory, ProgramError, OSError) as error:
        exit_with_error(error)
    for line in verb.written_lines(result):
        typer.echo(printable(line))
    if result.faults:
        typer.echo(
            "the stack file has faults; fix them, then run berth adopt again to write the import files:", err=True
        )
        exit_with_problems(problem.with_place("") for problem in result.faults)
