"""`berth schema`: the stack file's JSON Schema."""

from __future__ import annotations

import typer

from berth.cli.arguments import format_json

EPILOG = "Example: berth schema > docs/stack.schema.json"


def schema_command() -> None:
    """Print the stack file's JSON Schema."""
    from berth.spec.schema import stack_schema

    typer.echo(format_json(stack_schema()))
