"""Costs as tables and sentences."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

from berth.cost.fleet import BUFFER, TEAM, CostTotal, FleetCost, compare_costs
from berth.diagnostics import join_words
from berth.document import Block, Change, Note, Table
from berth.plan.grouping import grouped


def format_money(amount: Fraction | None) -> str:
    """Return `1,234.50`, rounded to two decimals; `–` for an unknown amount."""
    return "–" if amount is None else f"{Decimal(amount.numerator) / Decimal(amount.denominator):,.2f}"


def describe_scope(cost: FleetCost) -> str:
    """Return what the figures contain and what they leave out."""
    return f"Prices from {cost.prices.file}, for machines only: without disks, networks, licences and fees."


def describe_unpriced(total: CostTotal) -> str:
    """Return what a sum omits: `without l4-spot`; "" if it is complete."""
    return f"without {join_words(list(total.unpriced))}" if total.unpriced else ""


def missing_price_lines(cost: FleetCost) -> Iterator[str]:
    """Yield missing prices, one line each, with the machines that are not counted."""
    names = grouped((key, machine.label) for machine in cost.unpriced for key in machine.missing)
    for (machine_type, capacity), machines in names.items():
        hint = cost.prices.suggestion(machine_type)
        where = f"{machine_type} {capacity}"
        yield f"{cost.prices.file} has no price for {where}; not counted: {join_words(machines)}{hint}"
    if standby := [machine.label for machine in cost.unpriced if machine.kind == BUFFER]:
        yield f"GKE chooses the machines of standby buffers, which cost their disks; not counted: {join_words(standby)}"


def cost_blocks(cost: FleetCost) -> Iterator[Block]:
    """Yield the cost of machines and of teams, and what the figures contain."""
    rows = [
        [
            machine.label,
            machine.machine_type,
            machine.capacity,
            *map(format_money, (machine.price, machine.committed, machine.ceiling)),
            "no price" if machine.price is None else "",
        ]
        for machine in cost.machines
    ]
    rows.append(["all", "", "", "", *_sum_cells(cost.fleet)])
    head = ("machines", "machine", "from", "each", "committed", "ceiling", "")
    yield Table(f"Machines, {cost.prices.currency} an hour", head, rows, numbers=(3, 4, 5))
    rows = [[team, *_sum_cells(total)] for team, total in cost.teams.items()]
    yield Table(f"Teams, {cost.prices.currency} an hour", ("team", "guaranteed", "ceiling", ""), rows, numbers=(1, 2))
    yield Note([describe_scope(cost), *missing_price_lines(cost)])


def _sum_cells(total: CostTotal) -> list[str]:
    return [format_money(total.committed), format_money(total.ceiling), describe_unpriced(total)]


def cost_change_blocks(old: FleetCost, new: FleetCost) -> Iterator[Block]:
    """Yield the costs that change, and what the figures contain."""
    rows = [
        [
            f"team {step.name}" if step.kind == TEAM else step.name,
            *(Change(*map(format_money, amounts)) for amounts in (step.committed, step.ceiling)),
        ]
        for step in compare_costs(old, new)
    ]
    currency = f"{new.prices.currency} an hour"
    yield Table(f"Cost, {currency}", (currency, "committed", "ceiling"), rows, numbers=(1, 2))
    if not rows:
        yield Note(["The cost does not change."])
    yield Note([describe_scope(new), *dict.fromkeys((*missing_price_lines(new), *missing_price_lines(old)))])
