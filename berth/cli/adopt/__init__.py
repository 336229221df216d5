"""`berth adopt`: a stack file and import files for an existing cluster."""

from __future__ import annotations

import pathlib
from typing import Annotated

import typer

from berth.cli.arguments import EXIT_BLOCKED, exit_with_error, exit_with_problems, writable_project_folder
from berth.diagnostics import printable

EPILOG = "Example: berth adopt prod cluster.json node-pools.json objects.json"


def adopt_command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The stack's name; writes Pulumi.NAME.yaml.")],
    files: Annotated[
        list[pathlib.Path] | None,
        typer.Argument(metavar="FILE...", help="Output of gcloud (--format json) and kubectl (-o json)."),
    ] = None,
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
    source: Annotated[
        list[pathlib.Path] | None,
        typer.Option(
            "--from", metavar="FILE",
            help="Read a Cluster Toolkit blueprint, Terraform or an `xpk cluster create` command (- for stdin) instead "
            "of a cluster; more files may follow.",
        ),
    ] = None,
    value: Annotated[
        list[str] | None,
        typer.Option("--value", metavar="NAME=VALUE", help="The value of a variable of the --from files; repeatable."),
    ] = None,
) -> None:  # fmt: skip
    """Write a stack file for an existing cluster.

    Also writes the files for `pulumi import`. Prints what the stack file cannot express, and what the first `pulumi up`
    would change. With --from, writes one for what a blueprint, Terraform or a command line describes. Makes no call to
    a cloud, and never overwrites a file.
    """
    from berth.cli.adopt import answer as verb
    from berth.cli.init.stack_file import stack_name_errors
    from berth.engine import ProgramError

    if inside is not None and keep_cluster:
        raise typer.BadParameter("--keep-cluster adopts node pools, and --inside only objects; leave one of them out")
    folder = writable_project_folder()
    if errors := stack_name_errors(name):
        raise typer.BadParameter("; ".join(errors))
    if source:
        _describe(
            name, [*source, *(files or ())], _values(value or []), folder, others=bool(inside or keep_cluster or accept)
        )
        return
    if not files or value:
        raise typer.BadParameter("name files with answers of gcloud and kubectl, or --from FILE with --value")
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


def _describe(
    name: str, files: list[pathlib.Path], values: dict[str, str], folder: pathlib.Path, *, others: bool
) -> None:
    """Write the stack file of what the files describe; exit 1 if they cannot be used or the stack file has faults."""
    from berth.adopt.sources.source_fleet import UnusableSource
    from berth.cli.adopt import described as verb

    if others:
        raise typer.BadParameter("--from reads no cluster; leave --inside, --keep-cluster and --accept out")
    file = folder / f"Pulumi.{name}.yaml"
    if file.exists():
        exit_with_error(f"{file.name} exists and is not overwritten; choose another name, or delete the file")
    try:
        result = verb.describe(name, files, values)
        with file.open("x", encoding="utf-8") as stream:
            stream.write(result.stack_file)
    except (UnusableSource, OSError) as error:
        exit_with_error(error)
    for line in verb.described_lines(name, result):
        typer.echo(printable(line))
    if result.evaluation.faults:
        typer.echo("the stack file has faults; fix them in it:", err=True)
        exit_with_problems(problem.with_place("") for problem in result.evaluation.faults)


def _values(written: list[str]) -> dict[str, str]:
    """Return the values of `--value NAME=VALUE`."""
    if wrong := [each for each in written if not each.partition("=")[1] or not each.partition("=")[0]]:
        raise typer.BadParameter(f"'{wrong[0]}' is not NAME=VALUE, such as zone=us-east5-b", param_hint="--value")
    return {name: given for name, _, given in (each.partition("=") for each in written)}
