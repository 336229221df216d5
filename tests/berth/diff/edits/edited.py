"""Edits of four small stacks, a fleet on each backend, a manager and a team's own: what `berth diff` is shown."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from berth.backends.interface import compare
from berth.backends.table import StackPlan
from berth.diff.changes import Changes
from berth.evaluate import evaluate_stack
from berth.plan.fleet import FleetPlan

HERE = Path(__file__).parent


def _edits(file: Path) -> dict[str, list[tuple[str, str]]]:
    values: dict[str, list[tuple[str, str]]] = {}
    for block in re.split(r"(?m)^== ", file.read_text(encoding="utf-8"))[1:]:
        name, *body = block.rstrip().split("\n")
        pairs: list[tuple[list[str], list[str]]] = []
        for line in body:
            if line.startswith("-") and (not pairs or pairs[-1][1]):
                pairs.append(([], []))
            pairs[-1]["-+".index(line[0])].append(line[2:])
        values[name] = [("\n".join(old), "\n".join(new)) for old, new in pairs]
    return values


def _text(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


@dataclass(frozen=True, eq=False)
class Subject:
    """A stack with its `files` by name, and its edits: name → (old, new) texts."""

    stack: str
    files: dict[str, str]
    edits: dict[str, list[tuple[str, str]]]

    def edited(self, name: str) -> dict[str, str]:
        """Return the files with one edit made."""
        texts = dict(self.files)
        for old, new in self.edits[name]:
            assert sum(text.count(old) for text in texts.values()) == 1, f"{name}: not found once: {old}"
            texts = {file: text.replace(old, new) for file, text in texts.items()}
        return texts

    def plan(self, name: str | None = None) -> StackPlan:
        """Return the plan of the stack, or of the stack with one edit."""
        return _plan(self, name)

    def changes(self, name: str) -> Changes:
        """What one edit changes."""
        return _changes(self, name)


@cache
def _plan(subject: Subject, name: str | None) -> StackPlan:
    with TemporaryDirectory() as folder:
        write(Path(folder), subject.edited(name) if name else subject.files)
        evaluation = evaluate_stack(subject.stack, Path(folder))
    assert [fault.line() for fault in evaluation.faults] == []
    assert evaluation.plan is not None
    return evaluation.plan


@cache
def _changes(subject: Subject, name: str) -> Changes:
    return compare(subject.plan(), subject.plan(name))


def write(folder: Path, texts: dict[str, str]) -> None:
    """A project's folder with these files."""
    (folder / "Pulumi.yaml").write_text("name: berth\nruntime: python\n", encoding="utf-8")
    for name, text in texts.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


BASE = {"Pulumi.dev.yaml": _text("fleet/base.yaml"), "teams/speech.yaml": _text("fleet/teams/speech.yaml")}
"""The files of the fleet on Google Cloud."""
FLEET = Subject("dev", BASE, _edits(HERE / "edits.txt"))
ACK = Subject("hz", {"Pulumi.hz.yaml": _text("ack/base.yaml")}, _edits(HERE / "ack" / "edits.txt"))
TEAM = Subject("mine", BASE | {"Pulumi.mine.yaml": _text("team/base.yaml")}, _edits(HERE / "team" / "edits.txt"))
MANAGED = Subject("dev", {"Pulumi.dev.yaml": _text("managed/base.yaml")}, _edits(HERE / "managed" / "edits.txt"))
SUBJECTS = {"": FLEET, "managed-": MANAGED, "ack-": ACK, "team-stack-": TEAM}
"""By how the names of their goldens begin."""
EDITS = FLEET.edits
edited, changes = FLEET.edited, FLEET.changes


def plan(name: str | None = None) -> FleetPlan:
    """Return the plan of the fleet on Google Cloud, or of that with one edit."""
    fleet_plan = FLEET.plan(name)
    assert isinstance(fleet_plan, FleetPlan)
    return fleet_plan
