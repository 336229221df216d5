"""What all verbs stand on: exit statuses, their common arguments, the project's folder, and a stack that is sound."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterable
from typing import Annotated

import typer

from berth.cli import terminal
from berth.diagnostics import Problem
from berth.evaluate import Verdict, of_stack, on_kueue

SOUND, FAULTS, USAGE, GUARDED = 0, 1, 2, 3

Stack = Annotated[
    str, typer.Argument(metavar="STACK", help="A stack's name (dev: Pulumi.dev.yaml) or a path to a stack file.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead.")]


def root() -> pathlib.Path:
    """The project's folder: the nearest one above the current folder with a Pulumi.yaml, else the one Berth lies in."""
    here = pathlib.Path.cwd()
    above = next((folder for folder in (here, *here.parents) if (folder / "Pulumi.yaml").is_file()), None)
    return above or pathlib.Path(__file__).resolve().parents[2]


def sound(stack: str, *, any_kind: bool = False, on_ack: bool = False) -> Verdict:
    """The verdict on a stack that has no fault; otherwise the faults on stderr, and exit 1.

    A fleet without Kueue is a fault of its own, and so is a team's own stack, unless the verb knows
    `any_kind`, or fleets `on_ack` too.
    """
    verdict = of_stack(stack, root())
    known = any_kind or (on_ack and verdict.ack is not None)
    verdict = verdict if known else on_kueue(verdict)
    if verdict.faults:
        complain(verdict.faults)
        raise typer.Exit(FAULTS)
    return verdict


def complain(problems: Iterable[Problem]) -> None:
    """Tell problems on stderr, a line each."""
    for problem in problems:
        typer.echo(terminal.problem(problem), err=True)


def as_json_text(value: object) -> str:
    """A value as every verb prints JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False)
