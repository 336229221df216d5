"""`berth usage`: what teams use of what they are guaranteed."""

from __future__ import annotations

import pathlib
from typing import Annotated, Literal

import typer

from berth.cli.arguments import (
    EXIT_FAULTS,
    StackArgument,
    evaluate_or_exit,
    format_json,
    google_fleet,
    print_answer,
    print_problems,
)

EPILOG = "Example: berth usage dev --queries"


def usage_command(
    stack: StackArgument,
    metrics: Annotated[
        list[pathlib.Path] | None,
        typer.Option("--metrics", metavar="FILE", help="Answers of Prometheus to query_range; repeatable."),
    ] = None,
    prometheus: Annotated[
        str | None, typer.Option("--prometheus", metavar="URL", help="Query this Prometheus instead of reading files.")
    ] = None,
    token_file: Annotated[
        pathlib.Path | None,
        typer.Option("--token-file", metavar="FILE", help="A file with a bearer token for Prometheus."),
    ] = None,
    allow_http: Annotated[
        bool, typer.Option("--allow-http", help="Send the token without encryption to another machine.")
    ] = False,
    period: Annotated[
        str | None,
        typer.Option("--last", metavar="PERIOD", help="The last period, such as 6h (7d, or all of the files)."),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", metavar="NAME", help="Only series with this label cluster (the stack's cluster)."),
    ] = None,
    project: Annotated[
        str | None, typer.Option("--project", metavar="ID", help="Only series with this label project_id or project.")
    ] = None,
    queries: Annotated[
        bool, typer.Option("--queries", help="Print the requests to Prometheus without sending them.")
    ] = False,
    output_format: Annotated[Literal["text", "json", "csv"], typer.Option("--format", help="Output format.")] = "text",
) -> None:
    """Show what each team used of what it is guaranteed.

    For each team and flavor: guaranteed, used on average and at the 95th percentile, borrowed, lent, idle, and what
    it could return or lacks. The figures come from Kueue's metrics of a period.
    """
    from berth.backends.interface import backend_of
    from berth.cli.usage import answer, tables
    from berth.usage.series import Chosen

    evaluation = evaluate_or_exit(stack, needs=None)
    plan = google_fleet(evaluation, f"is {backend_of(evaluation).title}, which has no metrics of Kueue")
    chosen = Chosen(cluster or plan.cluster.name, project, cluster is not None)
    if queries:
        typer.echo(answer.queries_text(plan, period, chosen))
        return
    result = answer.measure_usage(
        plan, metrics or [], prometheus, token_file, period, chosen=chosen, allow_http=allow_http
    )
    print_problems(result.problems)
    if result.report is None:
        raise typer.Exit(EXIT_FAULTS)
    match output_format:
        case "json":
            typer.echo(format_json(tables.usage_as_json(plan.stack, result.report)))
        case "csv":
            typer.echo(tables.csv_text(result.report), nl=False)
        case "text":
            print_answer(tables.usage_document(plan.stack, result.report))
