"""The hourly cost of machines and teams, for verbs with `--prices`."""

from __future__ import annotations

import pathlib
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer

from berth.cli.arguments import exit_with_problems
from berth.evaluate import Evaluation

if TYPE_CHECKING:  # verbs import this module for its option, and most runs have no prices
    from berth.cost.fleet import CostTotal, FleetCost, MachineCost
    from berth.cost.prices import Prices

PricesFile = Annotated[
    pathlib.Path | None,
    typer.Option("--prices", metavar="FILE", help="A table of hourly prices; adds costs to the output (docs/cost.md)."),
]


def load_prices(file: pathlib.Path | None) -> Prices | None:
    """Return the price table in a file; print its faults on stderr and exit 1 if it has any."""
    if file is None:
        return None
    from berth.cost.prices import read_prices

    price_table, problems = read_prices(file)
    if price_table is None:
        exit_with_problems(problems)
    return price_table


def require_priceable(evaluation: Evaluation, prices: Prices | None) -> None:
    """Raise BadParameter if prices are given for a stack without machines on Google Cloud."""
    if prices is None:
        return
    from berth.backends.interface import backend_of

    if (reason := backend_of(evaluation).unpriced) is not None:
        raise typer.BadParameter(reason)


def cost_as_json(cost: FleetCost) -> dict[str, Any]:
    """Return `cost` of the plan's JSON (docs/cost.md)."""
    return {
        "currency": cost.prices.currency,
        "prices": cost.prices.file,
        "fleet": _sum(cost.fleet),
        "machines": [_machines(each) for each in cost.machines],
        "teams": [{"name": team, **_sum(team_cost)} for team, team_cost in cost.teams.items()],
    }


def _machines(cost: MachineCost) -> dict[str, Any]:
    return {
        "kind": cost.kind,
        "name": cost.name,
        "machineType": cost.machine_type,
        "capacity": cost.capacity,
        "nodes": {"min": cost.nodes.min, "max": cost.nodes.max},
        "price": amount_as_json(cost.price),
        "committed": amount_as_json(cost.committed),
        "ceiling": amount_as_json(cost.ceiling),
    }


def _sum(total: CostTotal) -> dict[str, Any]:
    return {
        "committed": amount_as_json(total.committed),
        "ceiling": amount_as_json(total.ceiling),
        "unpriced": list(total.unpriced),
    }


def amount_as_json(amount: Fraction | None) -> float | None:
    """Return an amount rounded to six decimals."""
    return None if amount is None else round(float(amount), 6)
