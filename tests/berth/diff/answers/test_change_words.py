"""Changes of a stack, each with the word that `berth diff` has for it: the table is changes.txt."""

from __future__ import annotations

import re
import shutil
from functools import cache
from pathlib import Path
from typing import Final

import pytest
import yaml

from berth.cli.comparison import StackRevision, changes_between, evaluate_revision
from berth.evaluate import Evaluation
from berth.yaml_loader import LOADER
from tests.berth.diff.edits.sound_edits import class_of
from tests.small_fleets import REMOVED, fleet_with
from tests.stack_files import ALL_STACKS, ROOT

HERE: Final = Path(__file__).parent
EDITS: Final = HERE.parent / "edits"
FILES: Final = ("Pulumi.dev.yaml", "Pulumi.yaml", "teams/speech.yaml")
CASES: Final = [
    line.split(" | ", 1)
    for line in (HERE / "changes.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]
PLACES: Final = {
    "file": ("config:\n", "{}\nconfig:\n"),
    "config": ("  berth:fleet:\n", "  {}\n  berth:fleet:\n"),
    "project": ("runtime: python\n", "runtime: python\n{}\n"),
    "fleet": ("    region: us-central1\n", "    region: us-central1\n    {}\n"),
    "cluster": ("      name: acme\n", "      name: acme\n      {}\n"),
    "kueue": ('kueue: {version: "0.19.1"', 'kueue: {{version: "0.19.1", {}'),
    "vision": ("      vision:\n        cohort: research\n", "      vision:\n        cohort: research\n        {}\n"),
}
Texts = dict[str, str]


def written(texts: Texts, change: str) -> Texts:
    """The files after one change."""
    if change == "CRLF":
        return {name: text.replace("\n", "\r\n") for name, text in texts.items()}
    if change == "COMMENTS":
        return {name: text.replace("\n", " # a comment\n", 1) for name, text in texts.items()}
    if change == "EXECUTABLE":
        return texts
    if value := re.fullmatch(r"([A-Za-z0-9_.-]+) (?:= (.*)|-)", change):
        document = yaml.load(texts[FILES[0]], LOADER)
        edit = {value[1]: REMOVED if value[2] is None else yaml.load(value[2], LOADER)}
        document["config"]["berth:fleet"] = fleet_with(edit, base=document["config"]["berth:fleet"])
        return {**texts, FILES[0]: yaml.safe_dump(document, sort_keys=False)}
    if change.startswith("+"):
        place, _, text = change[1:].partition(" ")
        old, new = PLACES[place][0], PLACES[place][1].format(text)
    else:
        old, new = (text.replace("\\n", "\n") for text in change.split(" → "))
    (name,) = [name for name, text in texts.items() if old in text]
    assert texts[name].count(old) == 1, f"{old!r} is {texts[name].count(old)} times in {name}"
    return {**texts, name: texts[name].replace(old, new)}


def evaluated(folder: Path, texts: Texts, *, executable: bool = False) -> Evaluation:
    """The evaluation of the stack with these files."""
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())
    if executable:
        (folder / FILES[0]).chmod(0o755)
    return evaluate_revision(StackRevision("dev"), folder)


@cache
def base_texts(stack: str) -> tuple[tuple[str, str], ...]:
    """The files of an example, or of a fleet that the edits beside this folder change, with those that it reads."""
    folder = EDITS / stack
    file = folder / "base.yaml" if folder.is_dir() else ALL_STACKS[stack]
    read = [*folder.glob("*/**/*.yaml")] if folder.is_dir() else [*(ROOT / "stacks" / "teams").glob("*.yaml")]
    top = folder if folder.is_dir() else ROOT
    return (
        (FILES[0], file.read_text(encoding="utf-8")),
        (FILES[1], "name: x\nruntime: python\n"),
        *((each.relative_to(top).as_posix(), each.read_text(encoding="utf-8")) for each in read),
    )


def word_of(change: str, folder: Path) -> str:
    """The word for a change; `fault` where its stack file is refused."""
    edits = change.split(" ;; ")
    before = dict(base_texts(edits.pop(0).removeprefix("on ") if change.startswith("on ") else "fleet"))
    while edits[0].startswith("base: "):
        before = written(before, edits.pop(0).removeprefix("base: "))
    after = before
    for edit in edits:
        after = written(after, edit)
    old = evaluated(folder / "old", before)
    assert old.faults == (), [fault.line() for fault in old.faults]
    new = evaluated(folder / "new", after, executable="EXECUTABLE" in edits)
    shutil.rmtree(folder / "old")
    shutil.rmtree(folder / "new")
    if new.faults:
        return "fault"
    changes = changes_between(old, new)
    is_right = any(each.is_loud for each in changes.rights) and not changes.blocked
    return "right" if is_right else {"nothing": "calm", "told": "calm"}.get(word := class_of(changes), word)


@pytest.mark.parametrize(("word", "change"), CASES)
def test_a_change_has_its_word(word: str, change: str, tmp_path: Path) -> None:
    assert word_of(change, tmp_path) == word


def test_there_are_cases_of_each_word() -> None:
    assert len(CASES) >= 120
    assert {word for word, _ in CASES} == {"calm", "loud", "right", "blocked", "fault"}
