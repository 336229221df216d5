"""Reservations as `berth plan` shows them: all of them in the JSON, those of a time to come in the text."""

from __future__ import annotations

from typing import Any

from berth.cli.tables import table
from berth.diagnostics import in_words
from berth.plan.capacity import HeldPlan
from berth.plan.fleet import FleetPlan

_DAY = len("2026-12-01")


def as_json(held: HeldPlan) -> dict[str, Any]:
    """One of `reservations[]`, as docs/plan.md says."""
    return {
        "name": held.key,
        "reservation": held.name,
        "existing": held.existing,
        "project": held.project,
        "block": held.block,
        "subBlock": held.sub_block,
        "machineType": held.machine_type,
        "zone": held.zone,
        "count": held.count,
        "start": held.start,
        "end": held.end,
        "mode": held.mode,
        "delivered": held.delivered,
        "pools": list(held.pools),
    }


def text(plan: FleetPlan) -> str:
    """Machines of a time to come, and what stands until it has come; empty where there are none."""
    rows = [
        [h.key, f"{h.count} × {h.machine_type}", h.start[:_DAY], h.end[:_DAY], in_words([*h.pools]) or "–", _state(h)]
        for h in plan.held
        if h.start and h.end
    ]
    return table(["Reserved for later", "machines", "from", "until", "pools", "until then"], rows)


def _state(held: HeldPlan) -> str:
    return "at zero nodes" if held.delivered else "no node pools: not delivered yet"
