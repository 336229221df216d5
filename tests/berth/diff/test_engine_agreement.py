"""For generated edits of one key, `berth diff` calls changed, replaced and deleted what the engine does.

"Unchanged" in the diff means equal URNs, providers, inputs and protection in both runs of the program; "replaced" means
an input that the provider's schema forces, another identifier, or a resource made of one that is replaced.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

import pytest

from tests.berth.diff.edits.batches import OneEdit, batches, judged_alone, sample
from tests.berth.diff.edits.engine_changes import Disagreement
from tests.berth.diff.edits.schema_edits import Edit, all_keys
from tests.berth.diff.edits.sound_edits import before, sound_edits

_PER_KEY: Final = int(os.environ.get("BERTH_EDITS_PER_KEY", "1"))
"""Sound edits of each key of the schema; more take minutes."""
_UNREADABLE: Final = {("ExistingClusterSpec", "secret")}
"""Keys whose value is a name of the stack's config, which must be there."""


def test_the_engine_does_what_the_diff_says_of_generated_edits(capsys: pytest.CaptureFixture[str]) -> None:
    """About half of all keys have one; the others need more than one value to be sound: see one_key_edits.txt."""
    pairs = [pair for key in sorted(all_keys() - _UNREADABLE) for pair in islice(sound_edits(key), _PER_KEY)]
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
        base = before(stack)[0]
        for edit in edits:
            yield from ((edit.title, each) for each in judged_alone(stack, base, edit).disagreements)
        for batch in sample(batches(stack, base, edits)):
            yield from batch.disagreements()
