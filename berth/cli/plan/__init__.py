"""`berth plan`: what a stack creates and what each team gets."""

from __future__ import annotations

import typer

from berth.cli import prices as costs
from berth.cli.arguments import EXIT_FAULTS, EXIT_OK, JsonOption, StackArgument, format_json, project_root
from berth.cli.terminal import print_document
from berth.evaluate import evaluate_stack
from berth.plan.ack import AckFleetPlan

EPILOG = "Example: berth plan dev --json | jq .teams"


def command(stack: StackArgument, as_json: JsonOption = False, prices: costs.PricesFile = None) -> None:
    """Show what a stack creates and what each team gets.

    Shows capacity, pools, each team's guarantee and ceiling, who can preempt whom, and all faults, warnings and notes.
    """
    price_table = costs.load_prices(prices)
    evaluation = evaluate_stack(stack, project_root())
    costs.require_priceable(evaluation, price_table)
    if isinstance(evaluation.plan, AckFleetPlan):
        from berth.cli.plan import ack
        from berth.overview.ack import ack_document

        value, document = ack.as_json(evaluation), ack_document(evaluation)
    elif evaluation.is_team_stack:
        from berth.cli.plan import team_stack
        from berth.overview.team_stack import team_stack_document

        value, document = team_stack.as_json(evaluation), team_stack_document(evaluation)
    else:
        from berth.cli.plan import fleet
        from berth.cost.fleet import fleet_cost
        from berth.overview.fleet import fleet_document

        cost = fleet_cost(evaluation.fleet_plan, price_table) if evaluation.fleet_plan and price_table else None
        value, document = fleet.as_json(evaluation, cost), fleet_document(evaluation, cost)
    if as_json:
        typer.echo(format_json(value))
    else:
        print_document(document)
    raise typer.Exit(EXIT_FAULTS if evaluation.faults else EXIT_OK)
