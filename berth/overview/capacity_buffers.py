"""The room that capacity buffers keep on nodes, and what is left beside it."""

from __future__ import annotations

from berth.document import Cell, Table
from berth.manifests.serving.capacity_buffers import describe_units
from berth.plan.fleet import FleetPlan


def buffer_table(plan: FleetPlan) -> Table:
    """Return each capacity buffer: its units, the nodes that they take of a pool, and the nodes that remain."""
    most = {pool.name: pool.nodes.max for pool in plan.pools}
    rows: list[list[Cell]] = [
        [
            f"{team.name}/{buffer.name}",
            buffer.settings.provisioning_strategy,
            describe_units(buffer),
            buffer.pool or "made by GKE",
            "unknown" if buffer.nodes is None else str(buffer.nodes),
            "–" if buffer.pool is None or buffer.nodes is None else str(most[buffer.pool] - buffer.nodes),
        ]
        for team in plan.teams
        for buffer in team.buffers
    ]
    head = ("buffer", "", "kept ready", "pool", "nodes", "for all others")
    return Table("Buffers of services", head, rows, numbers=(4, 5))
