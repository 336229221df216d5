"""A calm headline is a finding: what is registered differs in harmless ways only, and each such edit is calm."""

from __future__ import annotations

import os
import re
from collections import Counter
from itertools import islice
from typing import Any, Final

import pytest

from berth.diff.calm.harmless import harmless_kinds, number
from berth.diff.calm.loud import all_differences
from tests.berth.diff.edits.judged import Judged, Values, judged
from tests.berth.diff.edits.one_key_table import ROWS, TABLE
from tests.berth.diff.edits.schema_edits import all_keys
from tests.berth.diff.edits.sound_edits import after, before, class_of, sound_edits

_PER_KEY: Final = int(os.environ.get("BERTH_EDITS_PER_KEY", "1"))
"""Sound edits of each key of the schema; more take minutes."""
CALM: Final = ("nothing", "told")


def judgement(found: Judged) -> tuple[str, str]:
    """Return the class of a change, and what is wrong with its headline: too calm, or noisy; "" if it is right."""
    changes = found.changes
    kind = class_of(changes)
    is_calm = kind in CALM
    if is_calm and found.harmful:
        return kind, f"calm, but {found.harmful[0]}"
    is_quiet = not (changes.rights or changes.losses or changes.idle or changes.entitlements.entitlements)
    is_noise = not is_calm and found.differences and not found.harmful and is_quiet and not found.has_more
    return kind, f"{kind}, but all {found.differences} differences are harmless" if is_noise else ""


def judged_soundly(stack: str, old: Values, new: Values) -> tuple[str, str]:
    """The judgement of an edit without faults."""
    found = judged(stack, old, new)
    assert found, "one of them has faults"
    return judgement(found)


def test_the_edits_of_the_table_are_calm_only_where_they_are_harmless() -> None:
    found = {row.title: judged_soundly(row.stack, row.base, row.edited)[1] for row in ROWS}
    assert {title: wrong for title, wrong in found.items() if wrong} == {}


def test_generated_edits_are_calm_only_where_they_are_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    wrong: dict[str, str] = {}
    classes: Counter[str] = Counter()
    for key in sorted(all_keys()):
        for stack, edit in islice(sound_edits(key), _PER_KEY):
            kind, found = judged_soundly(stack, before(stack)[0], after(stack, edit))
            classes[kind] += 1
            if found:
                wrong[f"{stack}: {edit.dotted} {edit.value}"] = found
    with capsys.disabled():
        print(f"\n{classes.total()} generated edits: {dict(classes)}", end=" ")
    assert wrong == {}
    assert classes.total() >= 200


def once_told() -> dict[str, list[str]]:
    """The edits that the table called told when calm was the default, by what has become of them."""
    text = TABLE.with_name("once_told.txt").read_text(encoding="utf-8")
    blocks = [block.strip().split("\n") for block in re.split(r"(?m)^== ", text)[1:]]
    return {title: lines for title, *lines in blocks}


def test_enough_edits_that_were_calm_by_default_are_calm_by_finding() -> None:
    blocks = once_told()
    rows = [f"{row.stack} {row.path} {row.value}" for row in ROWS if row.expected in CALM]
    assert Counter(blocks["calm"]) <= Counter(rows)
    total = sum(map(len, blocks.values()))
    assert total == 227
    assert len(blocks["calm"]) >= 0.4 * total
    loud = Counter(f"{row.stack} {row.path} {row.value}" for row in ROWS if row.expected not in CALM)
    assert Counter(line for title, lines in blocks.items() if title != "calm" for line in lines) <= loud


@pytest.mark.parametrize(
    "values",
    [
        ("500m", 1, "1500m", 2),
        ("900Mi", "1Gi", "1200Mi", "0.5Ti"),
        ("50s", "1min", "0.5h", "1h", "23h", "1d"),
        ("1G", "1Gi"),
    ],
)
def test_quantities_and_durations_are_compared_in_one_unit(values: tuple[object, ...]) -> None:
    numbers = [number(each) for each in values]
    assert None not in numbers
    assert numbers == sorted(set(numbers), key=float)  # type: ignore[arg-type]
    assert [number(each) for each in ("", "a", True, None, "1 Gi")] == [None] * 5


def test_every_harmless_kind_has_a_reason_and_an_edit_of_the_table() -> None:
    assert all(len(kind.because) > 20 for kind in harmless_kinds())
    assert len({kind.because for kind in harmless_kinds()}) == len(harmless_kinds())


@pytest.mark.parametrize(
    ("stack", "edits", "phrase"),
    [
        ("dev", {"kueue.chart": "oci://example.com/kueue"}, "chart"),
        ("dev", {"kueue.resources": {"excludeResourcePrefixes": ["google.com/", "nvidia.com/"]}}, "excludeResource"),
        ("dev", {"kueue.integrations": {"frameworks": ["batch/job"]}}, "integrations.frameworks"),
        ("dev", {"kueue.waitForPodsReady": {"timeout": "1s"}}, "waitForPodsReady.timeout 3600s → 1s"),
        ("dev", {"kueue.version": "0.15.0"}, "version 0.19.2 → 0.15.0"),
        ("dev", {"pools.v5e.slices": {"min": 0, "max": 3}}, "nodes 6 → 0–6"),
        (
            "batch-platform",
            {"clusterQueues.dws-cluster-queue.teams": ["team-a"]},
            "LocalQueue team-b/dws-local-queue is DELETED",
        ),
    ],
)
def test_what_was_hidden_is_in_the_headline(stack: str, edits: dict[str, Any], phrase: str) -> None:
    from berth.diff.headline import headline
    from tests.small_fleets import fleet_with

    base = before(stack)[0]
    found = judged(stack, base, fleet_with(edits, base=base))
    assert found, "one of them has faults"
    assert phrase in headline(found.changes)
    assert list(all_differences(found.changes))
