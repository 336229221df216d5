"""`berth render`: the Kubernetes objects."""

from __future__ import annotations

import pathlib
import sys
from typing import Annotated

import typer

from berth.cli.arguments import StackArgument, evaluate_or_exit, exit_with_error

EPILOG = "Example: berth render dev -o manifests/"


def render_command(
    stack: StackArgument,
    output: Annotated[
        pathlib.Path | None,
        typer.Option(
            "-o", "--output", metavar="DIR", help="Write one file for each object into this folder instead of stdout."
        ),
    ] = None,
    nodes: Annotated[bool, typer.Option("--nodes", help="Print the fleet's nodes for KWOK instead.")] = False,
    reader: Annotated[
        bool, typer.Option("--reader", help="Print the ClusterRole of an identity that previews the stack instead.")
    ] = False,
) -> None:
    """Print the Kubernetes objects.

    Prints every object as YAML, in an order in which they can be applied.
    """
    evaluation = evaluate_or_exit(stack, needs=None)
    from berth.cli.render import output as verb
    from berth.text import pluralize

    plan = evaluation.plan
    assert plan is not None
    if nodes and evaluation.fleet_plan is None:
        raise typer.BadParameter("--nodes needs a fleet on GKE or on an existing cluster")
    if nodes and reader:
        raise typer.BadParameter("--nodes and --reader are different outputs; write one of them")
    content = verb.Content.NODES if nodes else verb.Content.READER if reader else verb.Content.OBJECTS
    if output is None:
        verb.write_objects(plan, sys.stdout, content)
        return
    try:
        typer.echo(f"{pluralize(verb.write_folder(plan, output, content), 'object')} in {output}", err=True)
    except verb.OutputNotEmpty as error:
        exit_with_error(error)
    except OSError as error:
        exit_with_error(f"{error.filename}: cannot be written: {error.strerror}")
