"""The verbs that show a fleet to people who do not sit at a terminal."""

from __future__ import annotations

import pathlib
from typing import Annotated, Literal

import typer

from stacks.cli.ground import FAULTS, Stack, sound

Output = Annotated[pathlib.Path | None, typer.Option("-o", "--output", help="A file to write; stdout otherwise.")]


def add_to(app: typer.Typer) -> None:
    """Make these verbs commands of the app."""
    app.command("graph", epilog="Example: berth graph stacks/examples/quota-tree.yaml --format svg > tree.svg")(_graph)


def _graph(
    stack: Stack,
    form: Annotated[Literal["mermaid", "svg"], typer.Option("--format", help="What to draw it in.")] = "mermaid",
    output: Output = None,
) -> None:
    """Draw the quota tree.

    Cohorts and queues with what each is guaranteed and can reach at the most: text that GitHub draws, or a picture.
    """
    plan = sound(stack).plan
    assert plan is not None
    from stacks.report.mermaid import mermaid
    from stacks.report.svg import svg
    from stacks.report.tree import boxes

    found = boxes(plan)
    _written(mermaid(found) if form == "mermaid" else svg(found, f"Quota tree of {plan.stack}"), output)


def _written(text: str, output: pathlib.Path | None) -> None:
    """To the file, or to stdout; a file that cannot be written is told, and exit 1."""
    if output is None:
        typer.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        typer.echo(f"{output}: cannot be written: {error.strerror}", err=True)
        raise typer.Exit(FAULTS) from None
