"""A verdict on whether a change concerns a stack, with its reason."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from msgspec import Struct

from berth.diagnostics import join_words
from berth.upgrade.evidence import JobObject


class Applicability(StrEnum):
    """Whether a change concerns a stack."""

    APPLIES = "applies"
    UNKNOWN = "unknown"
    NOT = "does not apply"


class Judgement(Struct, frozen=True):
    """A verdict, the reason as a sentence without its full stop, and the objects that it is about."""

    verdict: Applicability
    why: str
    objects: tuple[JobObject, ...] = ()


EXISTING: Final = "Kueue is existing, and its Configuration is not in this stack"
"""The reason of a verdict on a Configuration that Berth does not write."""
_SEVERAL: Final = 3
"""Number of names in a reason; more are counted."""


def applies(why: str, objects: Iterable[JobObject] = ()) -> Judgement:
    """Return the verdict that a change concerns the stack, or these objects."""
    return Judgement(Applicability.APPLIES, why, tuple(objects))


def is_not(why: str) -> Judgement:
    """Return the verdict that a change does not concern the stack."""
    return Judgement(Applicability.NOT, why)


def is_open(why: str) -> Judgement:
    """Return the verdict that what was read does not tell whether a change concerns the stack."""
    return Judgement(Applicability.UNKNOWN, why)


def listed(names: list[str]) -> str:
    """Return at most three names, or two and the number of the others."""
    shown = names if len(names) <= _SEVERAL else [*names[: _SEVERAL - 1], f"{len(names) - _SEVERAL + 1} more"]
    return join_words(shown)
