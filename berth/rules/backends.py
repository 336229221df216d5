"""What each backend can express of a stack file: the table behind docs/backends.md, and behind acceptLoss."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, cast

from msgspec import Struct

from berth.yaml_loader import load_table

Backend = Literal["kueue", "ack"]

DISPLAY_NAMES: Mapping[str, str] = {"kueue": "Kueue", "ack": "ACK"}
"""Names of the backends in messages and docs."""


class Concept(Struct, frozen=True, kw_only=True):
    """One row: how Kueue on GKE and an ACK One fleet express one concept; `–` where a backend has no equivalent.

    `loss` is the value of `acceptLoss` for what backend `lost_on` cannot express, and `because` the reason, as a
    clause. `refused` is a fault on backend `refused_on`, whatever acceptLoss lists.
    """

    concept: str
    kueue: str
    ack: str
    loss: str | None = None
    lost_on: Backend | None = None
    because: str = ""
    refused: str | None = None
    refused_on: Backend | None = None


@cache
def concepts() -> tuple[Concept, ...]:
    """Return every row, in the order of the table."""
    rows = load_table(Path(__file__).with_suffix(".yaml"))
    return tuple(Concept(**row) for row in cast("list[dict[str, Any]]", rows))


@cache
def concepts_by_loss() -> Mapping[str, Concept]:
    """Return the rows by their loss."""
    return {row.loss: row for row in concepts() if row.loss is not None}
