"""The error that a pool or reservation cannot exist."""

from __future__ import annotations

from berth.planner.context import PlanningContext

HardwareFault = tuple[str, str, str]
"""Code, key within the entry, message."""


class HardwareError(Exception):
    """Raised for a pool or reservation that cannot exist, with its faults."""

    def __init__(self, *faults: HardwareFault) -> None:
        super().__init__(faults)
        self.faults = faults

    def report(self, context: PlanningContext, section: str, name: str) -> None:
        """Report the faults and set the entry aside."""
        for code, key, message in self.faults:
            context.reject(section, name, code, (section, name, key), message)
