"""`berth rotate`: the steps that replace a pool, as edits of the stack file."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from berth.evaluate import Verdict
from berth.loader.locate import shown
from berth.rotate.steps import IN_PLACE, Step, rotate, way
from berth.rotate.yaml_editor import NotEdited, Sheet
from berth.text import many

VERSION = 1
"""Of the JSON; raised when a key changes its meaning or goes."""


def steps(verdict: Verdict, pool: str, settings: Sequence[str], in_place: bool, root: pathlib.Path) -> list[Step]:
    """The steps for a pool of a sound stack; `settings` are `key=value` of its entry. Raises NotEdited."""
    plan, file = verdict.plan, verdict.file
    assert plan is not None
    assert file is not None
    assert file.file is not None
    found = next((each for each in plan.pools if each.name == pool), None)
    if found is None:
        raise NotEdited(f"no pool '{pool}'; there is {', '.join(each.name for each in plan.pools) or 'none'}")
    if found.worker is not None:
        own = pool.removeprefix(f"{found.worker}/")
        allowance = f"workers.{found.worker}.allowReplacement: {{{own}: <why>}}"
        raise NotEdited(f"'{pool}' is a worker's pool, which is replaced by hand: drain its queues, write {allowance}")
    own = shown(file.file, root)
    texts = {own: file.file.read_text(encoding="utf-8")}
    texts |= {name: (root / name).read_text(encoding="utf-8") for name in file.places.files if name != own}
    sheet = Sheet(file.stack, own, texts)
    return rotate(sheet, plan, found, _changes(settings), IN_PLACE if in_place else way(plan, found))


def _changes(settings: Sequence[str]) -> Mapping[str, str]:
    pairs = [setting.partition("=") for setting in settings]
    if wrong := next((key for key, sign, value in pairs if not (key and sign and value)), None):
        raise NotEdited(f"'{wrong}' is no setting; write --set topology=4x4")
    return {key: value for key, _, value in pairs}


def as_json(found: Sequence[Step], stack: str, pool: str) -> dict[str, Any]:
    """The steps as docs/diff.md says."""
    told = [{"title": s.title, "then": s.then, "difference": s.difference, "faults": list(s.faults)} for s in found]
    return {"version": VERSION, "stack": stack, "pool": pool, "steps": told}


def lines(found: Sequence[Step], stack: str, pool: str) -> Iterator[str]:
    """Every step with its diff, ready for `git apply`, and what its stack file would be refused for."""
    yield f"{stack}: {many(len(found), 'step')} to replace {pool}, one pull request each"
    for number, step in enumerate(found, 1):
        yield f"\n# {number}. {step.title}"
        yield step.difference.rstrip("\n")
        yield from (f"# refused: {fault}" for fault in step.faults)
        yield f"# {'sound; ' if not step.faults else ''}then {step.then}"
