"""`berth plan`: what a stack creates and what each team gets."""

from __future__ import annotations

import typer

from berth.cli import prices as costs
from berth.cli.arguments import EXIT_FAULTS, EXIT_OK, JsonOption, StackArgument, format_json, project_root
from berth.evaluate import evaluate_stack

EPILOG = "Example: berth plan dev --json | jq .teams"


def command(stack: StackArgument, as_json: JsonOption = False, prices: costs.PricesFile = None) -> None:
    """Show what a stack creates and what each team gets.

    Shows capacity, pools, each team's guarantee and ceiling, who can preempt whom, and all faults, warnings and notes.
    """
    price_table = costs.load_prices(prices)
    evaluation = evaluate_stack(stack, project_root())
    costs.require_priceable(evaluation, price_table)
    if evaluation.ack_plan is not None:
        from berth.cli.plan import ack

        typer.echo(format_json(ack.as_json(evaluation)) if as_json else ack.text(evaluation))
    elif evaluation.is_team_stack:
        from berth.cli.plan import team_stack

        typer.echo(format_json(team_stack.as_json(evaluation)) if as_json else team_stack.text(evaluation))
    else:
        from berth.cli.plan import fleet as verb

        typer.echo(
            format_json(verb.as_json(evaluation, price_table)) if as_json else verb.text(evaluation, price_table)
        )
    raise typer.Exit(EXIT_FAULTS if evaluation.faults else EXIT_OK)
