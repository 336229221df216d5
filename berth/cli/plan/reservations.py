"""Reservations in `berth plan`: all of them in the JSON, future ones in the text."""

from __future__ import annotations

from typing import Any

from berth.cli.tables import table
from berth.diagnostics import join_words
from berth.plan.capacity import HeldPlan
from berth.plan.fleet import FleetPlan

_DAY = len("2026-12-01")


def as_json(reservation: HeldPlan) -> dict[str, Any]:
    """Return an entry of `reservations[]` (docs/plan.md)."""
    return {
        "name": reservation.key,
        "reservation": reservation.name,
        "existing": reservation.existing,
        "project": reservation.project,
        "block": reservation.block,
        "subBlock": reservation.sub_block,
        "machineType": reservation.machine_type,
        "zone": reservation.zone,
        "count": reservation.count,
        "start": reservation.start,
        "end": reservation.end,
        "mode": reservation.mode,
        "delivered": reservation.delivered,
        "pools": list(reservation.pools),
    }


def text(plan: FleetPlan) -> str:
    """Return a table of future reservations, with the state of their pools until they start; "" without any."""
    rows = [
        [h.key, f"{h.count} × {h.machine_type}", h.start[:_DAY], h.end[:_DAY], join_words([*h.pools]) or "–", _state(h)]
        for h in plan.held
        if h.start and h.end
    ]
    return table(["Reserved for later", "machines", "from", "until", "pools", "until then"], rows)


def _state(reservation: HeldPlan) -> str:
    return "0 nodes" if reservation.delivered else "not delivered, no node pools"
