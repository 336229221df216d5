"""`berth split`: a large fleet as several stacks, by cohort."""

from __future__ import annotations

from typing import Any

from berth.cli.tables import table
from berth.plan.fleet import FleetPlan
from berth.split import Part, groups, propose
from berth.text import many, some

VERSION = 1
"""Of the JSON; raised when a key changes its meaning or goes."""


def as_json(plan: FleetPlan, most: int) -> dict[str, Any]:
    """The proposed stacks, with the names and the resources of each."""
    return {
        "version": VERSION,
        "stack": plan.stack,
        "most": most,
        "resources": sum(part.resources for part in groups(plan)),
        "stacks": [
            {
                "cohorts": list(part.cohorts),
                "clusterQueues": list(part.queues),
                "teams": list(part.teams),
                "resources": part.resources,
            }
            for part in propose(plan, most)
        ],
    }


def text(plan: FleetPlan, most: int) -> str:
    """The same as a table, and what stands in the way of smaller ones."""
    parts = propose(plan, most)
    total = sum(part.resources for part in parts)
    rows = [
        [str(n), str(p.resources), str(len(p.teams)), str(len(p.queues)), some(list(p.cohorts)) or "–"]
        for n, p in enumerate(parts, 1)
    ]
    whose = f"{many(len(plan.teams), 'team')}, cohorts and queues"
    head = f"{plan.stack} · {many(total, 'resource')} of {whose}; at most {most} a stack"
    listed = table(["Stacks", "resources", "teams", "cluster queues", "cohorts"], rows, right=(1, 2, 3))
    return "\n\n".join(part for part in (head, listed, *_larger(parts, most)) if part)


def _larger(parts: list[Part], most: int) -> list[str]:
    large = [part for part in parts if part.resources > most]
    return [
        f"{part.resources} resources share quota and stay together: {some(list(part.cohorts) or list(part.teams))}"
        for part in large
    ]
