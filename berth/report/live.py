"""What a cluster holds, as a section of the report: its figures are the cluster's, not the plan's."""

from __future__ import annotations

from msgspec import Struct

from berth.document import Block


class LiveView(Struct, frozen=True):
    """The state of a cluster: where it is from and how old it is, and what it holds."""

    source: str
    document: tuple[Block, ...]
