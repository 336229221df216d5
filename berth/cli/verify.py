"""`berth verify`: what Berth predicts of a cluster, compared with what is there."""

from __future__ import annotations

import pathlib
from typing import Annotated, Literal

import typer

from berth.cli.arguments import (
    EXIT_FAULTS,
    EXIT_OK,
    StackArgument,
    evaluate_or_exit,
    exit_with_error,
    exit_with_problems,
    google_fleet,
    print_answer,
    project_root,
)
from berth.plan.fleet import FleetPlan

EPILOG = "Example: berth verify dev --live objects.json --format markdown"


def verify_command(
    stack: StackArgument,
    live: Annotated[
        list[pathlib.Path],
        typer.Option(
            "--live",
            metavar="FILE",
            help="Output of kubectl get nodes,… -o json (docs/verify.md lists the kinds); repeatable.",
        ),
    ],
    worker: Annotated[
        str | None, typer.Option("--worker", metavar="NAME", help="Verify the cluster of this worker (MultiKueue).")
    ] = None,
    output_format: Annotated[
        Literal["text", "markdown", "json"],
        typer.Option("--format", help="Output for a terminal, a pull request comment or a program."),
    ] = "text",
) -> None:
    """Compare the nodes and queues of a cluster with the stack.

    Compares each label, taint, allocatable resource and number of nodes, and the flavors, queues, quotas, storage
    drivers and device classes. Each difference says what it means for which jobs. What was unknown and is now known is
    printed as a row for Berth's tables. Exits 1 if something differs.
    """
    from berth.document.markdown import render_markdown
    from berth.loader.locate import display_path
    from berth.verify import read_live_objects, verify_cluster
    from berth.verify.document import verification_as_json, verification_document

    fleet = google_fleet(evaluate_or_exit(stack), "has no nodes of its own; write the stack of the platform")
    plan = _plan_of(fleet, worker)
    objects, problems = read_live_objects((file, display_path(file, project_root())) for file in live)
    if problems:
        exit_with_problems(problems)
    result = verify_cluster(plan, objects)
    if output_format == "markdown":
        typer.echo(render_markdown(verification_document(plan, result)), nl=False)
    else:
        value = verification_as_json(plan, result) if output_format == "json" else None
        print_answer(verification_document(plan, result), value)
    raise typer.Exit(EXIT_FAULTS if result.differences else EXIT_OK)


def _plan_of(plan: FleetPlan, worker: str | None) -> FleetPlan:
    """Return the plan of the fleet's cluster, or of one worker's."""
    if worker is None:
        return plan
    plans = {each.name: each.plan for each in plan.workers}
    if worker not in plans:
        known = f"write one of {', '.join(plans)}" if plans else "remove --worker, because the stack has no workers"
        exit_with_error(f"no worker '{worker}' in {plan.stack}; {known}")
    return plans[worker]
