"""`berth guard`: whether a Pulumi preview is safe, blocked or unknown, and what it would lose."""

from __future__ import annotations

import pathlib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, cast

import typer
from msgspec.structs import replace

from berth.cli.arguments import (
    EXIT_BLOCKED,
    EXIT_OK,
    JsonOption,
    StackArgument,
    evaluate_or_exit,
    exit_with_error,
    exit_with_problems,
    print_answer,
    project_name,
    project_root,
)
from berth.cli.comparison import PROJECT, with_project
from berth.cli.diff.as_json import to_json_value
from berth.diagnostics import Problem
from berth.diff.guard import text as guard_text
from berth.diff.guard.allowances import GuardedAction
from berth.diff.guard.preview import Answer, GuardReport
from berth.document import Note
from berth.evaluate import Evaluation
from berth.loader.text_file import MAX_ANSWER_BYTES, read_bytes
from berth.text import pluralize

VERSION = 1
"""Version of the JSON output; increased when a key changes its meaning or is removed."""
_MAX_NAMED = 200
"""Largest number of losses without protection that are named in text; the rest is counted by kind."""


EPILOG = "Example: berth guard dev preview.json"


def guard_command(
    stack: StackArgument,
    preview: Annotated[
        str, typer.Argument(metavar="PREVIEW", help="Output of pulumi preview --json --show-sames; - is stdin.")
    ],
    live: Annotated[
        pathlib.Path | None,
        typer.Option(
            "--live",
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="From kubectl get workloads -A -o json: machines that admitted jobs hold block, too.",
        ),
    ] = None,
    print_json: JsonOption = False,
) -> None:
    """Answer whether a Pulumi preview is safe, blocked or unknown.

    Reads the output of `pulumi preview --json --show-sames`. Exits 0 if the preview is one whole run of this stack file
    and loses nothing that the file does not allow to be lost. Exits 3 if it loses something else (blocked), and if it
    failed or may not be one whole run (unknown). Exits 1 if the input is not a preview.
    """
    evaluation = with_project(evaluate_or_exit(stack, needs=None), stack, project_root())
    from berth.diff.guard.preview_steps import STDIN, PreviewFormatError

    content = _read(preview, evaluation.stack)
    running: dict[str, int] = {}
    if live is not None:
        from berth.cli.diff.admitted import admitted_amounts, read_workloads

        if evaluation.fleet_plan is None:
            raise typer.BadParameter("--live is for fleets on GKE")
        running = admitted_amounts(read_workloads(live, evaluation.fleet_plan), evaluation.fleet_plan)
    try:
        result = guard_report(content, evaluation, project_name(), running)
    except PreviewFormatError as error:
        exit_with_error(error.line(STDIN if preview == "-" else preview, evaluation.stack))
    report = Note(list(guard_lines(result, evaluation.stack)))
    print_answer([report], guard_as_json(result, evaluation.stack) if print_json else None)
    raise typer.Exit(EXIT_OK if result.answer == Answer.SAFE else EXIT_BLOCKED)


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


def guard_report(
    content: bytes, evaluation: Evaluation, project: str | None, running: Mapping[str, int] | None = None
) -> GuardReport:
    """Return the answer to what `pulumi preview --json` printed for a stack without faults.

    `running` are the accelerators of each flavor that admitted jobs hold, where that is known.
    Raises PreviewFormatError if the content is not a preview at all.
    """
    from berth.backends.interface import check_preview
    from berth.diff.guard.preview_file import parse_preview
    from berth.diff.guard.preview_scope import OtherStackError, require_stack
    from berth.diff.guard.preview_steps import PreviewFormatError, refusing_odd_shapes

    assert evaluation.plan is not None
    config = evaluation.file.config if evaluation.file is not None else None
    try:
        with refusing_odd_shapes():
            preview = parse_preview(content.decode())
            require_stack(preview, evaluation.stack, project)
            report = check_preview(preview, evaluation.plan, config, running)
            return replace(report, doubts=(*report.doubts, *_unwritten_config(preview.config, evaluation)))
    except OtherStackError as error:
        return GuardReport((), (), (str(error),))
    except PreviewFormatError as error:
        if not error.is_unknown:
            raise
        return GuardReport((), (), (error.reason,))


def _unwritten_config(engine: Mapping[str, object] | None, evaluation: Evaluation) -> Iterator[str]:
    """Yield the keys of the engine's config that no file sets: the preview is of another version of the files."""
    if engine is None or evaluation.file is None or "environment" in evaluation.file.around:  # which sets any key
        return
    written = evaluation.file.around.get(PROJECT)
    project: Mapping[str, object] = cast("Mapping[str, object]", written) if isinstance(written, Mapping) else {}
    shared = cast("Mapping[str, object]", project.get("config") or {})
    known = {*evaluation.file.config, *shared, *(f"{project.get('name')}:{key}" for key in shared)}
    for key in sorted(engine.keys() - known):
        yield f"the preview is of another version of the stack file: {key} was set; run it again"


def guard_as_json(result: GuardReport, stack: str) -> dict[str, Any]:
    """Return the report as JSON values (docs/diff.md)."""
    fields = {"version": VERSION, "stack": stack, **cast("dict[str, Any]", to_json_value(result))}
    return {**fields, "answer": result.answer.value, "guarded": to_json_value(result.blocked)}


def guard_lines(result: GuardReport, stack: str) -> Iterator[str]:
    """Yield the answer and its reasons: what is blocked and how to allow it, what is allowed and why, what is unknown.

    Everything else that the preview deletes or replaces is named last.
    """
    yield f"{stack}: {result.answer}: {_reason(result)}"
    for guarded_change in sorted(result.losses, key=lambda change: change.allowed is not None):
        yield guard_text.describe_guarded_change(guarded_change) + (
            f" ({guarded_change.allowed})" if guarded_change.allowed else ""
        )
        if guarded_change.allowed is None:
            yield f"    {guard_text.describe_remedy(guarded_change)}"
    yield from (f"the preview failed: {' '.join(error.split())}" for error in result.errors)
    yield from (f"not known: {doubt}" for doubt in result.doubts[:_MAX_NAMED])
    if (more := len(result.doubts) - _MAX_NAMED) > 0:
        yield f"and {more} more reasons"
    yield from (f"note: {note}" for note in result.notes)
    for action, word in ((GuardedAction.DELETE, "deleted"), (GuardedAction.REPLACE, "replaced")):
        named = [each for each in result.others if each.action == action]
        yield from (f"{each.kind} {each.name} would be {word} (not protected)" for each in named[:_MAX_NAMED])
        for kind, count in sorted(Counter(each.kind for each in named[_MAX_NAMED:]).items()):
            yield f"and {count} × {kind} more would be {word} (not protected)"


def _reason(result: GuardReport) -> str:
    """Return the reason of the answer in one phrase."""
    if result.blocked:
        verb = "is" if len(result.blocked) == 1 else "are"
        return f"the stack file does not allow {pluralize(len(result.blocked), 'change')}, which {verb} below"
    if result.errors:
        return "the preview failed, so what it would lose is not known"
    if result.doubts:
        return "this may not be one whole preview of this stack file; run `pulumi preview --json --show-sames`"
    count = len(result.losses) + len(result.others)
    below = "" if not count else "; 1 other loss is below" if count == 1 else f"; {count} other losses are below"
    return f"the preview loses nothing that is protected{below}"
