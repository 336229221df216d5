"""The tables of facts (`tables.yaml`): their names in messages, their days, and for how long those hold."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct, convert

from berth.yaml_loader import load_table


class FactTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One table of facts. `name` is a phrase for messages, `file` is relative to the root of the repository.

    The table was compared with its sources (`sources.yaml`) on the day `as_of`, which holds for `life_days`.
    """

    file: str
    name: str
    as_of: date
    life_days: int

    @property
    def good_until(self) -> date:
        """The last day of the table's life."""
        return self.as_of + timedelta(days=self.life_days)

    @property
    def dated_name(self) -> str:
        """The table with its day, as messages name it: `Berth's table of zones of 2026-11-22`."""
        return f"{self.name} of {self.as_of}"

    def unknown(self, value: str, unchecked: str) -> str:
        """Return the message for a value that has no row: neither a pass nor a refusal.

        `value` is the value as a message names it, `unchecked` what Berth therefore does not check, as a phrase.
        """
        return f"{value} is unknown: it is not in {self.dated_name}, so {unchecked} not checked"


@cache
def fact_tables() -> Mapping[str, FactTable]:
    """Return every table of facts by its key in `tables.yaml`, loaded once."""
    rows = load_table(Path(__file__).with_name("tables.yaml"))
    return MappingProxyType(convert(rows, dict[str, FactTable]))
