"""What machines cost by the hour, as `berth plan` and its kin show it once they are given prices."""

from __future__ import annotations

import pathlib
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer

from berth.cli.arguments import FAULTS, complain
from berth.cli.tables import table
from berth.evaluate import Verdict

if TYPE_CHECKING:  # every verb is declared with this module, and few are asked for prices
    from berth.cost.fleet import Cost, MachinesCost, Sum
    from berth.cost.prices import Prices

PricesFile = Annotated[
    pathlib.Path | None,
    typer.Option("--prices", metavar="FILE", help="A table of hourly prices, to show what it costs (docs/cost.md)."),
]


def prices(file: pathlib.Path | None) -> Prices | None:
    """The table of prices in a file; its faults on stderr, and exit 1."""
    if file is None:
        return None
    from berth.cost.prices import read_prices

    found, problems = read_prices(file)
    if found is None:
        complain(problems)
        raise typer.Exit(FAULTS)
    return found


def of_kueue(verdict: Verdict, prices: Prices | None) -> None:
    """Refuse a table of prices for a stack that has none of Google Cloud's machines. Raises BadParameter."""
    if prices is not None and verdict.ack is not None:
        raise typer.BadParameter("a price table is of Google Cloud's machines, and this fleet has none of them")
    if prices is not None and verdict.of_team:
        raise typer.BadParameter("a team's own stack has no machines that would cost anything")


# --- for machines -----------------------------------------------------------------------------------------------------


def as_json(cost: Cost) -> dict[str, Any]:
    """`cost` of the plan's JSON, as docs/cost.md says."""
    return {
        "currency": cost.prices.currency,
        "prices": cost.prices.file,
        "fleet": _sum(cost.fleet),
        "machines": [_machines(each) for each in cost.machines],
        "teams": [{"name": team, **_sum(found)} for team, found in cost.teams.items()],
    }


def _machines(cost: MachinesCost) -> dict[str, Any]:
    return {
        "kind": cost.kind,
        "name": cost.name,
        "machineType": cost.machine_type,
        "capacity": cost.capacity,
        "nodes": {"min": cost.nodes.min, "max": cost.nodes.max},
        "price": number(cost.price),
        "committed": number(cost.committed),
        "ceiling": number(cost.ceiling),
    }


def _sum(found: Sum) -> dict[str, Any]:
    return {
        "committed": number(found.committed),
        "ceiling": number(found.ceiling),
        "unpriced": list(found.unpriced),
    }


def number(amount: Fraction | None) -> float | None:
    """An amount with six decimals at the most."""
    return None if amount is None else round(float(amount), 6)


# --- for people -------------------------------------------------------------------------------------------------------


def text(cost: Cost) -> str:
    """The cost as a table of machines, one of teams, and what has no price."""
    from berth.cost import text as words

    rows = [
        [m.label, m.machine_type, m.capacity, *map(words.money, (m.price, m.committed, m.ceiling)), ""]
        for m in cost.machines
    ]
    total = cost.fleet
    rows.append(["all", "", "", "", words.money(total.committed), words.money(total.ceiling), words.without(total)])
    head = [f"Machines, {cost.prices.currency} an hour", "machine", "from", "each", "committed", "ceiling", ""]
    teams = [
        [team, words.money(found.committed), words.money(found.ceiling), words.without(found)]
        for team, found in cost.teams.items()
    ]
    parts = [
        table(head, rows, right=(3, 4, 5)),
        table([f"Teams, {cost.prices.currency} an hour", "guaranteed", "ceiling", ""], teams, right=(1, 2)),
        "\n".join([words.scope(cost), *words.gaps(cost)]),
    ]
    return "\n\n".join(part for part in parts if part)
