"""The words and figures in which costs are told, the same everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

from berth.cost.fleet import CostTotal, FleetCost
from berth.diagnostics import join_words


def format_money(amount: Fraction | None) -> str:
    """`1,234.50`, rounded to the second decimal; `–` for what is not known."""
    return "–" if amount is None else f"{Decimal(amount.numerator) / Decimal(amount.denominator):,.2f}"


def describe_scope(cost: FleetCost) -> str:
    """What the figures hold, and what they do not."""
    return f"Prices by {cost.prices.file}: machines only, without disks, networks, licences and fees."


def describe_unpriced(total: CostTotal) -> str:
    """What a sum leaves out: `without l4-spot`; empty where it is whole."""
    return f"without {join_words(list(total.unpriced))}" if total.unpriced else ""


def missing_price_lines(cost: FleetCost) -> Iterator[str]:
    """Prices that are missing, a line each, with what is not counted therefore."""
    names: dict[tuple[str, str], list[str]] = {}
    for machine in cost.unpriced:
        for key in machine.missing:
            names.setdefault(key, []).append(machine.label)
    for (machine_type, capacity), machines in names.items():
        hint = cost.prices.suggestion(machine_type)
        yield f"{cost.prices.file} has no price for {machine_type} {capacity}: {join_words(machines)} not counted{hint}"
