"""The words and figures in which costs are told, the same everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

from berth.cost.fleet import Cost, Sum
from berth.diagnostics import in_words


def money(amount: Fraction | None) -> str:
    """`1,234.50`, rounded to the second decimal; `–` for what is not known."""
    return "–" if amount is None else f"{Decimal(amount.numerator) / Decimal(amount.denominator):,.2f}"


def scope(cost: Cost) -> str:
    """What the figures hold, and what they do not."""
    return f"Prices by {cost.prices.file}: machines only, without disks, networks, licences and fees."


def without(found: Sum) -> str:
    """What a sum leaves out: `without l4-spot`; empty where it is whole."""
    return f"without {in_words(list(found.unpriced))}" if found.unpriced else ""


def gaps(cost: Cost) -> Iterator[str]:
    """Prices that are missing, a line each, with what is not counted therefore."""
    names: dict[tuple[str, str], list[str]] = {}
    for each in cost.unpriced:
        for key in each.missing:
            names.setdefault(key, []).append(each.label)
    for (machine_type, capacity), found in names.items():
        hint = cost.prices.hint(machine_type)
        yield f"{cost.prices.file} has no price for {machine_type} {capacity}: {in_words(found)} not counted{hint}"
