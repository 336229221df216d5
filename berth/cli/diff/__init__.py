"""`berth diff`: what a change of a stack file does, and to which teams."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from msgspec import to_builtins
from msgspec.structs import replace

from berth.cli import terminal
from berth.cli.arguments import (
    EXIT_BLOCKED,
    EXIT_OK,
    complete_stack,
    exit_with_error,
    exit_with_problems,
    format_json,
    print_answer,
    project_root,
)
from berth.cli.comparison import (
    StackRevision,
    at_merge_base,
    changes_between,
    evaluate_revision,
    parse_revision,
    with_examples,
)
from berth.cli.prices import PricesFile, load_prices, require_priceable
from berth.evaluate import Evaluation
from berth.loader.revisions import RevisionNotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from berth.cli.diff import admitted
    from berth.cost.prices import Prices
    from berth.diff.changes import Changes
    from berth.plan.fleet import FleetPlan

OutputFormat = Literal["text", "markdown", "json"]
EPILOG = "Example: berth diff dev --since main --format markdown"


def diff_command(
    old: Annotated[
        str,
        typer.Argument(
            metavar="OLD",
            help="A stack's or an example's name or file, or one at a revision (main:dev).",
            autocompletion=complete_stack,
        ),
    ],
    new: Annotated[
        str | None,
        typer.Argument(
            metavar="NEW", help="The stack to compare it with, in the same form.", autocompletion=complete_stack
        ),
    ] = None,
    revision: Annotated[
        str | None,
        typer.Option("--since", metavar="REV", help="Compare OLD with its state where this branch left REV."),
    ] = None,
    output_format: Annotated[
        OutputFormat, typer.Option("--format", help="Output for a terminal, a pull request comment or a program.")
    ] = "text",
    prices: PricesFile = None,
    live: Annotated[
        pathlib.Path | None,
        typer.Option(
            "--live",
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="From kubectl get workloads -A -o json: adds the jobs that it affects.",
        ),
    ] = None,
) -> None:
    """Show what a change does, and to which teams.

    Shows who gains and loses quota, which machines are replaced or deleted and why, and which objects change. Exits 3
    if the change would delete or replace something protected, without `allowDeletion` or `allowReplacement` for it, or
    if a changed version breaks what runs.
    """
    if (new is None) == (revision is None):
        raise typer.BadParameter("write OLD NEW, or STACK --since REV")
    price_table, root = load_prices(prices), project_root()
    try:
        first, second = with_examples((parse_revision(old), parse_revision(new or old)), revision, root)
        before = first if revision is None else at_merge_base(first.label, revision, root)
        _print_changes((before, second), output_format, price_table, live, revision)
    except RevisionNotFound as error:
        exit_with_error(error)


def _print_changes(
    sides: tuple[StackRevision, StackRevision],
    output_format: OutputFormat,
    prices: Prices | None,
    live: pathlib.Path | None,
    since: str | None,
) -> None:
    from berth.backends.interface import IncomparablePlans, backend_of
    from berth.cli.diff.promotion import base_block, promotion_blocks, promotion_of, stacks_with_base
    from berth.cost.fleet import fleet_cost
    from berth.diff.document import changes_document

    before, after = sides
    evaluations = _evaluate_both(before, after)
    same_base = stacks_with_base(*evaluations, project_root()) if after.revision is None else ()
    promotion, evaluations = promotion_of(sides, evaluations, project_root()) or (None, evaluations)
    require_priceable(evaluations[1], prices)
    try:
        changes = changes_between(*evaluations)
    except IncomparablePlans as error:
        exit_with_error(f"{before.label} and {after.label} cannot be compared: {error}")
    fleet_plans = [each.fleet_plan for each in evaluations if each.fleet_plan is not None]
    if fleet_plans and after.revision is None:
        from berth.worker_stacks import referrer_changes

        changes = replace(
            changes,
            referrers=tuple(referrer_changes(fleet_plans[0], fleet_plans[-1], project_root())),
            dependents=tuple(backend_of(evaluations[1]).dependents(*evaluations, project_root())),
        )
    cost_pair = (fleet_cost(fleet_plans[0], prices), fleet_cost(fleet_plans[1], prices)) if prices else None
    affected = _affected_flavors(fleet_plans, changes, live)
    if output_format == "json":
        from berth.cli.diff.as_json import changes_as_json, costs_as_json, to_json_value

        more_json: dict[str, object] = {"cost": costs_as_json(*cost_pair)} if cost_pair else {}
        more_json |= {"promotion": to_json_value(promotion)} if promotion else {}
        more_json |= {"sameBase": list(same_base)} if same_base else {}
        more_json |= {} if affected is None else {"admittedJobs": to_builtins(affected)}
        labels = promotion.labels if promotion else (before.label, after.label)
        typer.echo(format_json({**changes_as_json(changes, *labels), **more_json}))
    else:
        document = list(changes_document(changes))
        if promotion:
            document[:0] = promotion_blocks(promotion)
        if same_base:
            document.insert(1, base_block(same_base, evaluations[1], since))
        if affected is not None:
            from berth.cli.diff.admitted import admitted_block

            document.append(admitted_block(affected))
        if cost_pair:
            from berth.cost.text import cost_change_blocks

            document += cost_change_blocks(*cost_pair)
        if output_format == "text":
            print_answer(document)
        else:
            from berth.document.markdown import render_markdown

            typer.echo(render_markdown(document), nl=False)
    breaks = changes.upgrade is not None and changes.upgrade.breaks
    raise typer.Exit(EXIT_BLOCKED if changes.blocked or breaks else EXIT_OK)


def _affected_flavors(
    plans: Sequence[FleetPlan], changes: Changes, live: pathlib.Path | None
) -> list[admitted.AffectedFlavor] | None:
    """Return the admitted jobs that the change affects, by flavor; None where no file was given."""
    if live is None:
        return None
    if len(plans) < 2:
        raise typer.BadParameter("--live is for fleets on GKE")
    from berth.cli.diff import admitted

    workloads = admitted.read_workloads(live, plans[0])
    return list(admitted.affected_flavors(plans[0], plans[1], changes, workloads))


def _evaluate_both(before: StackRevision, after: StackRevision) -> tuple[Evaluation, Evaluation]:
    """Evaluate both sides under the name of one stack; print the faults of both and exit 1 if there are any."""
    with terminal.progress("planning both stacks"):
        new = evaluate_revision(after, project_root())
        old = evaluate_revision(before, project_root(), stack_name=new.stack)
    faults = (*old.faults, *(fault for fault in new.faults if fault not in old.faults))
    if faults:
        exit_with_problems(faults)
    return old, new
