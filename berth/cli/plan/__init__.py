"""`berth plan`: what a stack creates and what each team gets."""

from __future__ import annotations

import typer
from msgspec.structs import replace

from berth.cli import prices as costs
from berth.cli.arguments import EXIT_FAULTS, EXIT_OK, AllOption, JsonOption, StackArgument, print_answer, project_root
from berth.document import ProblemList
from berth.evaluate import evaluate_stack

EPILOG = "Example: berth plan dev --json | jq .teams"


def plan_command(
    stack: StackArgument, as_json: JsonOption = False, prices: costs.PricesFile = None, everything: AllOption = False
) -> None:
    """Show what a stack creates and what each team gets.

    Shows capacity, pools, each team's guarantee and ceiling, who can preempt whom, and all faults, warnings and notes.
    """
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
