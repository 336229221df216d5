"""A table of prices: the user's file with the hourly price of each machine type and capacity.

currency: USD
hourly:
  ct5lp-hightpu-4t: {on-demand: 4.80, reservation: 3.36}
  g2-standard-24: {on-demand: 2.00, spot: "0.80"}
"""

from __future__ import annotations

import pathlib
import re
from collections.abc import Mapping
from difflib import get_close_matches
from fractions import Fraction

from msgspec import Struct, field

from berth import catalog
from berth.diagnostics import Problem, Problems, Severity, did_you_mean
from berth.jobs.files import read_documents
from berth.jobs.values import SourceValue

CAPACITY_MODELS = ("on-demand", "spot", "reservation", "flex-start", "queued")
"""Kinds of capacity, as in a pool's `capacity`."""

_CURRENCY = re.compile(r"[A-Z]{3}")
_MACHINE_TYPE = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+")
_PRICE = re.compile(r"[0-9]{1,6}(\.[0-9]{1,6})?")

_TYPO_SIMILARITY = 0.9
"""How similar a machine type must be to count as a typing error: g2-standart-24, but not e2-standard-4."""


class Prices(Struct, frozen=True):
    """Hourly prices in `currency` (three letters, ISO 4217), by machine type and capacity.

    Prices are exact: 4.80 is 24/5. `file` is the table's name as it was given.
    """

    file: str
    currency: str
    hourly: Mapping[tuple[str, str], Fraction] = field(default_factory=dict[tuple[str, str], Fraction])

    def price_of(self, machine_type: str, capacity: str) -> Fraction | None:
        """Return the price of a machine; None if the table has none."""
        return self.hourly.get((machine_type, capacity))

    def suggestion(self, machine_type: str) -> str:
        """Return `; did you mean '…'?` if the table has an unknown machine type that is almost the same.

        Many types differ by one letter, which is usually intended.
        """
        written = {machine for machine, _ in self.hourly}
        unknown = sorted(written - catalog.machines().keys())
        close = [] if machine_type in written else get_close_matches(machine_type, unknown, 1, _TYPO_SIMILARITY)
        return f"; did you mean '{close[0]}'?" if close else ""


def read_prices(file: pathlib.Path) -> tuple[Prices | None, tuple[Problem, ...]]:
    """Return the table in a file, or None and every fault with its line.

    Faults are `no-file`, `unreadable`, `bad-yaml` and similar for the file, `missing-key`, `unknown-key` and
    `bad-value` for its content.
    """
    shown = str(file)
    yaml_documents, faults = read_documents(file, shown)
    if faults:
        return None, tuple(faults)
    if len(yaml_documents) != 1:
        what = "has more than one YAML document; keep one" if yaml_documents else "is empty; write currency and hourly"
        return None, (Problem(Severity.FAULT, "bad-value", (), f"the price table {what}", shown),)
    problems = Problems()
    prices = _table(yaml_documents[0].root_value(problems), shown)
    placed = tuple(yaml_documents[0].locate_problems(problems.entries))
    return (None if placed else prices), placed


def _table(root: SourceValue, shown: str) -> Prices | None:
    parts = root.known_fields(("currency", "hourly"))
    if parts is None:
        return None
    currency = parts["currency"].value
    if not isinstance(currency, str) or not _CURRENCY.fullmatch(currency):
        parts["currency"].reject("a currency; write three capital letters, such as USD")
    hourly: dict[tuple[str, str], Fraction] = {}
    machines = parts["hourly"].mapping("a mapping of machine types to their prices") or {}
    if not machines and not root.problems.has_faults():
        parts["hourly"].fault("bad-value", "no machine has a price; write one, or remove --prices")
    for machine, capacities in machines.items():
        if not _MACHINE_TYPE.fullmatch(machine):
            capacities.fault("bad-value", f"'{machine}' is not a machine type; write one such as g2-standard-24")
        for capacity, price in (
            capacities.mapping(f"a mapping of {', '.join(CAPACITY_MODELS)} to prices") or {}
        ).items():
            amount = _price(price, capacity)
            if amount is not None:
                hourly[machine, capacity] = amount
    return Prices(shown, str(currency), hourly)


def _price(at: SourceValue, capacity: str) -> Fraction | None:
    if capacity not in CAPACITY_MODELS:
        known = ", ".join(CAPACITY_MODELS)
        at.fault(
            "unknown-key", f"unknown key '{capacity}'; write one of {known}{did_you_mean(capacity, CAPACITY_MODELS)}"
        )
        return None
    value = at.value
    if isinstance(value, bool) or not _PRICE.fullmatch(str(value)):
        at.reject("an hourly price; write the cost of one machine, from 0 to 999999, with at most six decimals")
        return None
    return Fraction(str(value))
