"""For generated edits of one key, `berth diff` calls changed, replaced and deleted what the engine does.

"Unchanged" in the diff means equal URNs, providers, inputs and protection in both runs of the program; "replaced" means
an input that the provider's schema forces, another identifier, or a resource made of one that is replaced.
"""

from __future__ import annotations

import os
from functools import cache
from itertools import islice
from typing import Any, Final

import pytest

from berth.diff.compare import compare
from berth.evaluate import Evaluation
from tests.berth.diff.engine_changes import disagreements
from tests.berth.diff.one_key import base_values, evaluate_values, registered
from tests.berth.diff.schema_edits import Edit, SchemaKey, all_keys, generated_edits, root_schema
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


KEYS: Final = sorted(all_keys() - _UNREADABLE)


@pytest.mark.parametrize("key", KEYS, ids=".".join)
def test_the_engine_does_what_the_diff_says(key: SchemaKey) -> None:
    for stack, edit in _sound_edits(key):
        values, old = _before(stack)
        new = evaluate_values(stack, _edited(stack, edit))
        assert old.plan_of_any_kind is not None
        assert new.plan_of_any_kind is not None
        both = old.plan_of_any_kind, new.plan_of_any_kind
        sides = registered(stack, values), registered(stack, _edited(stack, edit))
        assert list(disagreements(*sides, compare(*both), both)) == [], (stack, edit.dotted, edit.value)


def test_half_of_all_keys_have_a_generated_edit(capsys: pytest.CaptureFixture[str]) -> None:
    """The others need more than one value to be sound; one_key_edits.txt has a row for each."""
    pairs = [pair for key in KEYS for pair in _sound_edits(key)]
    keys = {edit.key for _, edit in pairs}
    with capsys.disabled():
        print(f"\n{len(pairs)} pairs of stack files, edits of {len(keys)} of {len(all_keys())} keys", end=" ")
    assert len(pairs) >= 200
    assert len(keys) >= len(all_keys()) * 0.45
