"""`berth plan`: what a stack creates and what each team gets."""

from __future__ import annotations

from functools import partial

import typer

from berth.cli import prices as costs
from berth.cli.arguments import EXIT_FAULTS, EXIT_OK, JsonOption, StackArgument, format_json, project_root
from berth.cli.terminal import format_paragraphs
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

        value, text = ack.as_json, ack.text
    elif evaluation.is_team_stack:
        from berth.cli.plan import team_stack

        value, text = team_stack.as_json, team_stack.text
    else:
        from berth.cli.plan import fleet

        value, text = partial(fleet.as_json, prices=price_table), partial(fleet.text, prices=price_table)
    typer.echo(format_json(value(evaluation)) if as_json else format_paragraphs(text(evaluation)))
    raise typer.Exit(EXIT_FAULTS if evaluation.faults else EXIT_OK)
