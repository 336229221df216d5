"""`berth graph`: the quota tree as Mermaid text or an SVG image."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from berth.cli.arguments import EXIT_FAULTS, Output, StackArgument, evaluate_or_exit, print_problems, write_output
from berth.diagnostics import Problem, Severity
from berth.plan.ack import AckFleetPlan

EPILOG = "Example: berth graph stacks/examples/quota-tree.yaml --format svg > tree.svg"


def graph_command(
    stack: StackArgument,
    output_format: Annotated[
        Literal["mermaid", "svg"], typer.Option("--format", help="Format of the drawing.")
    ] = "mermaid",
    output: Output = None,
) -> None:
    """Draw the quota tree.

    Shows cohorts and queues with their guarantee and ceiling, as Mermaid text, which GitHub renders, or as SVG. For a
    team's own stack, shows the team's queues and workloads.
    """
    evaluation = evaluate_or_exit(stack, allow_any_kind=True)
    from berth.report.mermaid import tree_mermaid
    from berth.report.page import stack_boxes
    from berth.report.svg import tree_svg

    if isinstance(evaluation.plan, AckFleetPlan) and evaluation.plan.quotas is None:
        message = "the fleet has no quota tree to draw; berth plan shows its members and teams"
        print_problems([Problem(Severity.FAULT, "wrong-kind", ("ack", "fleet", "quotaTree"), message)])
        raise typer.Exit(EXIT_FAULTS)
    tree = stack_boxes(evaluation)
    write_output(
        tree_mermaid(tree) if output_format == "mermaid" else tree_svg(tree, f"Quota tree of {evaluation.stack}"),
        output,
    )
