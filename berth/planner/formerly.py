"""Entries under a new key: `formerly` says under which one they were first made, and no two were made under one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from berth.diagnostics import Path, dotted, shown
from berth.planner.context import Draft


class _Renamed(Protocol):
    @property
    def formerly(self) -> str | None: ...


def former_names(draft: Draft, section: Path, entries: Mapping[str, _Renamed]) -> None:
    """Report the former names of a section that are not free: names of something else, which would be made twice."""
    claimed: dict[str, str] = {}
    for name, spec in sorted(entries.items()):
        former, path = spec.formerly, (*section, name, "formerly")
        if former is None:
            continue
        if former == name:
            draft.problems.fault("bad-former-name", path, f"'{shown(former)}' is its name now; leave it out")
        elif former in entries:
            there = dotted((*section, former))
            message = f"'{shown(former)}' is still here, as {there}; take that entry out, or leave this key out"
            draft.problems.fault("bad-former-name", path, message)
        elif (first := claimed.setdefault(former, name)) != name:
            message = f"'{shown(former)}' is already what {dotted((*section, first))} was called; one of them was"
            draft.problems.fault("bad-former-name", path, message)
