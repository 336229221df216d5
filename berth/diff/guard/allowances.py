"""Allowances of a stack file: whether a change is allowed, and which allowances are unused."""

from __future__ import annotations

from collections.abc import Iterator, Set
from enum import StrEnum
from typing import Final

from msgspec import Struct

from berth.plan.allowances import AllowancesPlan


class GuardedAction(StrEnum):
    """What a guarded change does to its resource."""

    REPLACE = "replace"
    """The resource is deleted and created again."""
    DELETE = "delete"
    """The resource is deleted."""
    UNPROTECT = "unprotect"
    """An update in place switches off its protection."""
    REFUSE = "refuse"
    """Google Cloud refuses the update in place."""


ALLOWANCE_SECTION = {
    GuardedAction.REPLACE: "allowReplacement",
    GuardedAction.DELETE: "allowDeletion",
    GuardedAction.UNPROTECT: "allowChange",
    GuardedAction.REFUSE: "allowChange",
}
CLUSTER_KEY: Final = "cluster"
"""The key of the cluster's allowance, and the path of the cluster among the reasons of a change."""
UNPROTECTED = "nothing in this fleet is protected (protect: false)"


class IdleAllowance(Struct, frozen=True):
    """An allowance in a `section` of the stack file that the change does not need; a resource is left unprotected."""

    section: str
    key: str
    reason: str


def unused_allowances(
    section_prefix: str, old: AllowancesPlan | None, new: AllowancesPlan, used: Set[tuple[str, str]]
) -> Iterator[IdleAllowance]:
    """Yield allowances that are not in `used` (action and key); `section_prefix` is what their sections begin with."""
    for key in sorted(new.replacement):
        if (GuardedAction.REPLACE, key) not in used:
            yield IdleAllowance(section_prefix + ALLOWANCE_SECTION[GuardedAction.REPLACE], key, new.replacement[key])
    for key in sorted(new.deletion):
        if (GuardedAction.DELETE, key) not in used and old is not None and key in old.deletion:
            yield IdleAllowance(section_prefix + ALLOWANCE_SECTION[GuardedAction.DELETE], key, new.deletion[key])
    for key in sorted(new.change):
        if not {(GuardedAction.UNPROTECT, key), (GuardedAction.REFUSE, key)} & used:
            yield IdleAllowance(section_prefix + ALLOWANCE_SECTION[GuardedAction.REFUSE], key, new.change[key])


def allowance_reason(action: GuardedAction, key: str, allowances: AllowancesPlan) -> str | None:
    """Return the reason that the stack file gives for a loss; None if the loss is not allowed.

    A replacement is allowed by the new stack file. A deletion, and a replacement caused by a dependency, are allowed by
    the stack file that was deployed before.
    """
    if not allowances.protect:
        return UNPROTECTED
    return (allowances.replacement if action == GuardedAction.REPLACE else allowances.deletion).get(key)
