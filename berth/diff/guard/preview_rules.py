"""What the guard has to know of a stack: which resources of a preview are protected, and how many there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from berth.diff.guard.changes import GuardedChange
from berth.diff.guard.protected import GuardedResource
from berth.plan.allowances import AllowancesPlan

Step = Mapping[str, Any]


class PreviewRules(Struct, frozen=True):
    """The rules for a stack whose program registers `least_resources` or more; by default nothing is protected.

    `classify` returns the protected resource that a URN and inputs belong to. `losses` yields those that are not a step
    of a protected resource. `allowances_of` are those of the stack (None), or of one of its workers.
    """

    least_resources: int
    classify: Callable[[str, Mapping[str, Any]], GuardedResource | None] = lambda urn, inputs: None
    losses: Callable[[Sequence[Step]], Iterable[GuardedChange]] = lambda steps: ()
    allowances_of: Callable[[str | None], AllowancesPlan] = lambda worker: AllowancesPlan()
