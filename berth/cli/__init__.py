"""The `berth` command. Each verb is a module or a package in this package, imported when it runs."""

from __future__ import annotations

import gc
import importlib
import io
import os
import sys
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from berth.cli.as_of import with_as_of
from berth.cli.conversion import convert_when_needed

if TYPE_CHECKING:
    from typer._click import Command, Context, Parameter


class _ClosablePipe(io.RawIOBase):
    """A file descriptor that drops everything written after its reader closed the pipe."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor

    def writable(self) -> bool:
        """Return True."""
        return True

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._descriptor

    def isatty(self) -> bool:
        """Return whether the descriptor is a terminal."""
        return os.isatty(self._descriptor)

    def write(self, data: Any, /) -> int:
        """Write `data`, or drop it; return the number of bytes."""
        try:
            return os.write(self._descriptor, data)
        except BrokenPipeError:
            return memoryview(data).nbytes


def tolerate_closed_pipe(stream: TextIO) -> TextIO:
    """Return a stream to the same descriptor that ignores a closed pipe, so that a verb runs to its end.

    The exit status is then the verb's own: 3 for a blocked `berth guard dev preview.json | true`. Streams without a
    descriptor, as in tests, are returned unchanged.
    """
    buffer = getattr(stream, "buffer", None)
    raw = getattr(buffer, "raw", buffer)  # with PYTHONUNBUFFERED, the buffer is the raw file
    if not isinstance(raw, io.FileIO):
        return stream
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_ClosablePipe(stream.fileno())),
        stream.encoding,
        stream.errors,
        line_buffering=bool(stream.line_buffering),
        write_through=raw is buffer,
    )


TRACEBACK = "BERTH_TRACEBACK"
"""Environment variable that makes an internal error print its Python traceback."""

_GC_THRESHOLD = 2_000_000
"""Number of new objects between two garbage collections. A verb keeps its objects until it exits, and they have no
reference cycles. With 200,000, garbage collection took a seventh of the CPU time of rendering 1,000 teams."""

VERBS = {
    "check": "Check stack files for faults and warnings.",
    "explain": "Explain the code of a message.",
    "plan": "Show what a stack creates and what each team gets, or what it loses.",
    "quota": "List the Google Cloud quotas that the fleet needs.",
    "usage": "Show what each team used of what it is guaranteed.",
    "preview": "Show the resources that `pulumi up` would create.",
    "render": "Print the Kubernetes objects.",
    "admit": "Simulate admission: which jobs start, wait or are preempted.",
    "test": "Check assertions about admission, preemption and waiting.",
    "simulate": "Simulate a trace of jobs over time: waiting, use, preemptions.",
    "why": "Show why a job does not run, until when, and who could help.",
    "workload": "Print the manifest of a job for a team's queue.",
    "lint": "Check whether jobs can ever be admitted and run.",
    "diff": "Show what a change does, and to which teams.",
    "upgrade": "Show what a change of versions does to a stack and its jobs.",
    "verify": "Compare the nodes and queues of a cluster with the stack.",
    "guard": "Answer whether a Pulumi preview is safe, blocked or unknown.",
    "rotate": "Print the steps that replace a pool.",
    "drain": "Print the stack file with every queue drained.",
    "split": "Propose how to divide a large fleet into stacks.",
    "report": "Write the fleet as one HTML page.",
    "graph": "Draw the quota tree.",
    "init": "Write a new stack file from an example.",
    "adopt": "Write a stack file for an existing cluster.",
    "mcp": "Serve check, plan, lint, admit, explain and diff to an assistant (MCP).",
    "schema": "Print the stack file's JSON Schema.",
}
"""Each verb and the first line of its help. `berth.cli.<verb>` defines `<verb>_command`, and an example in `EPILOG`."""

_TIMELESS = frozenset({"explain", "mcp", "schema"})
"""Verbs that read no stack, and so have no `--as-of`."""

_HELP_NAMES = {"help_option_names": ["-h", "--help"]}


class VerbCommand(TyperCommand):
    """A verb whose parameters are converted only when necessary."""

    def get_params(self, ctx: Context) -> list[Parameter]:
        """Return the parameters and `--help`."""
        return convert_when_needed(super().get_params(ctx))


class VerbGroup(TyperGroup):
    """A group that imports a verb when it runs; help and completion read only `VERBS`."""

    def __init__(self, **attributes: Any) -> None:
        commands = {verb: TyperCommand(verb, help=text, rich_markup_mode=None) for verb, text in VERBS.items()}
        super().__init__(**attributes)
        self.commands.update(commands)

    def get_params(self, ctx: Context) -> list[Parameter]:
        """Return the options before the verb."""
        return convert_when_needed(super().get_params(ctx))

    def resolve_command(self, ctx: Context, args: list[str]) -> tuple[str | None, Command | None, list[str]]:
        """Return the verb's name, its command and the remaining arguments."""
        verb, command, rest = super().resolve_command(ctx, args)
        return verb, load_verb(verb) if verb else command, rest


@cache
def load_verb(verb: str) -> Command:
    """Import the module of a verb and return its command."""
    module = importlib.import_module(f"berth.cli.{verb}")
    single = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    register = single.command(verb, cls=VerbCommand, epilog=module.EPILOG, context_settings=_HELP_NAMES)
    command = getattr(module, f"{verb}_command")
    register(command if verb in _TIMELESS else with_as_of(command))
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


def run_command() -> None:
    """Run the command. A closed pipe (`| head`) is not an error; the variable BERTH_TRACEBACK shows tracebacks."""
    sys.stdout, sys.stderr = tolerate_closed_pipe(sys.stdout), tolerate_closed_pipe(sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without '▸' in its encoding prints its escape
            stream.reconfigure(errors="backslashreplace")
    gc.set_threshold(_GC_THRESHOLD)
    try:
        app()
    except Exception as error:
        if TRACEBACK in os.environ:
            raise
        message = " ".join(f"{type(error).__name__}: {error}".split())
        typer.echo(f"internal error in berth: {message}; set {TRACEBACK}=1 to see the traceback", err=True)
        sys.exit(1)
    finally:
        gc.freeze()  # the interpreter's last collection would read every object of a process that ends anyway
