"""`berth quota`: the Google Cloud quotas that a fleet needs, compared with a project's limits."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING, Annotated

import typer

from berth.cli.arguments import (
    EXIT_FAULTS,
    EXIT_OK,
    JsonOption,
    StackArgument,
    evaluate_or_exit,
    exit_with_problems,
    google_fleet,
    print_answer,
)

if TYPE_CHECKING:
    from berth.plan.fleet import FleetPlan
    from berth.quota.answers import Answers

EPILOG = "Example: berth quota dev --json"


def quota_command(
    stack: StackArgument,
    have: Annotated[
        list[pathlib.Path] | None,
        typer.Option(
            "--have",
            metavar="FILE",
            help="Output of gcloud with a project's limits (docs/quota.md); repeatable.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the Google Cloud quotas that the fleet needs.

    Lists each quota with the amount for the minimum number of nodes and for the maximum. With --have, compares it with
    the project's limits, and exits 1 if a quota is short.
    """
    from berth.backends.interface import backend_of
    from berth.cli.quota import tables
    from berth.quota.compare import compare_with_limits, contradicting_answers
    from berth.quota.required import required_quotas

    evaluation = evaluate_or_exit(stack, needs=None)
    plan = google_fleet(evaluation, f"is {backend_of(evaluation).title}, which needs no Google Cloud quota")
    required = required_quotas(plan)
    if not have:
        print_answer(tables.needs_document(plan, required), tables.needs_as_json(plan, required) if as_json else None)
        raise typer.Exit(EXIT_OK)
    answers = _answers(plan, have)
    if faults := contradicting_answers(required, answers):
        exit_with_problems(faults)
    comparisons = compare_with_limits(required, answers)
    value = tables.comparison_as_json(plan, comparisons) if as_json else None
    print_answer(tables.comparison_document(plan, comparisons), value)
    raise typer.Exit(EXIT_FAULTS if any(each.status == "short" for each in comparisons) else EXIT_OK)


def _answers(plan: FleetPlan, files: list[pathlib.Path]) -> Answers:
    from berth.quota.answers import read_answers
    from berth.quota.required import made_clusters

    clusters = tuple(made_clusters(plan))
    projects = {cluster.project for cluster in clusters if cluster.project}
    regions = {cluster.region for cluster in clusters if cluster.region}
    answers, problems = read_answers(files, projects, regions)
    if problems:
        exit_with_problems(problems)
    return answers
