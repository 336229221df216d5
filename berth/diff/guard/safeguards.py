"""Safeguards that an update in place takes away: the table is safeguards.yaml."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final, cast

from msgspec import Struct, convert

from berth.diff.guard.allowances import UNPROTECTED, GuardedAction
from berth.diff.guard.changes import GuardedChange
from berth.diff.guard.preview_steps import PreviewStep
from berth.plan.fleet import AllowancesPlan
from berth.resource import IN_WORKER, ResourceKind
from berth.yaml_loader import load_table

_FILE: Final = pathlib.Path(__file__).with_name("safeguards.yaml")


class Safeguard(Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the table: an input that protects, and the value that no longer does."""

    type: str
    path: tuple[str, ...]
    key: str
    title: str
    gone: bool | str | None = None
    default: bool | str | None = None
    keeps: str | None = None

    def protects(self, inputs: Mapping[str, Any]) -> bool:
        """Return whether the inputs of a resource still have the safeguard."""
        value: object = inputs
        for step in self.path:
            value = cast("Mapping[str, object]", value).get(step) if isinstance(value, Mapping) else None
        if self.keeps is not None:
            return isinstance(value, list) and self.keeps in value
        return (self.default if value is None else value) != self.gone


@cache
def safeguards() -> tuple[Safeguard, ...]:
    """Return the table."""
    return convert(load_table(_FILE), tuple[Safeguard, ...])


def lost_safeguards(
    steps: Iterable[PreviewStep], allowances_of: Callable[[str | None], AllowancesPlan], workers: Collection[str]
) -> Iterator[GuardedChange]:
    """Yield the safeguards that updates take away; `allowChange` of the new stack file allows it."""
    for step in steps:
        before, after = step.inputs
        if step.op != "update" or not before or not after:
            continue
        for row in safeguards():
            if step.type.endswith(row.type) and row.protects(before) and not row.protects(after):
                first = step.name.partition(IN_WORKER)[0]
                worker = first if first in workers else None
                allowances = allowances_of(worker)
                name = str((before.get("metadata") or before).get("name") or step.name)
                key = row.key.format(name=name)
                allowed = allowances.change.get(key) if allowances.protect else UNPROTECTED
                title = f"{step.type.rpartition(':')[2]} {name}"
                yield GuardedChange(
                    ResourceKind.OBJECT,
                    f"{worker}{IN_WORKER}{title}" if worker else title,
                    key,
                    GuardedAction.WEAKEN,
                    parts=(row.title,),
                    allowed=allowed,
                    worker=worker,
                )
