"""The JSON of `berth diff` and `berth guard` (docs/diff.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import asdict, replace

from berth.cli.prices import amount_as_json
from berth.cost.fleet import FleetCost, compare_costs
from berth.diff.changes import Changes
from berth.diff.headline import headline
from berth.names import to_camel
from berth.upgrade.as_json import upgrade_as_json

VERSION = 1
"""Version of the JSON output; increased when a key changes its meaning or is removed."""


def changes_as_json(changes: Changes, old: str, new: str) -> dict[str, Any]:
    """Return the changes as JSON values (docs/diff.md); `old` and `new` name the sides."""
    fields = cast("dict[str, Any]", to_json_value(replace(changes, upgrade=None)))
    if changes.upgrade is None:
        del fields["upgrade"]
    else:
        fields["upgrade"] = upgrade_as_json(changes.upgrade)
    fields["rights"] = [
        {**cast("dict[str, Any]", to_json_value(right)), "rank": right.rank.title} for right in changes.rights
    ]
    compared = {"version": VERSION, "old": old, "new": new, "headline": headline(changes)}
    return {**compared, **fields, "guarded": to_json_value(changes.blocked)}


def to_json_value(value: object) -> object:
    """Return a plan as a mapping with camelCase keys, a range as `{min, max}`, a change as `{before, after}`."""
    if isinstance(value, Struct):
        return {to_camel(name): to_json_value(inner) for name, inner in asdict(value).items()}
    if isinstance(value, Mapping):
        return {key: to_json_value(inner) for key, inner in cast("Mapping[str, object]", value).items()}
    if isinstance(value, (list, tuple)):
        return [to_json_value(inner) for inner in cast("list[object]", value)]
    return value


def costs_as_json(old: FleetCost, new: FleetCost) -> dict[str, Any]:
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
