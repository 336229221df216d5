"""A simulated trace of jobs, as a section of the report."""

from __future__ import annotations

from msgspec import Struct

from berth.document import Block


class TraceView(Struct, frozen=True):
    """What a trace met: use and waiting jobs over time, how long each team waits, and all figures as tables.

    Every text in the pictures was escaped when it was drawn.
    """

    trace: str
    over_time: str
    waits: str
    document: tuple[Block, ...]
