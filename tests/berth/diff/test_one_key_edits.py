"""One edited key at a time, over the examples: how loud `berth diff` is, for every key of the schema."""

from __future__ import annotations

from itertools import groupby
from typing import Final

import pytest

from tests.berth.diff.edits.batches import Batch, OneEdit, batches, judged_alone, sample
from tests.berth.diff.edits.judged import judged
from tests.berth.diff.edits.one_key_table import ROWS, Row, parsed
from tests.berth.diff.edits.schema_edits import SchemaKey, all_keys
from tests.berth.diff.edits.sound_edits import after, before, class_by_effect, class_of, sound_edits

CLASSES: Final = ("nothing", "told", "loud", "blocked")
every_row = pytest.mark.parametrize("row", [pytest.param(row, id=row.title) for row in ROWS])


@every_row
def test_an_edit_has_the_class_of_its_danger(row: Row) -> None:
    found = judged(row.stack, row.base, row.edited)
    assert found, "one of them has faults"
    changes = found.changes
    assert class_of(changes) == row.expected
    assert changes.is_empty == (row.expected == "nothing") or changes.idle


BY_STACK: Final = {
    stack: list(rows)
    for stack, rows in groupby(sorted(ROWS, key=lambda row: (row.stack, row.given)), lambda r: r.stack)
}


@pytest.mark.parametrize("stack", BY_STACK)
def test_the_engine_does_what_the_diff_says(stack: str) -> None:
    """Registrations and manifests say it of every edit, and the program of a sample of them."""
    rows, made = BY_STACK[stack], list[Batch]()
    for _, given in groupby(rows, lambda row: row.given):
        same_base = list(given)
        edits = [OneEdit(row.path, parsed(row.value), row.title) for row in same_base]
        base = same_base[0].base
        assert [(edit.title, each) for edit in edits for each in judged_alone(stack, base, edit).disagreements] == []
        made += batches(stack, base, edits)
    assert sum(len(batch.edits) for batch in made) == len(rows)
    assert [each for batch in sample(made) for each in batch.disagreements()] == []


def test_the_table_has_every_class_and_enough_rows() -> None:
    assert len(ROWS) >= 120
    assert {row.expected for row in ROWS} == set(CLASSES)


def generated_class(key: SchemaKey) -> str | None:
    """The class of a generated edit of a key, if it follows from what the edit does; None if a row must decide it."""
    for stack, edit in sound_edits(key):
        found = judged(stack, before(stack)[0], after(stack, edit))
        assert found is not None
        changes = found.changes
        if not changes.is_empty:
            follows = class_by_effect(changes)
            return follows if follows == class_of(changes) else None
    return None


def test_every_key_of_a_stack_file_has_a_row_or_a_class_that_follows() -> None:
    """A row decides the class of an edit that is loud, that changes what a team has, or that needs more than one value.

    The engine's side of an edit without a row is compared in test_engine_agreement.py.
    """
    covered = {key for row in ROWS for key in row.keys}
    missing = [key for key in all_keys() - covered - WITHOUT_EDIT if generated_class(key) is None]
    assert sorted(f"{name}.{key}" for name, key in missing) == []
    assert all_keys() >= WITHOUT_EDIT


FOLLOWING: Final[dict[SchemaKey, str | None]] = {
    ("ClusterSpec", "releaseChannel"): "loud",
    ("ClusterSpec", "gatewayApi"): "told",
    ("PoolSpec", "maxPodsPerNode"): "blocked",
    ("PoolSpec", "diskSizeGb"): None,  # nodes are recreated
    ("ClusterSpec", "shieldedNodes"): None,  # a right
    ("TeamSpec", "people"): None,  # rights
}


@pytest.mark.parametrize("key", FOLLOWING)
def test_the_class_of_a_plain_change_follows_from_what_it_does(key: SchemaKey) -> None:
    assert generated_class(key) == FOLLOWING[key]


WITHOUT_EDIT: Final = {
    ("FleetSpec", "teamFiles"), ("AckFleetSpec", "teamFiles"), ("ExistingClusterSpec", "secret"),
    ("AcceleratorPricesSpec", "currency"), ("PolicySpec", "enforce"),
    ("FleetSpec", "base"), ("AckFleetSpec", "base"), ("FleetSpec", "without"), ("AckFleetSpec", "without"),
}  # fmt: skip
"""The files that teams are written in (a team that moves to another file is no change: edits/edits.txt), and
a name of the stack's own config. A currency changes only together with prices, and `enforce` of a
policy together with its date. What a base file gives is compared merged (tests/berth/loader/test_base_file.py)."""
