"""For generated edits of one key, `berth diff` calls changed, replaced and deleted what the engine does.

"Unchanged" in the diff means equal URNs, providers, inputs and protection in both runs of the program; "replaced" means
an input that the provider's schema forces, another identifier, or a resource made of one that is replaced.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import pytest

from berth.diff.compare import compare
from berth.evaluate import Evaluation
from tests.berth.diff.engine_changes import disagreements
from tests.berth.diff.one_key import base_values, evaluate_values, registered
from tests.berth.diff.schema_edits import Edit, SchemaKey, all_keys, generated_edits, root_schema
from tests.small_fleets import REMOVED, fleet_with
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


def _sound_edits() -> Iterator[tuple[str, Edit]]:
    """Edits that raise no fault, of each key so many, over all stacks."""
    tried, sound = Counter[SchemaKey](), Counter[SchemaKey]()
    for stack in STACKS:
        for edit in generated_edits(root_schema(stack), _before(stack)[0]):
            is_done = sound[edit.key] >= _PER_KEY or tried[edit.key] >= _TRIED_PER_KEY
            if is_done or any("." in str(step) for step in edit.path) or edit.key in _UNREADABLE:
                continue
            tried[edit.key] += 1
            if "secret" not in str(edit.value) and not evaluate_values(stack, _edited(stack, edit)).faults:
                sound[edit.key] += 1
                yield stack, edit


PAIRS: Final = list(_sound_edits())


def _title(pair: tuple[str, Edit]) -> str:
    stack, edit = pair
    return f"{stack}:{edit.dotted}={'<removed>' if edit.value is REMOVED else json.dumps(edit.value)}"[:90]


@pytest.mark.parametrize("pair", PAIRS, ids=_title)
def test_the_engine_does_what_the_diff_says(pair: tuple[str, Edit]) -> None:
    stack, edit = pair
    values, old = _before(stack)
    new = evaluate_values(stack, _edited(stack, edit))
    assert old.plan_of_any_kind is not None
    assert new.plan_of_any_kind is not None
    both = old.plan_of_any_kind, new.plan_of_any_kind
    sides = registered(stack, values), registered(stack, _edited(stack, edit))
    assert list(disagreements(*sides, compare(*both), both)) == []


def test_half_of_all_keys_have_a_generated_edit(capsys: pytest.CaptureFixture[str]) -> None:
    """The others need more than one value to be sound; one_key_edits.txt has a row for each."""
    keys = {edit.key for _, edit in PAIRS}
    with capsys.disabled():
        print(f"\n{len(PAIRS)} pairs of stack files, edits of {len(keys)} of {len(all_keys())} keys", end=" ")
    assert len(PAIRS) >= 200
    assert len(keys) >= len(all_keys()) * 0.45
