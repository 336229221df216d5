"""Check renamed entries: `formerly` is the key under which an entry was created, unique within its section."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from berth.diagnostics import FieldPath, format_path, format_value
from berth.planner.context import PlanningContext


class _HasFormerName(Protocol):
    @property
    def formerly(self) -> str | None: ...


def check_former_names(context: PlanningContext, section: FieldPath, entries: Mapping[str, _HasFormerName]) -> None:
    """Report former names that are in use, because two entries would then create the same resource."""
    name_by_former: dict[str, str] = {}
    for name, spec in sorted(entries.items()):
        former, path = spec.formerly, (*section, name, "formerly")
        if former is None:
            continue
        if former == name:
            message = f"'{format_value(former)}' is the current name; remove formerly"
            context.problems.fault("bad-former-name", path, message)
        elif former in entries:
            entry_path = format_path((*section, former))
            message = f"'{format_value(former)}' still exists as {entry_path}; remove that entry, or remove formerly"
            context.problems.fault("bad-former-name", path, message)
        elif (first := name_by_former.setdefault(former, name)) != name:
            message = (
                f"'{format_value(former)}' is already the former name of {format_path((*section, first))}; remove one "
                "of them"
            )
            context.problems.fault("bad-former-name", path, message)
