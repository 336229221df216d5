"""Cohorts in `berth plan`: their queues, and for a quota tree the guarantee and ceiling of each node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from berth.cli.tables import table
from berth.plan.fleet import FleetPlan
from berth.plan.kueue import CohortPlan, FlavorPlan, QuotaPlan
from berth.planner.queueing.quota_tree import QuotaTree
from berth.text import abbreviate_names


def as_json(plan: FleetPlan) -> list[dict[str, Any]]:
    """Return every cohort as JSON values (docs/plan.md), by name."""
    tree, capacities = QuotaTree.from_plan(plan), {f.name: f.capacity.max for f in plan.flavors}
    return [
        {
            "name": cohort.name,
            "parent": cohort.parent,
            "fairShareWeight": cohort.fair_share_weight,
            "guaranteed": {flavor: node.guaranteed for flavor, node in sorted(tree.cohort_nodes(cohort.name).items())},
            "ceiling": {
                f: min(node.ceiling, capacities[f]) for f, node in sorted(tree.cohort_nodes(cohort.name).items())
            },
            "quotas": [quota_as_json(entry.flavor, each) for entry in cohort.flavors for each in entry.quotas],
        }
        for cohort in plan.cohorts
    ]


def quota_as_json(flavor: str, plan: QuotaPlan) -> dict[str, Any]:
    """Return a quota of a queue or cohort as JSON values."""
    return {
        "flavor": flavor,
        "resource": plan.resource,
        "nominal": plan.nominal,
        "borrowingLimit": plan.borrowing_limit,
        "lendingLimit": plan.lending_limit,
    }


def text(plan: FleetPlan) -> str:
    """Return the cohorts as a table; with quotas if cohorts form a tree or have quota of their own."""
    queues: dict[str | None, list[str]] = {}
    for queue in plan.cluster_queues:
        queues.setdefault(queue.cohort, []).append(queue.name)
    if not any(cohort.parent or cohort.resource_groups for cohort in plan.cohorts):
        rows = [[cohort.name, abbreviate_names(queues.get(cohort.name, [])) or "–"] for cohort in plan.cohorts]
        return table(["Cohorts", "queues that share idle quota"], rows)
    tree, flavors = QuotaTree.from_plan(plan), {f.name: f for f in plan.flavors}
    rows = [row for depth, cohort in _in_order(plan) for row in _rows(cohort, depth, queues, tree, flavors)]
    return table(["Quota tree", "flavor", "guaranteed", "ceiling", "", "queues"], rows, right=(2, 3))


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


def _rows(
    cohort: CohortPlan, depth: int, queues: dict[str | None, list[str]], tree: QuotaTree, flavors: dict[str, FlavorPlan]
) -> Iterator[list[str]]:
    """Yield a row for each flavor; the first one names the cohort and its queues."""
    name, members = "  " * depth + cohort.name, abbreviate_names(queues.get(cohort.name, []))
    for flavor, node in sorted(tree.cohort_nodes(cohort.name).items()):
        flavor_plan = flavors[flavor]
        ceiling = min(node.ceiling, flavor_plan.capacity.max)  # like a team's ceiling, at most what can run
        yield [name, flavor, str(node.guaranteed or "–"), str(ceiling), flavor_plan.noun, members]
        name, members = "", ""
    if name:
        yield [name, "–", "–", "–", "no queues", members]
