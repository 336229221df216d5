"""Allowances of a stack file: which change needs which, what one allows, and which are unused."""

from __future__ import annotations

from collections.abc import Container, Iterator
from enum import StrEnum
from typing import Final

from msgspec import Struct

from berth.plan.allowances import AllowancesPlan


class GuardedAction(StrEnum):
    """What a guarded change does to what it is about."""

    REPLACE = "replace"
    """It is deleted and created again."""
    DELETE = "delete"
    """It is deleted."""
    UNPROTECT = "unprotect"
    """An update in place switches its protection off."""
    REFUSE = "refuse"
    """An update in place, which Google Cloud refuses."""


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
    """An allowance that this change has no use for: it leaves something unprotected. `section` is the stack file's."""

    section: str
    key: str
    reason: str


def unused_allowances(
    section_prefix: str, old: AllowancesPlan | None, new: AllowancesPlan, used: Container[tuple[str, str]]
) -> Iterator[IdleAllowance]:
    """Those that are not in `used` (action and key); `where` is what their section begins with."""
    for key in sorted(new.replacement):
        if (GuardedAction.REPLACE, key) not in used:
            yield IdleAllowance(section_prefix + ALLOWANCE_SECTION[GuardedAction.REPLACE], key, new.replacement[key])
    for key in sorted(new.deletion):
        if (GuardedAction.DELETE, key) not in used and old is not None and key in old.deletion:
            yield IdleAllowance(section_prefix + ALLOWANCE_SECTION[GuardedAction.DELETE], key, new.deletion[key])
    for key in sorted(new.change):
        if not used_change(key, used):
            yield IdleAllowance(section_prefix + ALLOWANCE_SECTION[GuardedAction.REFUSE], key, new.change[key])


def used_change(key: str, used: Container[tuple[str, str]]) -> bool:
    """Whether a change in place that is guarded has this key."""
    return (GuardedAction.UNPROTECT, key) in used or (GuardedAction.REFUSE, key) in used


def allowance_reason(action: GuardedAction, key: str, allowances: AllowancesPlan) -> str | None:
    """The reason why something may be lost; None where it may not.

    A replacement is allowed by the new stack file; a deletion by the one that was deployed before, and so is the
    replacement of what is made of something else that is replaced.
    """
    if not allowances.protect:
        return UNPROTECTED
    return (allowances.replacement if action == GuardedAction.REPLACE else allowances.deletion).get(key)
