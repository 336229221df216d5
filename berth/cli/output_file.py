"""The option `-o` of verbs that print one text, and where the text goes."""

from __future__ import annotations

import pathlib
from typing import Annotated

import typer

from berth.cli.arguments import EXIT_FAULTS

Output = Annotated[pathlib.Path | None, typer.Option("-o", "--output", help="A file to write; stdout otherwise.")]


def write_output(text: str, output: pathlib.Path | None) -> None:
    """Write to the file, whose folders are made, or to stdout; exit 1 with the reason where it cannot be written."""
    if output is None:
        typer.echo(text, nl=False)
        return
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        typer.echo(f"{output}: cannot be written: {error.strerror}", err=True)
        raise typer.Exit(EXIT_FAULTS) from None
