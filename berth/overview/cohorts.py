"""The cohorts of a fleet as a table: their queues, and for a quota tree the guarantee and ceiling of each node."""

from __future__ import annotations

from collections.abc import Iterator

from berth.document import Table
from berth.plan.fleet import FleetPlan
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
    head = ("cohort", "flavor", "guaranteed", "ceiling", "", "queues")
    return Table("Quota tree", head, rows, numbers=(2, 3), once=(0, 5))


def _in_order(plan: FleetPlan) -> Iterator[tuple[int, CohortPlan]]:
    """Yield each cohort right below its parent, with its depth."""
    children: dict[str | None, list[CohortPlan]] = {}
    for cohort in plan.cohorts:
        children.setdefault(cohort.parent, []).append(cohort)
    pending = [(0, cohort) for cohort in reversed(children.get(None, []))]
    while pending:
        depth, cohort = pending.pop()
        yield depth, cohort
        pending += [(depth + 1, child) for child in reversed(children.get(cohort.name, []))]
