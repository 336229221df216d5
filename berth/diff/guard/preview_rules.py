"""What the guard has to know of a stack: which resources of a preview are protected, and how many there are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from berth.diff.guard.changes import GuardedChange
from berth.diff.guard.protected import GuardedResource
from berth.plan.allowances import AllowancesPlan


class PreviewRules(Struct, frozen=True):
    """The rules for a stack without protected resources, whose program registers `least_resources` or more."""

    least_resources: int

    def classify(self, urn: str, inputs: Mapping[str, Any]) -> GuardedResource | None:
        """Return the protected resource that a URN belongs to; None if it is not protected."""
        return None

    def losses(self, steps: Sequence[Mapping[str, Any]]) -> Iterable[GuardedChange]:
        """Yield the losses that are not a step of a protected resource."""
        return ()

    def allowances_of(self, worker: str | None) -> AllowancesPlan:
        """Return the allowances of the stack, or of one of its workers."""
        return AllowancesPlan()
