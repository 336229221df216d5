"""The `berth` command: a table of verbs. Each is a module or a folder of this one, imported only when it runs."""

from __future__ import annotations

import gc
import importlib
import io
import os
import sys
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from berth.cli.closed_pipe import tolerate_closed_pipe
from berth.cli.conversion import convert_when_needed

if TYPE_CHECKING:
    from typer._click import Command, Context, Parameter

TRACEBACK = "BERTH_TRACEBACK"
"""Set in the environment, it lets a fault of Berth's own through as Python shows it."""

_GC_THRESHOLD = 2_000_000
"""New objects from one garbage collection to the next. A verb keeps what it makes until it ends, in plain values
without reference cycles; collections at 200,000 objects took a seventh of the CPU time of rendering 1,000 teams."""

VERBS = {
    "check": "Say whether a fleet is sound.",
    "explain": "Explain the code of a message.",
    "plan": "Say what will exist, and for whom.",
    "quota": "List the Google Cloud quotas that the fleet needs.",
    "preview": "Show what `pulumi up` would make.",
    "render": "Print the Kubernetes objects.",
    "admit": "Say who gets in, who waits and why, who is pushed out.",
    "workload": "Print a manifest that is ready for a team's queue.",
    "lint": "Say whether jobs can ever be admitted.",
    "diff": "Say what a change means, for whom.",
    "guard": "Judge what the engine is about to do.",
    "rotate": "Print the steps that replace a pool.",
    "drain": "Print the stack file with every queue drained.",
    "split": "Propose stacks for a large fleet.",
    "report": "Write the fleet as one HTML page.",
    "graph": "Draw the quota tree.",
    "init": "Write a stack file of your own.",
    "adopt": "Write a stack file for a cluster that stands.",
    "schema": "Print the stack file's JSON Schema.",
}
"""Every verb with the first line of its help. `berth.cli.<verb>` has its `command` and, in `EPILOG`, an example."""

_HELP_NAMES = {"help_option_names": ["-h", "--help"]}


class VerbCommand(TyperCommand):
    """A verb whose parameters are converted only where it is necessary."""

    def get_params(self, ctx: Context) -> list[Parameter]:
        """The parameters and `--help`."""
        return convert_when_needed(super().get_params(ctx))


class VerbGroup(TyperGroup):
    """A group that imports a verb when it runs; help and completion of verbs read the table alone."""

    def __init__(self, **attributes: Any) -> None:
        commands = {verb: TyperCommand(verb, help=text, rich_markup_mode=None) for verb, text in VERBS.items()}
        super().__init__(**attributes)
        self.commands.update(commands)

    def get_params(self, ctx: Context) -> list[Parameter]:
        """The options before the verb."""
        return convert_when_needed(super().get_params(ctx))

    def resolve_command(self, ctx: Context, args: list[str]) -> tuple[str | None, Command | None, list[str]]:
        """The command of the verb that is typed."""
        verb, command, rest = super().resolve_command(ctx, args)
        return verb, load_verb(verb) if verb else command, rest


@cache
def load_verb(verb: str) -> Command:
    """The command of a verb of the table, from its module."""
    module = importlib.import_module(f"berth.cli.{verb}")
    single = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    single.command(verb, cls=VerbCommand, epilog=module.EPILOG, context_settings=_HELP_NAMES)(module.command)
    return get_command(single)


app = typer.Typer(
    name="berth",
    help="Accelerator capacity for teams, as code: check, plan and preview a fleet without any credentials.",
    cls=VerbGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings=_HELP_NAMES,
)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        from importlib.metadata import version

        typer.echo(f"berth {version('berth')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Take the options that come before the verb."""


def main() -> None:
    """Run the command; a reader that stops reading (`| head`) is no fault, and nobody is shown a traceback unasked."""
    sys.stdout, sys.stderr = tolerate_closed_pipe(sys.stdout), tolerate_closed_pipe(sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that knows no '▸' is shown its number
            stream.reconfigure(errors="backslashreplace")
    gc.set_threshold(_GC_THRESHOLD)
    try:
        app()
    except Exception as error:
        if TRACEBACK in os.environ:
            raise
        message = " ".join(f"{type(error).__name__}: {error}".split())
        typer.echo(f"berth failed, and the fault is its own: {message}; with {TRACEBACK}=1 it says where", err=True)
        sys.exit(1)
