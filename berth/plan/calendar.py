"""Guarantees that hold at some times only."""

from __future__ import annotations

from msgspec import Struct


class GuaranteeWindow(Struct, frozen=True):
    """A time with another guarantee, in accelerators: as written, from `start` (None: always) until `end` (None: ever).

    Times without a zone are of `time_zone`. With a `recurrence` (RFC 5545) they are those of the first window.
    """

    guaranteed: int
    start: str | None = None
    end: str | None = None
    time_zone: str = "UTC"
    recurrence: str | None = None


class TimedGuarantee(Struct, frozen=True):
    """A guarantee with windows: whose, of which flavor, and how much at every `other` time.

    `holder` is `team/queue`, a shared queue, or `cohort <name>`, which has no `teams` and no cluster `queue`.
    """

    holder: str
    teams: tuple[str, ...]
    flavor: str
    noun: str
    other: int
    windows: tuple[GuaranteeWindow, ...]
    queue: str = ""
