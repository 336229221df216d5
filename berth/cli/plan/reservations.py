"""Reservations as `berth plan` shows them: all of them in the JSON, those of a time to come in the text."""

from __future__ import annotations

from typing import Any

from berth.cli.tables import table
from berth.diagnostics import join_words
from berth.plan.capacity import HeldPlan
from berth.plan.fleet import FleetPlan

_DAY = len("2026-12-01")


def as_json(reservation: HeldPlan) -> dict[str, Any]:
    """One of `reservations[]`, as docs/plan.md says."""
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
    """Machines of a time to come, and what stands until it has come; empty where there are none."""
    rows = [
        [h.key, f"{h.count} × {h.machine_type}", h.start[:_DAY], h.end[:_DAY], join_words([*h.pools]) or "–", _state(h)]
        for h in plan.held
        if h.start and h.end
    ]
    return table(["Reserved for later", "machines", "from", "until", "pools", "until then"], rows)


def _state(reservation: HeldPlan) -> str:
    return "at zero nodes" if reservation.delivered else "no node pools: not delivered yet"
