"""The result of a verification as a document and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from berth.clock import as_of
from berth.document import Block, Heading, Lines, Table
from berth.plan.fleet import FleetPlan
from berth.text import abbreviate_names, pluralize
from berth.verify.findings import LiveDifference, Verification

_NONE = "no such"
VERSION = 1
"""Version of the JSON output; increased when a key changes its meaning or is removed."""


def verification_document(plan: FleetPlan, result: Verification) -> Iterator[Block]:
    """Yield the answer in one line, the differences with what they mean, and what the cluster taught."""
    cluster = f"cluster {plan.cluster.name}"
    if not result.compared:
        yield Heading(f"nothing of {plan.stack} was found in {cluster}")
    elif result.differences:
        yield Heading(f"{cluster} differs from {plan.stack}: {pluralize(len(result.differences), 'difference')}")
    else:
        yield Heading(f"{cluster} is as {plan.stack} predicts")
    yield Lines("Differences", list(_lines(result)), whole=True)
    rows = [[each.subject, each.what, _values(each.values)] for each in result.learned]
    yield Table("Unknown until now", ("of", "what", "in the cluster"), rows, once=(0,), folded=True)
    yield Lines("Rows for Berth's tables", list(dict.fromkeys(each.row for each in result.learned)), folded=True)
    yield Lines("Compared", list(result.compared))
    yield Lines("Not compared", list(result.not_compared), whole=True)
    yield Lines(
        "In the cluster, but not in the stack file", [abbreviate_names(list(result.others))] * bool(result.others)
    )


def _lines(result: Verification) -> Iterator[tuple[str, ...]]:
    for each in result.differences:
        on = f" on {_nodes(each)}" if each.objects else ""
        yield f"{each.subject}: {_difference(each)}{on}", each.meaning


def _difference(each: LiveDifference) -> str:
    if each.live.startswith(_NONE):
        return "it is missing" if each.what == "object" else f"{each.what} is missing instead of {each.predicted}"
    if each.predicted.startswith(_NONE):
        return f"{each.what} is {each.live}, and the stack file has none"
    return f"{each.what} is {each.live} instead of {each.predicted}"


def _nodes(difference: LiveDifference) -> str:
    names = difference.objects
    return names[0] if len(names) == 1 else f"{len(names)} nodes, such as {names[0]}"


def _values(values: tuple[str, ...]) -> str:
    return values[0] if len(values) == 1 else f"{len(values)} values: {abbreviate_names(list(values))}"


def verification_as_json(plan: FleetPlan, result: Verification) -> dict[str, Any]:
    """Return the result as JSON values (docs/verify.md)."""
    return {
        "version": VERSION,
        "stack": plan.stack,
        "cluster": plan.cluster.name,
        "asOf": str(as_of()),
        "differences": [
            {
                "subject": each.subject,
                "what": each.what,
                "predicted": each.predicted,
                "live": each.live,
                "meaning": each.meaning,
                "nodes": list(each.objects),
            }
            for each in result.differences
        ],
        "learned": [
            {"subject": each.subject, "what": each.what, "values": list(each.values), "row": each.row}
            for each in result.learned
        ],
        "compared": list(result.compared),
        "notCompared": list(result.not_compared),
        "others": list(result.others),
    }
