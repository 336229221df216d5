"""`berth preview`: the resources that `pulumi up` would create."""

from __future__ import annotations

from typing import Annotated

import typer

from berth.cli import terminal
from berth.cli.arguments import (
    JsonOption,
    StackArgument,
    evaluate_or_exit,
    exit_with_error,
    format_json,
    project_root,
)

EPILOG = "Example: berth preview dev --inputs | less"


def preview_command(
    stack: StackArgument,
    as_json: JsonOption = False,
    inputs: Annotated[bool, typer.Option("--inputs", help="Also show the inputs of every resource.")] = False,
) -> None:
    """Show the resources that `pulumi up` would create.

    Runs the Pulumi program on an in-process engine, without credentials, and shows every resource that it registers.
    """
    evaluation = evaluate_or_exit(stack, needs=None)
    from berth.cli.preview import tree as verb
    from berth.engine import ProgramError

    try:
        with terminal.progress("running the program"):
            result = verb.run_stack_program(evaluation, project_root())
    except ProgramError as error:
        exit_with_error(error)
    typer.echo(format_json(verb.preview_as_json(result)) if as_json else verb.tree(result, inputs))
