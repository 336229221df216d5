"""`berth rotate`: the steps that replace a pool, as diffs of the stack file."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import typer

from berth.cli.arguments import (
    EXIT_FAULTS,
    EXIT_OK,
    JsonOption,
    StackArgument,
    evaluate_or_exit,
    exit_with_error,
    format_json,
    project_root,
)
from berth.diagnostics import did_you_mean, format_value
from berth.evaluate import Evaluation
from berth.loader.document import parse
from berth.rotate.steps import IN_PLACE, RotationStep, default_mode, plan_rotation
from berth.rotate.yaml_editor import ManualEditRequired, YamlEditor
from berth.spec.messages import allowed_keys
from berth.text import pluralize

_KEY = re.compile("[A-Za-z]+")

VERSION = 1
"""Version of the JSON output; increased when a key changes its meaning or is removed."""


EPILOG = "Example: berth rotate dev v5e --set capacity=spot"


def rotate_command(
    stack: StackArgument,
    pool: Annotated[str, typer.Argument(metavar="POOL", help="A pool of the stack file.")],
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of the new pool; repeatable.")
    ] = None,
    in_place: Annotated[
        bool,
        typer.Option(
            "--in-place", help="Drain the queues and replace the pool, even if both could exist side by side."
        ),
    ] = False,
    print_json: JsonOption = False,
) -> None:
    """Print the steps that replace a pool.

    Each step is a diff of the stack file, for one pull request. The new pool is added beside the old one; if there are
    machines for only one of them, queues are drained first. Exits 1 at the first step whose stack
    file would have a fault.
    """
    evaluation = evaluate_or_exit(stack)
    try:
        steps = rotation_steps(evaluation, pool, settings or (), in_place, project_root())
    except ManualEditRequired as error:
        exit_with_error(error)
    output_lines = (
        [format_json(rotation_as_json(steps, evaluation.stack, pool))]
        if print_json
        else rotation_lines(steps, evaluation.stack, pool)
    )
    for line in output_lines:
        typer.echo(line)
    raise typer.Exit(EXIT_FAULTS if any(step.faults for step in steps) else EXIT_OK)


def rotation_steps(
    evaluation: Evaluation, pool: str, settings: Sequence[str], in_place: bool, root: pathlib.Path
) -> list[RotationStep]:
    """Return the steps for a pool of a stack without faults. Raises ManualEditRequired.

    `settings` are `key=value` for keys of the pool's entry.
    """
    plan = evaluation.fleet
    pool_plan = next((each for each in plan.pools if each.name == pool), None)
    if pool_plan is None:
        raise ManualEditRequired(
            f"no pool '{pool}'; the pools are {', '.join(each.name for each in plan.pools) or 'none'}"
        )
    if pool_plan.worker is not None:
        own = pool.removeprefix(f"{pool_plan.worker}/")
        allowance = f"workers.{pool_plan.worker}.allowReplacement: {{{own}: <why>}}"
        raise ManualEditRequired(
            f"'{pool}' belongs to a worker, so replace it by hand: drain its queues, then write {allowance}"
        )
    editor = YamlEditor.of(evaluation, root)
    return plan_rotation(editor, plan, pool_plan, _changes(settings), IN_PLACE if in_place else default_mode(pool_plan))


def _changes(settings: Sequence[str]) -> Mapping[str, str]:
    pairs = [setting.partition("=") for setting in settings]
    for setting, (key, sign, value) in zip(settings, pairs, strict=True):
        if not (_KEY.fullmatch(key) and sign and value):
            raise ManualEditRequired(f"'{_shown(setting)}' is not a setting; write --set topology=4x4")
        document, faults = parse(f"value: {value}", "") if value.isprintable() else (None, [])
        if document is None or any(fault.code in ("bad-yaml", "yaml-tag", "yaml-alias") for fault in faults):
            raise ManualEditRequired(f"--set {key}: {_shown(value)} is not a YAML value; write --set topology=4x4")
    known = allowed_keys(("pools", "pool"))
    if unknown := next((key for key, _, _ in pairs if key not in known), None):
        hint = did_you_mean(unknown, known) or f"; write one of {', '.join(known)}"
        raise ManualEditRequired(f"--set: unknown key '{unknown}' of a pool{hint}")
    return {key: value for key, _, value in pairs}


def _shown(text: str) -> str:
    return format_value(text if text.isprintable() else ascii(text))


def rotation_as_json(steps: Sequence[RotationStep], stack: str, pool: str) -> dict[str, Any]:
    """Return the steps as JSON values (docs/diff.md)."""
    steps_json = [{"title": s.title, "then": s.wait_for, "difference": s.diff, "faults": list(s.faults)} for s in steps]
    return {"version": VERSION, "stack": stack, "pool": pool, "steps": steps_json}


def rotation_lines(steps: Sequence[RotationStep], stack: str, pool: str) -> Iterator[str]:
    """Yield each step with its diff, ready for `git apply`, and the faults of its stack file."""
    if steps[-1].faults:
        yield f"{stack}: step {len(steps)} of the replacement of {pool} has faults; change --set or the stack file"
    else:
        yield f"{stack}: {pluralize(len(steps), 'step')} to replace {pool}, one pull request each"
    for number, step in enumerate(steps, 1):
        yield f"\n# {number}. {step.title}"
        yield step.diff.rstrip("\n")
        yield from (f"# fault: {fault}" for fault in step.faults)
        if not step.faults:
            yield f"# no faults; then {step.wait_for}"
