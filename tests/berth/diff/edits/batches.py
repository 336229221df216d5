"""Edits of one stack in batches: edits whose changes are of different resources share one run of the program.

Whether the engine does what the diff says shows in a batch as it does in each edit alone: no resource is changed by two
of them, and an edit that replaces something is alone, because what depends on it may be replaced, too. So nothing that
one edit does is hidden by another. Runs of the program for all batches would take a minute and more: `sample` chooses
some. What the plans enumerate is compared for all.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

from msgspec import Struct

from berth.backends.interface import compare
from berth.backends.table import StackPlan
from berth.diff.kinds import ChangeKind
from berth.plan.ack import AckFleetPlan
from berth.plan.fleet import FleetPlan
from tests.berth.diff.edits.engine_changes import REPLACED, Address, Disagreement, disagreements, reported
from tests.berth.diff.edits.enumerated import enumerated
from tests.berth.diff.edits.one_key import evaluate_values, registered
from tests.small_fleets import fleet_with
from tests.stack_files import TEAM_STACKS

_COMES_OR_GOES: Final = ("added", ChangeKind.CREATED, ChangeKind.DELETED, ChangeKind.REPLACED)
Values = Mapping[str, Any]


class OneEdit(Struct, frozen=True):
    """A dotted path and its new value; `title` names the edit in a failure."""

    path: str
    value: Any
    title: str


class Batch:
    """Edits that no resource is common to, made one after the other."""

    def __init__(self, stack: str, base: Values) -> None:
        self.stack, self.base = stack, base
        self.edits: list[OneEdit] = []
        self._values: dict[str, Any] = dict(base)
        self._addresses: set[Address] = set()
        self._is_alone = False

    def add(self, edit: OneEdit, changes: Mapping[Address, str]) -> bool:
        """Add the edit if it has nothing to do with those that are here, and say whether it was added."""
        addresses = set(changes)
        if self._is_alone or self._addresses & addresses or any(_overlap(edit.path, each.path) for each in self.edits):
            return False
        if self.edits and REPLACED in changes.values():
            return False
        values = fleet_with({edit.path: edit.value}, base=self._values)
        together = self._addresses | addresses
        if self.edits and set(_reported(self.stack, self.base, values) or ()) != together:
            return False  # they influence each other
        self._is_alone = REPLACED in changes.values()
        self.edits.append(edit)
        self._values, self._addresses = values, together
        return True

    @property
    def firsts(self) -> set[tuple[str, str]]:
        """What comes, goes or is replaced: the kind of resource, and which of these."""
        changes = _reported(self.stack, self.base, self._values) or {}
        return {
            (address[2] if address[0] == "object" else address[0], what)
            for address, what in changes.items()
            if what in _COMES_OR_GOES
        }

    def disagreements(self, *, by_program: bool) -> Iterator[tuple[str, Disagreement]]:
        """What the engine and the diff judge differently, with the edit that is to blame, or all of the batch.

        What the engine is shown comes from runs of the program, or from the registrations and manifests of the plans.
        """
        judge = _disagreements if by_program else _enumerated_disagreements
        together = list(judge(self.stack, self.base, self._values))
        for edit in self.edits if together and len(self.edits) > 1 else ():
            alone = fleet_with({edit.path: edit.value}, base=dict(self.base))
            found = [(edit.title, each) for each in judge(self.stack, self.base, alone)]
            together = [each for each in together if each not in [one for _, one in found]]
            yield from found
        yield from ((" and ".join(edit.title for edit in self.edits), each) for each in together)


def batches(stack: str, base: Values, edits: Iterable[OneEdit]) -> list[Batch]:
    """Put each edit into the first batch that has nothing to do with it."""
    made: list[Batch] = []
    for edit in edits:
        changes = _reported(stack, base, fleet_with({edit.path: edit.value}, base=dict(base)))
        assert changes is not None, f"{edit.title} has faults"
        if not any(batch.add(edit, changes) for batch in made):
            made.append(Batch(stack, base))
            made[-1].add(edit, changes)
    return made


def sample(made: Sequence[Batch]) -> list[Batch]:
    """Return the batches of one stack that the program runs for; all of a team's own stack and with BERTH_ALL_RUNS=1.

    One of a stack is chosen by BERTH_SAMPLE (another number, another batch). The others each have a kind of resource
    that comes, goes or is replaced for the first time.
    """
    if not made or made[0].stack in TEAM_STACKS or os.environ.get("BERTH_ALL_RUNS"):
        return list(made)
    seed = os.environ.get("BERTH_SAMPLE", "0")
    chosen = min(made, key=lambda each: sha256(f"{seed} {each.edits[0].title}".encode()).digest())
    seen, taken = chosen.firsts, [chosen]
    for batch in made:
        if batch is not chosen and batch.firsts - seen:
            taken.append(batch)
            seen |= batch.firsts
    return [batch for batch in made if batch in taken]


def plans(stack: str, *both: Values) -> list[StackPlan]:
    """The plans of a stack with these values; empty if one of them has faults."""
    evaluated = [evaluate_values(stack, values) for values in both]
    made = [each.plan for each in evaluated if not each.faults and each.plan is not None]
    return made if len(made) == len(both) else []


def _reported(stack: str, before: Values, after: Values) -> dict[Address, str] | None:
    """What the diff says of each resource that it names; None if the edit has faults."""
    both = plans(stack, before, after)
    return reported(compare(both[0], both[1])) if both else None


def _disagreements(stack: str, before: Values, after: Values) -> Iterator[Disagreement]:
    old, new = plans(stack, before, after)
    sides = registered(stack, before), registered(stack, after)
    return disagreements(*sides, compare(old, new), (old, new))


def _enumerated_disagreements(stack: str, before: Values, after: Values) -> Iterator[Disagreement]:
    """The same by registrations and manifests; nothing of a team's own stack, which has neither."""
    old, new = plans(stack, before, after)
    if isinstance(old, (FleetPlan, AckFleetPlan)) and isinstance(new, (FleetPlan, AckFleetPlan)):
        yield from disagreements(enumerated(old), enumerated(new), compare(old, new), (old, new))


def _overlap(one: str, other: str) -> bool:
    """Return whether one path equals the other or is inside it."""
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")
