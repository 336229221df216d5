"""Edits of one stack in batches: edits whose changes are of different resources share one run of the program.

Whether the engine does what the diff says shows in a batch as it does in each edit alone: no resource is changed by two
of them, and an edit that replaces something is alone, because what depends on it may be replaced, too. So nothing that
one edit does is hidden by another. Runs of the program for all batches would take a minute and more: `sample` chooses
some. What the plans enumerate is compared for each edit (judged.py).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

from msgspec import Struct

from berth.backends.interface import compare
from berth.diff.kinds import ChangeKind
from tests.berth.diff.edits.engine_changes import REPLACED, Address, Disagreement, disagreements, reported
from tests.berth.diff.edits.judged import Judged, Values, judged, plans
from tests.berth.diff.edits.one_key import registered
from tests.small_fleets import fleet_with
from tests.stack_files import TEAM_STACKS

_COMES_OR_GOES: Final = ("added", ChangeKind.CREATED, ChangeKind.DELETED, ChangeKind.REPLACED)


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
        self._changes: dict[Address, str] = {}

    def add(self, edit: OneEdit, changes: Mapping[Address, str]) -> bool:
        """Add the edit if it has nothing to do with those that are here, and say whether it was added."""
        is_replaced = REPLACED in (*changes.values(), *self._changes.values())
        is_shared = is_replaced or self._changes.keys() & changes.keys()
        if self.edits and (is_shared or any(_overlap(edit.path, each.path) for each in self.edits)):
            return False
        self._values = fleet_with({edit.path: edit.value}, base=self._values)
        self.edits.append(edit)
        self._changes |= changes
        return True

    @property
    def firsts(self) -> set[tuple[str, str]]:
        """What comes, goes or is replaced: the kind of resource, and which of these."""
        return {
            (address[2] if address[0] == "object" else address[0], what)
            for address, what in self._changes.items()
            if what in _COMES_OR_GOES
        }

    def independent(self) -> Iterator[Batch]:
        """Yield the batch, or where its edits influence each other smaller ones that have them all."""
        found = judged(self.stack, self.base, self._values) if len(self.edits) > 1 else None
        if len(self.edits) <= 1 or (found and reported(found.changes).keys() == self._changes.keys()):
            yield self
            return
        middle = len(self.edits) // 2
        for edits in (self.edits[:middle], self.edits[middle:]):
            yield from (each for half in batches(self.stack, self.base, edits) for each in half.independent())

    def disagreements(self) -> Iterator[tuple[str, Disagreement]]:
        """What two runs of the program and the diff judge differently, with the edit to blame, or all of the batch."""
        together = list(_disagreements(self.stack, self.base, self._values))
        for edit in self.edits if together and len(self.edits) > 1 else ():
            alone = fleet_with({edit.path: edit.value}, base=dict(self.base))
            found = [(edit.title, each) for each in _disagreements(self.stack, self.base, alone)]
            together = [each for each in together if each not in [one for _, one in found]]
            yield from found
        yield from ((" and ".join(edit.title for edit in self.edits), each) for each in together)


def judged_alone(stack: str, base: Values, edit: OneEdit) -> Judged:
    """Judge one edit, which has no faults."""
    found = judged(stack, base, fleet_with({edit.path: edit.value}, base=dict(base)))
    assert found is not None, f"{edit.title} has faults"
    return found


def batches(stack: str, base: Values, edits: Iterable[OneEdit]) -> list[Batch]:
    """Put each edit into the first batch that has nothing to do with it."""
    made: list[Batch] = []
    for edit in edits:
        changes = reported(judged_alone(stack, base, edit).changes)
        if not any(batch.add(edit, changes) for batch in made):
            made.append(Batch(stack, base))
            made[-1].add(edit, changes)
    return made


def sample(made: Sequence[Batch]) -> list[Batch]:
    """Return the batches of one stack that the program runs for; all of a team's own stack and with BERTH_ALL_RUNS=1.

    One of a stack is chosen by BERTH_SAMPLE (another number, another batch). The others have each kind of resource
    that comes, goes or is replaced.
    """
    taken = list(made)
    if made and made[0].stack not in TEAM_STACKS and not os.environ.get("BERTH_ALL_RUNS"):
        seed = os.environ.get("BERTH_SAMPLE", "0")
        chosen = min(made, key=lambda each: sha256(f"{seed} {each.edits[0].title}".encode()).digest())
        taken, missing = [chosen], set[tuple[str, str]]().union(*(each.firsts for each in made)) - chosen.firsts
        while missing:
            taken.append(max(made, key=lambda each: len(each.firsts & missing)))
            missing -= taken[-1].firsts
        taken.sort(key=made.index)  # those of one base follow one another
    return [each for batch in taken for each in batch.independent()]


def _disagreements(stack: str, before: Values, after: Values) -> Iterator[Disagreement]:
    old, new = plans(stack, before, after)
    sides = registered(stack, before), registered(stack, after)
    return disagreements(*sides, compare(old, new), (old, new))


def _overlap(one: str, other: str) -> bool:
    """Return whether one path equals the other or is inside it."""
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")
