"""The change of hourly costs, in `berth diff` and the report, if prices are given."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from berth.cli.diff.markdown import escape_markdown
from berth.cli.prices import amount_as_json
from berth.cli.tables import table
from berth.cost import text as cost_text
from berth.cost.changes import TEAM, CostChange, compare_costs
from berth.cost.fleet import FleetCost
from berth.report.view import Section

_UNCHANGED = "The cost does not change."


def as_json(old: FleetCost, new: FleetCost) -> dict[str, Any]:
    """Return `cost` of the diff's JSON (docs/cost.md)."""
    return {
        "currency": new.prices.currency,
        "prices": new.prices.file,
        "changes": [
            {
                "kind": step.kind,
                "name": step.name,
                "committed": {"before": amount_as_json(step.committed[0]), "after": amount_as_json(step.committed[1])},
                "ceiling": {"before": amount_as_json(step.ceiling[0]), "after": amount_as_json(step.ceiling[1])},
            }
            for step in compare_costs(old, new)
        ],
        "unpriced": {"before": list(old.fleet.unpriced), "after": list(new.fleet.unpriced)},
    }


def text(old: FleetCost, new: FleetCost) -> str:
    """Return a table of changed costs, and notes on what they include."""
    rows = _rows(old, new)
    cost_table = table([f"Cost, {new.prices.currency} an hour", "committed", "ceiling"], rows, right=(1, 2))
    return "\n\n".join([cost_table or _UNCHANGED, "\n".join(_notes(old, new))])


def markdown(old: FleetCost, new: FleetCost) -> str:
    """Return the changed costs as a Markdown table; text from files is escaped."""
    lines = [f"| {' | '.join(map(escape_markdown, row))} |" for row in _rows(old, new)]
    head = [f"| {new.prices.currency} an hour | committed | ceiling |", "|---|---:|---:|"]
    notes = "\n".join(f"- {escape_markdown(line)}" for line in _notes(old, new))
    return "\n".join([*head, *lines] if lines else [_UNCHANGED]) + f"\n\n{notes}\n"


def report_parts(old: FleetCost, new: FleetCost) -> Iterator[Section]:
    """Yield the changed costs as a section of the report."""
    head = (f"{new.prices.currency} an hour", "committed", "ceiling")
    yield Section("Cost, before and after", head, _rows(old, new), (1, 2))


def _rows(old: FleetCost, new: FleetCost) -> list[list[str]]:
    return [
        [_step_name(step), _format_step(*step.committed), _format_step(*step.ceiling)]
        for step in compare_costs(old, new)
    ]


def _step_name(step: CostChange) -> str:
    return f"team {step.name}" if step.kind == TEAM else step.name


def _format_step(before: Fraction | None, after: Fraction | None) -> str:
    old_amount, new_amount = cost_text.format_money(before), cost_text.format_money(after)
    return new_amount if before == after else f"{old_amount} → {new_amount}"


def _notes(old: FleetCost, new: FleetCost) -> Iterator[str]:
    yield cost_text.describe_scope(new)
    yield from dict.fromkeys((*cost_text.missing_price_lines(new), *cost_text.missing_price_lines(old)))
