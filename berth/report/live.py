"""What a cluster holds, as a section of the report: its figures are the cluster's, not the plan's."""

from __future__ import annotations

from msgspec import Struct

from berth.report.view import Section


class LiveView(Struct, frozen=True):
    """The state of a cluster: where it is from and how old it is, tables, and notes."""

    source: str
    tables: tuple[Section, ...]
    notes: tuple[str, ...] = ()
