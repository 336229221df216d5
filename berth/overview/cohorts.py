"""Tables of a fleet's queueing: cohorts with their queues and quotas, and the room that capacity buffers keep."""

from __future__ import annotations

from collections.abc import Iterator

from berth.document import Cell, Table
from berth.manifests.serving.capacity_buffers import describe_units
from berth.plan.fleet import FleetPlan
from berth.plan.grouping import grouped
from berth.plan.kueue import CohortPlan
from berth.planner.queueing.quota_tree import QuotaTree
from berth.text import abbreviate_names


def cohort_table(plan: FleetPlan) -> Table:
    """Return the cohorts; with quotas if cohorts form a tree or have quota of their own."""
    tree, flavors = QuotaTree.from_plan(plan), {flavor.name: flavor for flavor in plan.flavors}
    queues: dict[str | None, list[str]] = {}
    borrowing: set[str | None] = set()
    for queue in plan.cluster_queues:
        queues.setdefault(queue.cohort, []).append(queue.name)
        if any(node.potential_available > node.guaranteed for node in tree.queue_nodes(queue.name).values()):
            borrowing.add(queue.cohort)
    members = {cohort.name: abbreviate_names(queues.get(cohort.name, [])) for cohort in plan.cohorts}
    if not any(cohort.parent or cohort.resource_groups for cohort in plan.cohorts):
        names = [
            [name, (shared or "–") + ("" if name in borrowing or not shared else ": none of them can borrow")]
            for name, shared in members.items()
        ]
        return Table("Cohorts", ("cohort", "queues that share idle quota"), names)
    rows: list[list[str]] = []
    for depth, cohort in _in_order(plan):
        name, nodes = "  " * depth + cohort.name, tree.cohort_nodes(cohort.name)
        for flavor, node in sorted(nodes.items()):
            ceiling = min(node.ceiling, flavors[flavor].capacity.max)  # like a team's ceiling, at most what can run
            figures = [str(node.guaranteed or "–"), str(ceiling), flavors[flavor].noun]
            rows.append([name, flavor, *figures, members[cohort.name]])
        if not nodes:
            rows.append([name, "–", "–", "–", "no queues", members[cohort.name]])
    return Table(
        "Quota tree", ("cohort", "flavor", "guaranteed", "ceiling", "", "queues"), rows, numbers=(2, 3), once=(0, 5)
    )


def _in_order(plan: FleetPlan) -> Iterator[tuple[int, CohortPlan]]:
    """Yield each cohort right below its parent, with its depth."""
    children = grouped((cohort.parent, cohort) for cohort in plan.cohorts)
    pending = [(0, cohort) for cohort in reversed(children.get(None, []))]
    while pending:
        depth, cohort = pending.pop()
        yield depth, cohort
        pending += [(depth + 1, child) for child in reversed(children.get(cohort.name, []))]


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
    return Table(
        "Buffers of services", ("buffer", "", "kept ready", "pool", "nodes", "for all others"), rows, numbers=(4, 5)
    )
