"""Every object of the answers is imported, or kept by name with one of a closed list of reasons."""

from __future__ import annotations

import json
import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from berth.adopt.api_objects import Fate, Kept
from berth.cli.adopt.answer import adopt_cluster, change_lines
from tests.berth.adopt.conservation.variations import answers_of, random_fleet, texts_of
from tests.berth.adopt.test_recorded_answers import FLEETS, recorded
from tests.gke_answers import files
from tests.stack_files import ROOT, assert_golden, plan

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


class Fates(Struct, frozen=True):
    """The objects of a cluster's answers, those that are neither imported nor kept, and the reasons of kept ones.

    `printed` is what the command says.
    """

    objects: list[tuple[str, ...]]
    neither: list[str]
    reasons: Counter[str]
    printed: str

    def kept(self, *but: Kept) -> int:
        """The number of objects that are kept for another reason than these."""
        return sum(count for name, count in self.reasons.items() if Kept[name] not in but)


def _fates(folder: Path, texts: dict[str, str], *, keep_cluster: bool = False) -> Fates:
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    result = adopt_cluster("test", [folder / name for name in sorted(texts)], ROOT, keep_cluster=keep_cluster)
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
    counts = Counter(each.name for each in reasons if each is not None)
    return Fates(objects, neither, counts, "\n".join(change_lines(result)))


# --- recorded fleets --------------------------------------------------------------------------------------------------

_BEYOND = (Kept.SYSTEM, Kept.ELSEWHERE, Kept.NETWORK, Kept.CLUSTER)
"""Reasons of objects that are not of the fleet: made again, of other places, and of a cluster that somebody keeps."""
_OF_THE_CLUSTER = ("theirs", "theirs-inside", "batch", "multislice-tutorial", "xpk")
"""Clusters that stay with their owners."""
_WRITTEN = {"batch": "batch", "multislice-tutorial": "multislice", "xpk": "xpk"}
"""Answers in `kept`, by folder: those of clusters that published definitions make."""
_COMPLETE = ("lab",)
"""Recordings that have the objects inside too."""
_RECORDED = (*FLEETS, *_COMPLETE, *_OF_THE_CLUSTER)


def _texts(fleet: str) -> dict[str, str]:
    """Return the answers of a fleet; those on what lies inside are the converter's where nothing recorded them."""
    if fleet in _WRITTEN:
        folder = Path(__file__).parent / "kept" / _WRITTEN[fleet]
        return {file.name: file.read_text(encoding="utf-8") for file in folder.glob("*.json")}
    if fleet not in FLEETS:
        return recorded()[fleet]
    return {"objects.json": files(plan(fleet), noise=True)["objects.json"], **recorded()[fleet]}


@cache
def _recorded_fates(fleet: str) -> Fates:
    with tempfile.TemporaryDirectory() as folder:
        return _fates(Path(folder), _texts(fleet), keep_cluster=fleet in _OF_THE_CLUSTER)


@pytest.mark.parametrize("fleet", _RECORDED)
def test_every_object_of_a_recorded_answer_has_a_fate(fleet: str) -> None:
    fates = _recorded_fates(fleet)
    assert len(fates.objects) > 3
    assert fates.neither == []


@pytest.mark.parametrize("fleet", _RECORDED)
def test_at_most_a_twentieth_of_a_recorded_fleet_is_left(fleet: str) -> None:
    """Of the objects of the fleet; what stays under an `existing` entry of the stack file is in the stack."""
    fates = _recorded_fates(fleet)
    of_the_fleet = len(fates.objects) - fates.kept() + fates.kept(*_BEYOND)
    assert fates.kept(*_BEYOND, Kept.EXISTING) <= of_the_fleet / 20


_LEFT_LINES = (
    "no entry of the stack file makes",
    "is not managed by Berth and stays",
    "its title is not one of Berth's",
    "no LocalQueue uses it",
)
"""What the lines say of objects that are left for another reason than those set apart."""


def _printed_as_left(printed: str) -> int:
    """Count the objects of these lines, by the words alone."""
    left = printed.partition("changed by the first")[0].partition("created by the first")[0].splitlines()
    number = 0
    for line in (each for each in left if any(words in each for words in _LEFT_LINES)):
        subject = line.strip().partition(": ")[0]
        counted = re.match(r"(\d+) ", subject)
        number += int(counted[1]) if counted else subject.count(",") + 1
    return number


def test_golden_of_the_share_of_each_recorded_fleet() -> None:
    """The number of objects that are left is counted again from what the command prints."""
    lines = ["fleet | Kubernetes', GKE's, elsewhere or the cluster's | existing | left | share, rounded up"]
    for fleet in _RECORDED:
        fates = _recorded_fates(fleet)
        beyond = fates.kept() - fates.kept(*_BEYOND)
        left, own = fates.kept(*_BEYOND, Kept.EXISTING), len(fates.objects) - beyond
        assert left == _printed_as_left(fates.printed), fates.printed
        existing = fates.reasons[Kept.EXISTING.name]
        lines.append(f"{fleet} | {beyond} | {existing} | {left} | {-(-100 * left // own)} %")
    assert_golden("\n".join(lines) + "\n", Path(__file__).parent / "shares.txt")


# --- random fleets ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(300, 306))
def test_at_most_a_twentieth_of_a_fleet_stays_with_a_reason(seed: int, tmp_path: Path) -> None:
    """Without what Kubernetes, GKE and controllers make again."""
    fates = _fates(tmp_path, texts_of(answers_of(random_fleet(random.Random(seed)))))
    assert fates.neither == []
    assert fates.kept(Kept.SYSTEM) <= len(fates.objects) / 20, fates.reasons


def test_the_page_lists_the_reasons() -> None:
    page = (ROOT / "docs" / "adopt.md").read_text(encoding="utf-8")
    assert [each.value for each in Kept if f"| {each.value} |" not in page] == []
