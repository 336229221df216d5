"""Entries under a new key: `formerly` says under which one they were first made, and no two were made under one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from berth.diagnostics import FieldPath, format_path, format_value
from berth.planner.context import PlanningContext


class _HasFormerName(Protocol):
    @property
    def formerly(self) -> str | None: ...


def check_former_names(context: PlanningContext, section: FieldPath, entries: Mapping[str, _HasFormerName]) -> None:
    """Report the former names of a section that are not free: names of something else, which would be made twice."""
    name_by_former: dict[str, str] = {}
    for name, spec in sorted(entries.items()):
        former, path = spec.formerly, (*section, name, "formerly")
        if former is None:
            continue
        if former == name:
            context.problems.fault("bad-former-name", path, f"'{format_value(former)}' is its name now; leave it out")
        elif former in entries:
            entry_path = format_path((*section, former))
            message = (
                f"'{format_value(former)}' is still here, as {entry_path}; take that entry out, or leave this key out"
            )
            context.problems.fault("bad-former-name", path, message)
        elif (first := name_by_former.setdefault(former, name)) != name:
            message = (
                f"'{format_value(former)}' is already what {format_path((*section, first))} was called; one of them was"
            )
            context.problems.fault("bad-former-name", path, message)
