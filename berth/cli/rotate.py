"""`berth rotate`: the steps that replace a pool, as edits of the stack file."""

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
    format_json,
    project_root,
)
from berth.diagnostics import format_value
from berth.evaluate import Evaluation
from berth.loader.document import parse
from berth.loader.locate import display_path
from berth.rotate.steps import IN_PLACE, RotationStep, default_mode, plan_rotation
from berth.rotate.yaml_editor import ManualEditRequired, YamlEditor
from berth.text import pluralize

_KEY = re.compile("[A-Za-z]+")

VERSION = 1
"""Of the JSON; raised when a key changes its meaning or goes."""


EPILOG = "Example: berth rotate dev v5e --set topology=4x4"


def command(
    stack: StackArgument,
    pool: Annotated[str, typer.Argument(metavar="POOL", help="A pool of the stack file.")],
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="What the new pool is to have instead.")
    ] = None,
    in_place: Annotated[
        bool, typer.Option("--in-place", help="Drain the queues and replace it, though both could stand side by side.")
    ] = False,
    print_json: JsonOption = False,
) -> None:
    """Print the steps that replace a pool.

    Edits of the stack file as diffs, one pull request each: the new pool beside the old one, or, where no machines can
    be had twice, queues drained first. Each step's stack file is checked; exits 1 when one would be refused.
    """
    evaluation = evaluate_or_exit(stack)
    from berth.rotate.yaml_editor import ManualEditRequired

    try:
        steps = rotation_steps(evaluation, pool, settings or (), in_place, project_root())
    except ManualEditRequired as error:
        typer.echo(f"{error}", err=True)
        raise typer.Exit(EXIT_FAULTS) from None
    output_lines = (
        [format_json(as_json(steps, evaluation.stack, pool))] if print_json else lines(steps, evaluation.stack, pool)
    )
    for line in output_lines:
        typer.echo(line)
    raise typer.Exit(EXIT_FAULTS if any(step.faults for step in steps) else EXIT_OK)


def rotation_steps(
    evaluation: Evaluation, pool: str, settings: Sequence[str], in_place: bool, root: pathlib.Path
) -> list[RotationStep]:
    """The steps for a pool of a sound stack; `settings` are `key=value` of its entry. Raises ManualEditRequired."""
    plan, file = evaluation.plan, evaluation.file
    assert plan is not None
    assert file is not None
    assert file.file is not None
    pool_plan = next((each for each in plan.pools if each.name == pool), None)
    if pool_plan is None:
        raise ManualEditRequired(f"no pool '{pool}'; there is {', '.join(each.name for each in plan.pools) or 'none'}")
    if pool_plan.worker is not None:
        own = pool.removeprefix(f"{pool_plan.worker}/")
        allowance = f"workers.{pool_plan.worker}.allowReplacement: {{{own}: <why>}}"
        raise ManualEditRequired(
            f"'{pool}' is a worker's pool, which is replaced by hand: drain its queues, write {allowance}"
        )
    # A file outside of the project's folder is edited under its name alone, beside the team files of the project.
    own = display_path(file.file, root) if file.file.resolve().is_relative_to(root.resolve()) else file.file.name
    shown = display_path(file.file, root)
    texts = {own: file.file.read_text(encoding="utf-8")}
    texts |= {name: (root / name).read_text(encoding="utf-8") for name in file.source_map.files if name != shown}
    editor = YamlEditor(file.stack, own, texts)
    return plan_rotation(
        editor, plan, pool_plan, _changes(settings), IN_PLACE if in_place else default_mode(plan, pool_plan)
    )


def _changes(settings: Sequence[str]) -> Mapping[str, str]:
    pairs = [setting.partition("=") for setting in settings]
    for setting, (key, sign, value) in zip(settings, pairs, strict=True):
        if not (_KEY.fullmatch(key) and sign and value):
            raise ManualEditRequired(f"'{_shown(setting)}' is not a setting; write --set topology=4x4")
        if not _is_yaml(value):
            raise ManualEditRequired(f"--set {key}: {_shown(value)} is not a YAML value; write --set topology=4x4")
    return {key: value for key, _, value in pairs}


def _shown(text: str) -> str:
    return format_value(text if text.isprintable() else ascii(text))


def _is_yaml(value: str) -> bool:
    """Whether a text is one YAML value on one line."""
    document, faults = parse(f"value: {value}", "") if value.isprintable() else (None, [])
    return document is not None and not any(fault.code in ("bad-yaml", "yaml-tag", "yaml-alias") for fault in faults)


def as_json(steps: Sequence[RotationStep], stack: str, pool: str) -> dict[str, Any]:
    """The steps as docs/diff.md says."""
    steps_json = [{"title": s.title, "then": s.wait_for, "difference": s.diff, "faults": list(s.faults)} for s in steps]
    return {"version": VERSION, "stack": stack, "pool": pool, "steps": steps_json}


def lines(steps: Sequence[RotationStep], stack: str, pool: str) -> Iterator[str]:
    """Every step with its diff, ready for `git apply`, and what its stack file would be refused for."""
    yield f"{stack}: {pluralize(len(steps), 'step')} to replace {pool}, one pull request each"
    for number, step in enumerate(steps, 1):
        yield f"\n# {number}. {step.title}"
        yield step.diff.rstrip("\n")
        yield from (f"# refused: {fault}" for fault in step.faults)
        yield f"# {'sound; ' if not step.faults else ''}then {step.wait_for}"
