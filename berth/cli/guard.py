"""`berth guard`: the protected resources that a Pulumi preview would lose."""

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
    exit_with_error,
    exit_with_problems,
    print_answer,
    project_name,
)
from berth.cli.diff.as_json import to_json_value
from berth.diagnostics import Problem
from berth.diff.guard import text as guard_text
from berth.diff.guard.preview import GuardReport
from berth.document import Note
from berth.loader.text_file import MAX_ANSWER_BYTES, read_bytes

VERSION = 1
"""Version of the JSON output; increased when a key changes its meaning or is removed."""


EPILOG = "Example: berth guard dev preview.json"


def guard_command(
    stack: StackArgument,
    preview: Annotated[str, typer.Argument(metavar="PREVIEW", help="Output of pulumi preview --json; - is stdin.")],
    print_json: JsonOption = False,
) -> None:
    """Check a Pulumi preview for losses that are not allowed.

    Reads the output of `pulumi preview --json`. Exits 3 if a change would lose something that the stack file does not
    allow to be lost, and 1 if the preview failed for another reason, is incomplete, or is of another stack.
    """
    evaluation = evaluate_or_exit(stack, needs=None)
    from berth.backends.interface import check_preview
    from berth.diff.guard.preview_file import STDIN, PreviewFormatError, parse_preview, refusing_odd_shapes
    from berth.diff.guard.preview_scope import OtherStackError, require_stack

    assert evaluation.plan is not None
    content = _read(preview, evaluation.stack)
    try:
        with refusing_odd_shapes():
            engine_preview = parse_preview(content.decode())
            require_stack(engine_preview, evaluation.stack, project_name())
            result = check_preview(engine_preview, evaluation.plan)
    except PreviewFormatError as error:
        exit_with_error(error.line(STDIN if preview == "-" else preview, evaluation.stack))
    except OtherStackError as error:
        exit_with_error(error)
    report = Note(list(guard_lines(result, evaluation.stack)))
    print_answer([report], guard_as_json(result, evaluation.stack) if print_json else None)
    raise typer.Exit(EXIT_BLOCKED if result.blocked else EXIT_FAULTS if result.errors else EXIT_OK)


def _read(preview: str, stack: str) -> bytes:
    """The content of the file, or of stdin; the fault on stderr, and exit 1, where it cannot be read."""
    if preview == "-":
        content: bytes | Problem = typer.get_binary_stream("stdin").read(MAX_ANSWER_BYTES)
    else:
        remedy = f"write it with `pulumi preview --stack {stack} --json > {preview}`"
        content = read_bytes(pathlib.Path(preview), preview, remedy, remedy, MAX_ANSWER_BYTES)
    if isinstance(content, Problem):
        exit_with_problems([content])
    return content


def guard_as_json(result: GuardReport, stack: str) -> dict[str, Any]:
    """Return the report as JSON values (docs/diff.md)."""
    fields = {"version": VERSION, "stack": stack, **cast("dict[str, Any]", to_json_value(result))}
    return {**fields, "guarded": to_json_value(result.blocked)}


def guard_lines(result: GuardReport, stack: str) -> Iterator[str]:
    """Yield what is blocked and how to allow it, what is allowed and why, and why the preview is incomplete."""
    for guarded_change in result.losses:
        yield guard_text.describe_guarded_change(guarded_change) + (
            f" ({guarded_change.allowed})" if guarded_change.allowed else ""
        )
        if guarded_change.allowed is None:
            yield f"    {guard_text.describe_remedy(guarded_change)}"
    if not result.losses and not result.errors:
        yield f"{stack}: the preview loses nothing that is protected"
    yield from (f"the preview failed: {' '.join(error.split())}" for error in result.errors)
