"""Costs as text, for every output."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

from berth.cost.fleet import CostTotal, FleetCost
from berth.diagnostics import join_words


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
    names: dict[tuple[str, str], list[str]] = {}
    for machine in cost.unpriced:
        for key in machine.missing:
            names.setdefault(key, []).append(machine.label)
    for (machine_type, capacity), machines in names.items():
        hint = cost.prices.suggestion(machine_type)
        where = f"{machine_type} {capacity}"
        yield f"{cost.prices.file} has no price for {where}; not counted: {join_words(machines)}{hint}"
