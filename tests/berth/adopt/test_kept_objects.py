"""Every object of the answers is imported, or kept by name with one of a closed list of reasons."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from berth.adopt.api_objects import Fate, Kept
from berth.cli.adopt.answer import adopt_cluster
from tests.berth.adopt.conservation.variations import answers_of, random_fleet, texts_of
from tests.berth.adopt.test_recorded_answers import FLEETS, recorded
from tests.stack_files import ROOT

_NO_OBJECTS = ("iam-polic", "policies", "services", "kueue", "cluster")
"""Files whose answers are no objects of their own: rights, switched-on APIs, settings, and the cluster itself."""


def _objects(file: str, answer: Any) -> Iterator[tuple[str, ...]]:
    """Yield the names that a line or an import may have for each object of an answer."""
    if file.startswith(_NO_OBJECTS):
        return
    for each in answer.get("items", [answer]) if isinstance(answer, dict) else answer:
        if "metadata" in each:
            yield ("/".join(filter(None, (each["metadata"].get("namespace"), each["metadata"]["name"]))),)
        else:
            names = (str(each[key]).rpartition("/")[2] for key in ("email", "name", "displayName") if key in each)
            yield tuple(names)


def _fates(folder: Path, texts: dict[str, str]) -> tuple[list[tuple[str, ...]], list[str], Counter[str]]:
    """Return the objects, those that are neither imported nor kept, and the number of kept ones by reason."""
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    result = adopt_cluster("test", [folder / name for name in sorted(texts)], ROOT)
    assert [fault.line() for fault in result.faults] == []
    objects = [name for file, text in texts.items() for name in _objects(file, json.loads(text))]
    contents = [json.loads(text) for name, text in result.output_files.items() if name.endswith(".json")]
    entries = [each for content in contents for each in content["resources"] if "id" in each]
    known = {str(each["id"]).rpartition(" ")[2] for each in entries}
    known |= {each.rpartition("/")[2] for each in known if each.startswith("projects/") or each.count("/") > 1}
    kept: dict[str, Kept] = {}
    for each in result.not_adopted:
        if each.kept is not None:
            assert each.fate == Fate.LEFT
            kept |= dict.fromkeys(each.names or (each.subject.rpartition(" ")[2],), each.kept)
    neither = [" ".join(names) for names in objects if not ({*names} & {*known, *kept})]
    reasons = (next((kept[name] for name in names if name in kept and name not in known), None) for names in objects)
    return objects, neither, Counter(each.name for each in reasons if each is not None)


@pytest.mark.parametrize("stack", FLEETS)
def test_every_object_of_a_recorded_answer_has_a_fate(stack: str, tmp_path: Path) -> None:
    objects, neither, _ = _fates(tmp_path, recorded()[stack])
    assert len(objects) > 3
    assert neither == []


@pytest.mark.parametrize("seed", range(300, 306))
def test_at_most_a_twentieth_of_a_fleet_stays_with_a_reason(seed: int, tmp_path: Path) -> None:
    """Without what Kubernetes, GKE and controllers make again."""
    objects, neither, kept = _fates(tmp_path, texts_of(answers_of(random_fleet(random.Random(seed)))))
    assert neither == []
    kept.pop("SYSTEM", None)
    assert sum(kept.values()) <= len(objects) / 20, kept


def test_the_page_lists_the_reasons() -> None:
    page = (ROOT / "docs" / "adopt.md").read_text(encoding="utf-8")
    assert [each.value for each in Kept if f"| {each.value} |" not in page] == []
