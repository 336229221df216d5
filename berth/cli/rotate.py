"""`berth rotate`: the steps that replace a pool, as edits of the stack file."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from berth.evaluate import Evaluation
from berth.loader.locate import display_path
from berth.rotate.steps import IN_PLACE, RotationStep, default_mode, plan_rotation
from berth.rotate.yaml_editor import ManualEditRequired, YamlEditor
from berth.text import pluralize

VERSION = 1
"""Of the JSON; raised when a key changes its meaning or goes."""


def rotation_steps(
    evaluation: Evaluation, pool: str, settings: Sequence[str], in_place: bool, root: pathlib.Path
) -> list[RotationStep]:
    """The steps for a pool of a sound stack; `settings` are `key=value` of its entry. Raises NotEdited."""
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
    own = display_path(file.file, root)
    texts = {own: file.file.read_text(encoding="utf-8")}
    texts |= {name: (root / name).read_text(encoding="utf-8") for name in file.source_map.files if name != own}
    editor = YamlEditor(file.stack, own, texts)
    return plan_rotation(
        editor, plan, pool_plan, _changes(settings), IN_PLACE if in_place else default_mode(plan, pool_plan)
    )


def _changes(settings: Sequence[str]) -> Mapping[str, str]:
    pairs = [setting.partition("=") for setting in settings]
    if invalid_key := next((key for key, sign, value in pairs if not (key and sign and value)), None):
        raise ManualEditRequired(f"'{invalid_key}' is no setting; write --set topology=4x4")
    return {key: value for key, _, value in pairs}


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
