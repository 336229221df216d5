"""What a change costs by the hour, as `berth diff` and the report show it once they are given prices."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from berth.cli.diff.markdown import escaped
from berth.cli.prices import number
from berth.cli.tables import table
from berth.cost import text as words
from berth.cost.changes import TEAM, CostStep, compare_costs
from berth.cost.fleet import Cost
from berth.report.view import Part

_SAME = "It costs the same as before."


def as_json(old: Cost, new: Cost) -> dict[str, Any]:
    """`cost` of the diff's JSON, as docs/cost.md says."""
    return {
        "currency": new.prices.currency,
        "prices": new.prices.file,
        "changes": [
            {
                "kind": step.kind,
                "name": step.name,
                "committed": {"before": number(step.committed[0]), "after": number(step.committed[1])},
                "ceiling": {"before": number(step.ceiling[0]), "after": number(step.ceiling[1])},
            }
            for step in compare_costs(old, new)
        ],
        "unpriced": {"before": list(old.fleet.unpriced), "after": list(new.fleet.unpriced)},
    }


def text(old: Cost, new: Cost) -> str:
    """A table of what costs other than before, and what the figures hold."""
    rows = _rows(old, new)
    told = table([f"Cost, {new.prices.currency} an hour", "committed", "ceiling"], rows, right=(1, 2))
    return "\n\n".join([told or _SAME, "\n".join(_notes(old, new))])


def markdown(old: Cost, new: Cost) -> str:
    """The same for the comment on a pull request; what comes from files is escaped."""
    lines = [f"| {' | '.join(map(escaped, row))} |" for row in _rows(old, new)]
    head = [f"| {new.prices.currency} an hour | committed | ceiling |", "|---|---:|---:|"]
    notes = "\n".join(f"- {escaped(line)}" for line in _notes(old, new))
    return "\n".join([*head, *lines] if lines else [_SAME]) + f"\n\n{notes}\n"


def parts(old: Cost, new: Cost) -> Iterator[Part]:
    """The same as a part of the report's page."""
    head = (f"{new.prices.currency} an hour", "committed", "ceiling")
    yield Part("What it costs, before and after", head, _rows(old, new), (1, 2))


def _rows(old: Cost, new: Cost) -> list[list[str]]:
    return [[_name(step), _step(*step.committed), _step(*step.ceiling)] for step in compare_costs(old, new)]


def _name(step: CostStep) -> str:
    return f"team {step.name}" if step.kind == TEAM else step.name


def _step(before: Fraction | None, after: Fraction | None) -> str:
    one, other = words.money(before), words.money(after)
    return other if before == after else f"{one} → {other}"


def _notes(old: Cost, new: Cost) -> Iterator[str]:
    yield words.scope(new)
    yield from dict.fromkeys((*words.gaps(new), *words.gaps(old)))
