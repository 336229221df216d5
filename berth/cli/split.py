"""`berth split`: a proposal to divide a large fleet into stacks, by cohort."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from berth.cli.arguments import JsonOption, StackArgument, evaluate_or_exit, print_answer
from berth.document import Block, Heading, Note, Table
from berth.plan.fleet import FleetPlan
from berth.split import indivisible_groups, propose_stacks
from berth.text import abbreviate_names, pluralize

VERSION = 1
"""Version of the JSON output; increased when a key changes its meaning or is removed."""


EPILOG = "Example: berth split dev --most 500"


def split_command(
    stack: StackArgument,
    max_resources: Annotated[int, typer.Option("--most", min=1, help="Maximum number of resources in a stack.")] = 2000,
    print_json: JsonOption = False,
) -> None:
    """Propose how to divide a large fleet into stacks.

    Counts the resources of teams, cohorts and queues, and groups them so that queues that share quota stay together.
    """
    evaluation = evaluate_or_exit(stack)

    plan = evaluation.fleet
    print_answer(split_document(plan, max_resources), split_as_json(plan, max_resources) if print_json else None)


def split_as_json(plan: FleetPlan, max_resources: int) -> dict[str, Any]:
    """Return the proposed stacks as JSON values."""
    return {
        "version": VERSION,
        "stack": plan.stack,
        "most": max_resources,
        "resources": sum(part.resources for part in indivisible_groups(plan)),
        "stacks": [
            {
                "cohorts": list(part.cohorts),
                "clusterQueues": list(part.cluster_queues),
                "teams": list(part.teams),
                "resources": part.resources,
            }
            for part in propose_stacks(plan, max_resources)
        ],
    }


def split_document(plan: FleetPlan, max_resources: int) -> Iterator[Block]:
    """Yield the proposed stacks, and the groups that are larger than `max_resources`."""
    parts = propose_stacks(plan, max_resources)
    total = pluralize(sum(part.resources for part in parts), "resource")
    scope = f"{pluralize(len(plan.teams), 'team')}, cohorts and queues"
    yield Heading(f"{plan.stack} · {total} of {scope}; at most {max_resources} a stack")
    rows = [
        [
            *map(str, (number, part.resources, len(part.teams), len(part.cluster_queues))),
            abbreviate_names(list(part.cohorts)) or "–",
        ]
        for number, part in enumerate(parts, 1)
    ]
    yield Table("Stacks", ("stack", "resources", "teams", "cluster queues", "cohorts"), rows, numbers=(1, 2, 3))
    for part in parts:
        if part.resources > max_resources:
            names = abbreviate_names(list(part.cohorts) or list(part.teams))
            yield Note([f"{part.resources} resources share quota and stay together: {names}"])
