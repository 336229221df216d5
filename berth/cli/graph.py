"""`berth graph`: the quota tree as Mermaid text or an SVG image."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from berth.cli.arguments import Output, StackArgument, evaluate_or_exit, exit_with_problems, write_output
from berth.diagnostics import Problem

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
    evaluation = evaluate_or_exit(stack, needs=None)
    from berth.backends.interface import backend_of
    from berth.report.svg import tree_mermaid, tree_svg

    tree = backend_of(evaluation).tree(evaluation)
    if isinstance(tree, Problem):
        exit_with_problems([tree])
    write_output(
        tree_mermaid(tree) if output_format == "mermaid" else tree_svg(tree, f"Quota tree of {evaluation.stack}"),
        output,
    )
