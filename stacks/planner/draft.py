"""What one planning run carries from module to module: the spec, what was set aside, problems and origins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from stacks.problems import Path, Problems, near_miss
from stacks.spec.fleet import FleetSpec

T = TypeVar("T")


@dataclass(slots=True)
class Draft:
    """A fleet being planned.

    `set_aside` holds `(section, name)` of entries that were faulty: what refers to them is left out without a second
    fault. `origins` tells for `(kind, name)` of a planned thing which path of the stack file it came from.
    """

    stack: str
    spec: FleetSpec
    set_aside: set[tuple[str, str]]
    problems: Problems = field(default_factory=Problems)
    origins: dict[tuple[str, str], Path] = field(default_factory=dict[tuple[str, str], Path])

    def find(self, section: str, name: str, entries: Mapping[str, T], path: Path) -> T | None:
        """The entry that `path` refers to by `name`; None, and a fault unless it was set aside, where there is none."""
        if name in entries:
            return entries[name]
        if (section, name) not in self.set_aside:
            known = ", ".join(sorted(entries)) or "none is declared"
            hint = near_miss(name, entries) or f"; known: {known}"
            self.problems.fault("unknown-reference", path, f"no {_ONE[section]} '{name}'{hint}")
        return None

    def drop(self, section: str, name: str, code: str, path: Path, message: str) -> None:
        """Report a fault and set the entry aside."""
        self.set_aside.add((section, name))
        self.problems.fault(code, path, message)


_ONE = {
    "pools": "pool",
    "flavors": "flavor",
    "reservations": "reservation",
    "priorities": "priority",
    "cohorts": "cohort",
    "teams": "team",
}
