"""`berth plan`: what a stack creates and what each team gets."""

from __future__ import annotations

from typing import Annotated, NoReturn

import typer
from msgspec.structs import replace

from berth.cli import prices as costs
from berth.cli.arguments import (
    EXIT_FAULTS,
    EXIT_OK,
    AllOption,
    JsonOption,
    StackArgument,
    evaluate_or_exit,
    exit_with_error,
    print_answer,
    project_root,
)
from berth.diagnostics import did_you_mean
from berth.document import ProblemList
from berth.evaluate import evaluate_stack
from berth.text import abbreviate_names

EPILOG = "Example: berth plan dev --json | jq .teams"


def plan_command(
    stack: StackArgument,
    as_json: JsonOption = False,
    prices: costs.PricesFile = None,
    everything: AllOption = False,
    team: Annotated[
        str | None,
        typer.Option("--team", help="Show only what this team has, who can take it, and what happens to its jobs."),
    ] = None,
    lose: Annotated[
        list[str] | None,
        typer.Option(
            "--lose",
            metavar="LOSS",
            help="Show whose guarantee breaks without '2 nodes of POOL', slice=POOL, pool=POOL or zone=ZONE.",
        ),
    ] = None,
) -> None:
    """Show what a stack creates and what each team gets, or what it loses.

    Shows capacity, pools, each team's guarantee and ceiling, who can preempt whom, and all faults, warnings and notes.
    """
    if team is not None:
        _show_team(stack, team, as_json)
    if lose:
        _show_losses(stack, lose, as_json)
    price_table = costs.load_prices(prices)
    evaluation = evaluate_stack(stack, project_root())
    costs.require_priceable(evaluation, price_table)
    from berth.backends.interface import backend_of
    from berth.cost.fleet import fleet_cost

    backend, plan = backend_of(evaluation), evaluation.fleet_plan
    cost = fleet_cost(plan, price_table) if plan and price_table else None
    document = backend.document(evaluation, cost)
    blocks = (replace(each, everything=everything) if isinstance(each, ProblemList) else each for each in document)
    print_answer(blocks, backend.as_json(evaluation, cost) if as_json else None)
    raise typer.Exit(EXIT_FAULTS if evaluation.faults else EXIT_OK)


def _show_team(stack: str, name: str, as_json: bool) -> NoReturn:
    from berth.overview.lead import lead_answer, lead_as_json, lead_document

    evaluation = evaluate_or_exit(stack)
    plan = evaluation.fleet
    teams = {each.name: each for each in plan.teams}
    if name not in teams:
        hint = did_you_mean(name, teams) or f"; write one of {abbreviate_names([*teams])}"
        exit_with_error(f"no team '{name}' in {plan.stack}{hint}")
    answer = lead_answer(plan, teams[name])
    print_answer(lead_document(answer), lead_as_json(answer) if as_json else None)
    raise typer.Exit(EXIT_OK)


def _show_losses(stack: str, lose: list[str], as_json: bool) -> NoReturn:
    from berth.overview.loss_text import loss_document, losses_as_json
    from berth.overview.losses import LossError, losses_of

    plan = evaluate_or_exit(stack).fleet
    try:
        losses = losses_of(plan, lose)
    except LossError as error:
        exit_with_error(f"--lose: {error}")
    print_answer(loss_document(plan, losses), losses_as_json(plan, losses) if as_json else None)
    raise typer.Exit(EXIT_OK)
