"""For generated edits of one key, `berth diff` calls changed, replaced and deleted what the engine does.

"Unchanged" in the diff means equal URNs, providers, inputs and protection in both runs of the program; "replaced" means
an input that the provider's schema forces, another identifier, or a resource made of one that is replaced.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice
from typing import Any, Final

import pytest

from berth.evaluate import Evaluation
from tests.berth.diff.edits.batches import OneEdit, batches
from tests.berth.diff.edits.engine_changes import Disagreement
from tests.berth.diff.edits.one_key import base_values, evaluate_values
from tests.berth.diff.edits.schema_edits import Edit, SchemaKey, all_keys, generated_edits, root_schema
from tests.small_fleets import fleet_with
from tests.stack_files import ALL_STACKS

_PER_KEY: Final = int(os.environ.get("BERTH_EDITS_PER_KEY", "1"))
"""Sound edits of each key of the schema; more take minutes."""
_TRIED_PER_KEY: Final = 60
_SMALL_FIRST: Final = ("local", "ack-fleet", "team-a", "dws", "flex-start", "reservations", "gpu-rdma")
STACKS: Final = [*_SMALL_FIRST, *(stack for stack in ALL_STACKS if stack not in _SMALL_FIRST)]
_UNREADABLE: Final = {("ExistingClusterSpec", "secret")}
"""Keys whose value is a name of the stack's config, which must be there."""


@cache
def _before(stack: str) -> tuple[dict[str, Any], Evaluation]:
    values = base_values(stack)
    return values, evaluate_values(stack, values)


def _edited(stack: str, edit: Edit) -> dict[str, Any]:
    return fleet_with({edit.dotted: edit.value}, base=_before(stack)[0])


@cache
def _by_key(stack: str) -> dict[SchemaKey, list[Edit]]:
    edits: dict[SchemaKey, list[Edit]] = {}
    for edit in generated_edits(root_schema(stack), _before(stack)[0]):
        if not any("." in str(step) for step in edit.path) and "secret" not in str(edit.value):
            edits.setdefault(edit.key, []).append(edit)
    return edits


@cache
def _sound_edits(key: SchemaKey) -> tuple[tuple[str, Edit], ...]:
    """Edits of one key that raise no fault, so many over all stacks."""
    tried = islice(((stack, edit) for stack in STACKS for edit in _by_key(stack).get(key, ())), _TRIED_PER_KEY)
    sound = (pair for pair in tried if not evaluate_values(pair[0], _edited(*pair)).faults)
    return tuple(islice(sound, _PER_KEY))


def test_the_engine_does_what_the_diff_says_of_generated_edits(capsys: pytest.CaptureFixture[str]) -> None:
    """About half of all keys have one; the others need more than one value to be sound: see one_key_edits.txt."""
    pairs = [pair for key in sorted(all_keys() - _UNREADABLE) for pair in _sound_edits(key)]
    keys = {edit.key for _, edit in pairs}
    with capsys.disabled():
        print(f"\n{len(pairs)} pairs of stack files, edits of {len(keys)} of {len(all_keys())} keys", end=" ")
    assert len(pairs) >= 200
    assert len(keys) >= len(all_keys()) * 0.45
    assert list(_disagreements(pairs)) == []


def _disagreements(pairs: Iterable[tuple[str, Edit]]) -> Iterator[tuple[str, Disagreement]]:
    by_stack: dict[str, list[OneEdit]] = {}
    for stack, edit in pairs:
        title = f"{stack}: {edit.dotted} {edit.value}"
        by_stack.setdefault(stack, []).append(OneEdit(edit.dotted, edit.value, title))
    for stack, edits in by_stack.items():
        for batch in batches(stack, _before(stack)[0], edits):
            yield from batch.disagreements()
