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
    return f"Prices by {cost.prices.file}: machines only, without disks, networks, licences and fees."


def describe_unpriced(total: CostTotal) -> str:
    """Return what a sum leaves out: `without l4-spot`; empty if nothing."""
    return f"without {join_words(list(total.unpriced))}" if total.unpriced else ""


def missing_price_lines(cost: FleetCost) -> Iterator[str]:
    """Return missing prices, one line each, with what is therefore not counted."""
    names: dict[tuple[str, str], list[str]] = {}
    for machine in cost.unpriced:
        for key in machine.missing:
            names.setdefault(key, []).append(machine.label)
    for (machine_type, capacity), machines in names.items():
        hint = cost.prices.suggestion(machine_type)
        yield f"{cost.prices.file} has no price for {machine_type} {capacity}: {join_words(machines)} not counted{hint}"
