"""`berth guard`: what the real engine's preview would lose, in the words of `berth diff`."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Annotated, Any, cast

import typer

from berth.cli.arguments import (
    EXIT_BLOCKED,
    EXIT_FAULTS,
    EXIT_OK,
    JsonOption,
    StackArgument,
    evaluate_or_exit,
    format_json,
    print_problems,
)
from berth.cli.diff.plain_text import to_json_value
from berth.diagnostics import Problem
from berth.diff import text as diff_text
from berth.diff.guard.preview import GuardReport
from berth.loader.text_file import MAX_ANSWER_BYTES, read_bytes

VERSION = 1
"""Of the JSON; raised when a key changes its meaning or goes."""


EPILOG = "Example: berth guard dev preview.json"


def command(
    stack: StackArgument,
    preview: Annotated[str, typer.Argument(metavar="PREVIEW", help="What the engine printed; - is stdin.")],
    print_json: JsonOption = False,
) -> None:
    """Judge what the engine is about to do.

    Reads `pulumi preview --json` and exits 3 when something would be lost that the stack file does not allow, in the
    words of `berth diff`; 1 when the preview failed for another reason.
    """
    evaluation = evaluate_or_exit(stack, allow_any_kind=True)
    from berth.diff.guard.preview import check_preview
    from berth.diff.guard.preview_file import PreviewFormatError, parse_preview, refusing_odd_shapes

    assert evaluation.plan_of_any_kind is not None
    content = _read(preview)
    try:
        with refusing_odd_shapes():
            result = check_preview(parse_preview(content.decode()), evaluation.plan_of_any_kind)
    except PreviewFormatError as error:
        typer.echo(f"{error}", err=True)
        raise typer.Exit(EXIT_FAULTS) from None
    output_lines = [format_json(as_json(result, evaluation.stack))] if print_json else lines(result, evaluation.stack)
    for line in output_lines:
        typer.echo(line)
    raise typer.Exit(EXIT_BLOCKED if result.blocked else EXIT_FAULTS if result.errors else EXIT_OK)


def _read(preview: str) -> bytes:
    """The content of the file, or of stdin; the fault on stderr, and exit 1, where it cannot be read."""
    if preview == "-":
        content: bytes | Problem = typer.get_binary_stream("stdin").read(MAX_ANSWER_BYTES)
    else:
        remedy = f"write it with pulumi preview --json > {preview}"
        content = read_bytes(pathlib.Path(preview), preview, remedy, remedy, MAX_ANSWER_BYTES)
    if isinstance(content, Problem):
        print_problems([content])
        raise typer.Exit(EXIT_FAULTS)
    return content


def as_json(result: GuardReport, stack: str) -> dict[str, Any]:
    """The judgement as docs/diff.md says."""
    fields = {"version": VERSION, "stack": stack, **cast("dict[str, Any]", to_json_value(result))}
    return {**fields, "guarded": to_json_value(result.blocked)}


def lines(result: GuardReport, stack: str) -> Iterator[str]:
    """What is guarded and what to do, what is allowed and why, and why there was no whole preview."""
    for guarded_change in result.losses:
        yield diff_text.describe_guarded_change(guarded_change) + (
            f" ({guarded_change.allowed})" if guarded_change.allowed else ""
        )
        if guarded_change.allowed is None:
            yield f"    {diff_text.describe_remedy(guarded_change)}"
    if not result.losses and not result.errors:
        yield f"{stack}: the preview loses nothing that is guarded"
    yield from (f"the preview failed: {' '.join(error.split())}" for error in result.errors)
