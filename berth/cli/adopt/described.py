"""`berth adopt --from`: a stack file from a blueprint, a command line or Terraform."""

from __future__ import annotations

import copy
import pathlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from berth.adopt.api_objects import Fate, NotAdopted
from berth.adopt.sources.described import described_fleet, lost_settings, read_source
from berth.adopt.sources.source_fleet import SourceFleet, UnusableSource
from berth.adopt.stack_file import AdoptedFleet, render_stack_file
from berth.cli.drain import evaluate_drained
from berth.diagnostics import Problem
from berth.evaluate import Evaluation
from berth.loader.text_file import MAX_ANSWER_BYTES, MAX_BYTES, decode_text, read_bytes
from berth.plan.fleet import FleetPlan
from berth.text import pluralize

_HEADINGS = {Fate.LEFT: "has no key, or is assumed", Fate.CHANGED: "has another value in Berth"}
_REMEDY = "name a blueprint, a script or a file of Terraform"


class DescribedResult(Struct, frozen=True):
    """A stack file, what it does not have of its source, and its evaluation."""

    stack_file: str
    left: tuple[NotAdopted, ...]
    evaluation: Evaluation


def describe(stack: str, files: Sequence[pathlib.Path], values: Mapping[str, str]) -> DescribedResult:
    """Return the stack file for what the files describe. Raises UnusableSource. Writes nothing."""
    return describe_source(read_source(_texts(files), values), stack)


def describe_source(source: SourceFleet, stack: str) -> DescribedResult:
    """Return the stack file for what a source describes. Raises UnusableSource."""
    fleet, inventory = described_fleet(source, stack)
    header = f"# Written by `berth adopt --from` from {source.what}. docs/adopt-from.md has the next steps.\n"
    evaluation = evaluate_drained(render_stack_file(fleet, header), stack)
    if faults := [each for each in evaluation.faults if each.code in _ASSUMED]:
        fleet = _with_assumptions(fleet, faults)
        evaluation = evaluate_drained(render_stack_file(fleet, header), stack)
    plan = evaluation.fleet_plan
    lost = lost_settings(inventory, plan) if isinstance(plan, FleetPlan) and not evaluation.faults else ()
    return DescribedResult(render_stack_file(fleet, header), (*fleet.not_adopted, *lost), evaluation)


def described_lines(stack: str, result: DescribedResult) -> Iterator[str]:
    """Yield what is written, a line for each thing that the stack file does not have, and the next command."""
    yield f"Pulumi.{stack}.yaml: written"
    for fate, heading in _HEADINGS.items():
        told = list(dict.fromkeys(each.line() for each in result.left if each.fate == fate))
        if told:
            yield f"{heading} ({len(told)}):"
            yield from (f"  {line}" for line in told)
    if not result.evaluation.faults:
        warnings = pluralize(len(result.evaluation.warnings), "warning")
        yield f"next: read these lines, write teams, then berth check {stack} ({warnings} now)"


def _texts(files: Sequence[pathlib.Path]) -> dict[str, str]:
    texts: dict[str, str] = {}
    faults: list[Problem] = []
    for file in files:
        if str(file) == "-":
            texts["standard input"] = sys.stdin.read(MAX_BYTES)
            continue
        limit = MAX_ANSWER_BYTES if file.suffix == ".json" else MAX_BYTES  # terraform show -json lists every resource
        data = read_bytes(file, str(file), _REMEDY, _REMEDY, limit)
        content = decode_text(data, str(file)) if isinstance(data, bytes) else data
        if isinstance(content, Problem):
            faults.append(content)
        else:
            texts[str(file)] = content
    if faults:
        raise UnusableSource(*(each.line() for each in faults))
    return texts


_ASSUMED = {
    "zone-not-listed": "the source has it there: acceptZone is written",
    "gpudirect-not-offered": "networking: dranet is written",
    "version-too-old": "no version is written, and the release channel decides",
}
"""Faults of what a source has, and what is written instead, so that the stack file can be used."""


def _with_assumptions(fleet: AdoptedFleet, faults: Sequence[Problem]) -> AdoptedFleet:
    """Return the fleet without the faults of `_ASSUMED`, and with a note for each of them."""
    values: dict[str, Any] = copy.deepcopy(fleet.fleet)
    notes: list[NotAdopted] = []
    for each in faults:
        what = ".".join(map(str, each.path[:2]))
        if each.path[0] in ("pools", "reservations"):
            section, name = str(each.path[0]), str(each.path[1])
            changed = {"networking": "dranet"} if each.code == "gpudirect-not-offered" else {"acceptZone": True}
            values[section][name] = {**values[section][name], **changed}
        elif each.path == ("cluster", "version"):
            values["cluster"] = {key: value for key, value in values["cluster"].items() if key != "version"}
        else:
            continue
        notes.append(NotAdopted(what, f"{each.message.partition(';')[0]}; {_ASSUMED[each.code]}"))
    return replace(fleet, fleet=values, not_adopted=(*fleet.not_adopted, *notes))
