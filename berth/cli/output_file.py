"""The option `-o` of verbs that print one text."""

from __future__ import annotations

import pathlib
from typing import Annotated

import typer

from berth.cli.arguments import EXIT_FAULTS

Output = Annotated[
    pathlib.Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="Write to this file instead of stdout; - is stdout."),
]


def write_output(text: str, output: pathlib.Path | None) -> None:
    """Write text to a file, creating its folders, and print its name, or to stdout for `-`; exit 1 if that fails."""
    if output is None or output == pathlib.Path("-"):
        typer.echo(text, nl=False)
        return
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        typer.echo(f"{output}: cannot be written: {error.strerror}", err=True)
        raise typer.Exit(EXIT_FAULTS) from None
    typer.echo(f"{output}: written")
