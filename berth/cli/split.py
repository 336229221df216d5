"""`berth split`: a proposal to divide a large fleet into stacks, by cohort."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from berth.cli.arguments import JsonOption, StackArgument, evaluate_or_exit, format_json
from berth.cli.tables import table
from berth.plan.fleet import FleetPlan
from berth.split import ProposedStack, indivisible_groups, propose_stacks
from berth.text import abbreviate_names, pluralize

VERSION = 1
"""Version of the JSON output; increased when a key changes its meaning or is removed."""


EPILOG = "Example: berth split dev --most 500"


def command(
    stack: StackArgument,
    max_resources: Annotated[int, typer.Option("--most", min=1, help="Maximum number of resources in a stack.")] = 2000,
    print_json: JsonOption = False,
) -> None:
    """Propose how to divide a large fleet into stacks.

    Counts the resources of teams, cohorts and queues, and groups them so that queues that share quota stay together.
    """
    evaluation = evaluate_or_exit(stack)

    assert evaluation.fleet_plan is not None
    typer.echo(
        format_json(as_json(evaluation.fleet_plan, max_resources))
        if print_json
        else text(evaluation.fleet_plan, max_resources)
    )


def as_json(plan: FleetPlan, max_resources: int) -> dict[str, Any]:
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


def text(plan: FleetPlan, max_resources: int) -> str:
    """Return the proposed stacks as a table, and the groups that are larger than `max_resources`."""
    parts = propose_stacks(plan, max_resources)
    total = sum(part.resources for part in parts)
    rows = [
        [
            str(n),
            str(p.resources),
            str(len(p.teams)),
            str(len(p.cluster_queues)),
            abbreviate_names(list(p.cohorts)) or "–",
        ]
        for n, p in enumerate(parts, 1)
    ]
    scope = f"{pluralize(len(plan.teams), 'team')}, cohorts and queues"
    head = f"{plan.stack} · {pluralize(total, 'resource')} of {scope}; at most {max_resources} a stack"
    stacks_table = table(["Stacks", "resources", "teams", "cluster queues", "cohorts"], rows, right=(1, 2, 3))
    return "\n\n".join(part for part in (head, stacks_table, *_oversized(parts, max_resources)) if part)


def _oversized(parts: list[ProposedStack], max_resources: int) -> list[str]:
    large = [part for part in parts if part.resources > max_resources]
    return [
        (
            f"{part.resources} resources share quota and stay together: "
            f"{abbreviate_names(list(part.cohorts) or list(part.teams))}"
        )
        for part in large
    ]
