"""What `berth workload` makes for a queue: objects, or the faults that prevent them."""

from __future__ import annotations

from msgspec import Struct

from berth.diagnostics import Problem, Severity
from berth.manifests.workloads.pods import Manifest


class WorkloadResult(Struct, frozen=True):
    """The objects and comments on them; no objects if there is a fault.

    `verdict` is lint's: runs, never or unknown; None where nobody judges the objects.
    """

    objects: tuple[Manifest, ...]
    notes: tuple[str, ...]
    problems: tuple[Problem, ...]
    verdict: str | None = None

    @property
    def faults(self) -> tuple[Problem, ...]:
        """The problems that prevent a manifest."""
        return tuple(each for each in self.problems if each.severity == Severity.FAULT)
