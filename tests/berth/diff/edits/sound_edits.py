"""Generated edits of one key that raise no fault, over all stacks, and the class that follows from what one does."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any, Final

from berth.diff.calm.harmless import harmless_kind
from berth.diff.calm.loud import all_differences
from berth.diff.changes import Changes
from berth.diff.entitlements import QuotaChanges
from berth.diff.headline import headline
from berth.diff.kinds import ChangeKind
from berth.diff.provider_inputs.effects import UpdateEffect
from berth.evaluate import Evaluation
from tests.berth.diff.edits.one_key import base_values, evaluate_values
from tests.berth.diff.edits.schema_edits import Edit, SchemaKey, generated_edits, root_schema
from tests.small_fleets import fleet_with
from tests.stack_files import ALL_STACKS

_TRIED_PER_KEY: Final = 60
_SMALL_FIRST: Final = ("local", "ack-fleet", "team-a", "dws", "flex-start", "reservations", "gpu-rdma")
STACKS: Final = [*_SMALL_FIRST, *(stack for stack in ALL_STACKS if stack not in _SMALL_FIRST)]

_CLASSES: Final = {
    UpdateEffect.KEPT: "nothing",
    UpdateEffect.IGNORED: "nothing",
    UpdateEffect.UPDATE: "told",
    UpdateEffect.REPLACE: "blocked",
}
"""What a change does → how loud it is, where that is no decision."""


@cache
def before(stack: str) -> tuple[dict[str, Any], Evaluation]:
    """A stack as it is, and its evaluation."""
    values = base_values(stack)
    return values, evaluate_values(stack, values)


def after(stack: str, edit: Edit) -> dict[str, Any]:
    """A stack with an edit made."""
    return fleet_with({edit.dotted: edit.value}, base=before(stack)[0])


@cache
def _by_key(stack: str) -> dict[SchemaKey, list[Edit]]:
    edits: dict[SchemaKey, list[Edit]] = {}
    for edit in generated_edits(root_schema(stack), before(stack)[0]):
        if not any("." in str(step) for step in edit.path) and "secret" not in str(edit.value):
            edits.setdefault(edit.key, []).append(edit)
    return edits


_SOUND: Final = dict[tuple[str, str, str], bool]()


def is_sound(stack: str, edit: Edit) -> bool:
    """Whether a stack with an edit made has no faults; several tests ask for the same edits."""
    identity = stack, edit.dotted, repr(edit.value)
    if identity not in _SOUND:
        _SOUND[identity] = not evaluate_values(stack, after(stack, edit)).faults
    return _SOUND[identity]


def sound_edits(key: SchemaKey) -> Iterator[tuple[str, Edit]]:
    """Yield stack and edit, for edits of one key that raise no fault."""
    tried = islice(((stack, edit) for stack in STACKS for edit in _by_key(stack).get(key, ())), _TRIED_PER_KEY)
    return (pair for pair in tried if is_sound(*pair))


CALM: Final = ("nothing changes", "no team gains or loses, and nothing is replaced")


def class_of(changes: Changes) -> str:
    """The class of a change, by what `berth diff` prints first and how it exits."""
    if changes.blocked:
        return "blocked"
    first_line = headline(changes).partition(": ")[2]
    return {CALM[0]: "nothing", CALM[1]: "told"}.get(first_line, "loud")


def class_by_effect(changes: Changes) -> str | None:
    """The class that follows from what the table of effects says of the changed inputs; None where it is a decision."""
    resources = (*changes.pools, *changes.things)
    is_plain = not (changes.rights or changes.workers or changes.workloads or changes.files or changes.losses)
    is_plain = is_plain and changes.entitlements == QuotaChanges()
    whats = {each.what for each in (*resources, *changes.objects)}
    effects = [field.does for each in resources for field in each.fields]
    effects += [UpdateEffect.UPDATE for each in changes.objects if each.what == ChangeKind.UPDATED]
    strongest = max(effects, key=lambda does: does.severity, default=UpdateEffect.KEPT)
    if strongest != UpdateEffect.REPLACE and not (is_plain and whats <= {"changed", ChangeKind.UPDATED}):
        return None
    follows = _CLASSES.get(strongest)
    if follows == "told" and not all(harmless_kind(each, frozenset()) for each in all_differences(changes)):
        return "loud"
    return follows
