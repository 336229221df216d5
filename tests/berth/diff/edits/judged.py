"""What the diff says of an edit, and what is wrong with that by registrations and manifests; judged once for all tests.

Only answers are kept: plans of all edits would fill the memory.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from msgspec import Struct

from berth.backends.interface import compare
from berth.backends.table import StackPlan
from berth.diff.changes import Changes
from berth.plan.ack import AckFleetPlan
from berth.plan.fleet import FleetPlan
from tests.berth.diff.edits.engine_changes import Disagreement, disagreements
from tests.berth.diff.edits.enumerated import enumerated
from tests.berth.diff.edits.one_key import evaluate_values
from tests.berth.diff.edits.registered_differences import harmful_differences

Values = Mapping[str, Any]


class Judged(Struct, frozen=True):
    """What the diff says of one edit, and what registrations and manifests say of it.

    `differences` is how many inputs are registered differently, and `harmful` are those of no harmless kind.
    `has_more`: something comes or goes that the plan knows and the program does not register. A team's own stack has
    only changes.
    """

    changes: Changes
    disagreements: tuple[Disagreement, ...] = ()
    harmful: Sequence[str] = ()
    differences: int = 0
    has_more: bool = False


def plans(stack: str, *both: Values) -> list[StackPlan]:
    """The plans of a stack with these values; empty if one of them has faults."""
    evaluated = [evaluate_values(stack, values) for values in both]
    made = [each.plan for each in evaluated if not each.faults and each.plan is not None]
    return made if len(made) == len(both) else []


def judged(stack: str, before: Values, after: Values) -> Judged | None:
    """Judge an edit; None if one of the sides has faults."""
    return _judged(stack, json.dumps(before), json.dumps(after))


@cache
def _judged(stack: str, before: str, after: str) -> Judged | None:
    both = plans(stack, json.loads(before), json.loads(after))
    return judge(*both) if both else None


def judge(old: StackPlan, new: StackPlan) -> Judged:
    """Judge what changes between two plans."""
    changes = compare(old, new)
    if not isinstance(old, (FleetPlan, AckFleetPlan)) or not isinstance(new, (FleetPlan, AckFleetPlan)):
        return Judged(changes)
    return Judged(
        changes,
        tuple(disagreements(enumerated(old), enumerated(new), changes, (old, new))),
        *harmful_differences(old, new),
        {flavor.name for flavor in old.flavors} != {flavor.name for flavor in new.flavors},
    )
