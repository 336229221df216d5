"""Edits of one small fleet: what `berth diff` is shown."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from components.plan.fleet import FleetPlan
from stacks.changes.whole import Changes, compare
from stacks.verdict import of_stack

HERE = Path(__file__).parent
BASE = {
    "Pulumi.dev.yaml": (HERE / "fleet" / "base.yaml").read_text(encoding="utf-8"),
    "teams/speech.yaml": (HERE / "fleet" / "teams" / "speech.yaml").read_text(encoding="utf-8"),
}
"""The fleet's files by name."""


def _edits() -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for block in re.split(r"(?m)^== ", (HERE / "edits.txt").read_text(encoding="utf-8"))[1:]:
        name, *body = block.rstrip().split("\n")
        pairs: list[tuple[list[str], list[str]]] = []
        for line in body:
            if line.startswith("-") and (not pairs or pairs[-1][1]):
                pairs.append(([], []))
            pairs[-1]["-+".index(line[0])].append(line[2:])
        found[name] = [("\n".join(old), "\n".join(new)) for old, new in pairs]
    return found


EDITS = _edits()
"""Name → (old, new) texts."""


def edited(name: str) -> dict[str, str]:
    """The files of the fleet with one edit made."""
    texts = dict(BASE)
    for old, new in EDITS[name]:
        assert sum(text.count(old) for text in texts.values()) == 1, f"{name}: not found once: {old}"
        texts = {file: text.replace(old, new) for file, text in texts.items()}
    return texts


def write(folder: Path, texts: dict[str, str]) -> None:
    """A project's folder with these files."""
    (folder / "Pulumi.yaml").write_text("name: berth\nruntime: python\n", encoding="utf-8")
    for name, text in texts.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


@cache
def plan(name: str | None = None) -> FleetPlan:
    """The plan of the fleet, or of the fleet with one edit."""
    with TemporaryDirectory() as folder:
        write(Path(folder), edited(name) if name else BASE)
        found = of_stack("dev", Path(folder))
    assert [fault.line() for fault in found.faults] == []
    assert found.plan is not None
    return found.plan


@cache
def changes(name: str) -> Changes:
    """What one edit changes."""
    return compare(plan(), plan(name))
