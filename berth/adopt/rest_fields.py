"""Map fields of GKE's REST API to keys of the stack file and fields of the plan, by the table rest_fields.yaml."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, cast

from msgspec import Struct, convert, field

from berth import yaml_loader
from berth.adopt.api_objects import ApiObject, value_at
from berth.diff.fields import FieldChange
from berth.diff.provider_inputs.effects import UpdateEffect, effect_of_input, input_rules

_TABLE = pathlib.Path(__file__).with_name("rest_fields.yaml")

NODE_POOL, CLUSTER = "nodePool", "cluster"
_TYPES = {NODE_POOL: "gcp:container/nodePool:NodePool", CLUSTER: "gcp:container/cluster:Cluster"}


class RestField(Struct, frozen=True):
    """A field with a meaning. `standard` rows hold only for Standard clusters."""

    plan: str
    key: str | None = None
    default: object = None
    absent: object = None
    parser: str = field(default="it is", name="as")
    served: tuple[object, ...] = ()
    standard: bool = False


class FixedField(Struct, frozen=True):
    """A value that Berth sets on every cluster or pool, and the effect of that change (update, replace).

    `absent` is what a missing field means; None does not compare a missing field.
    """

    value: object
    does: UpdateEffect
    absent: object = None


class RestFieldTable(Struct, frozen=True):
    """The rows of one kind; `read` and `served` are paths with everything below them."""

    fields: Mapping[str, RestField]
    fixed: Mapping[str, FixedField]
    read_elsewhere: tuple[str, ...]
    server_set: tuple[str, ...]


_PARSERS: Mapping[str, Callable[[Any], object]] = {
    "it is": lambda value: tuple(cast("list[object]", value)) if isinstance(value, list) else value,
    "number": int,
    "seconds": lambda value: int(str(value).removesuffix("s")),
    "lower": lambda value: str(value).lower(),
    "opposite": lambda value: not value,
    "datapath": lambda value: "advanced" if value == "ADVANCED_DATAPATH" else "legacy",
    "gateway": lambda value: value == "CHANNEL_STANDARD",
    "last": lambda value: str(value).rpartition("/")[2],
    "sorted": lambda value: tuple(sorted(value)),
}
"""How a value of the API becomes one of the stack file or the plan."""


@cache
def rest_field_table(kind: str) -> RestFieldTable:
    """Return the table of node pools or of clusters."""
    section = yaml_loader.load_table(_TABLE)[kind]
    fields = {path: _row(kind, row) for path, row in section["said"].items()}
    fixed = {path: convert(row, FixedField) for path, row in section["fixed"].items()}
    return RestFieldTable(fields, fixed, tuple(section["read"]), tuple(section["served"]))


def _row(kind: str, row: Mapping[str, Any]) -> RestField:
    """Return a row of the file; in a node pool, a key without a field of the plan is one of the node settings."""
    key = re.sub(r"(?<=[a-z0-9])[A-Z]", lambda match: f"_{match[0].lower()}", row.get("key", ""))
    return convert({"plan": f"settings.{key}", **row} if kind == NODE_POOL else row, RestField)


def stack_entry(kind: str, resource: ApiObject, *, autopilot: bool = False) -> dict[str, Any]:
    """Return the entry of the stack file, as far as the table goes: nested keys without defaults."""
    entry: dict[str, Any] = {}
    for path, row in rest_field_table(kind).fields.items():
        value = _parsed_value(resource, path, row)
        if row.key is None or value is None or value == row.default or (row.standard and autopilot):
            continue
        *parents, last = row.key.split(".")
        target = entry
        for step in parents:
            target = target.setdefault(step, {})
        target[last] = list(cast("tuple[object, ...]", value)) if isinstance(value, tuple) else value
    return entry


def plan_values(kind: str, resource: ApiObject, *, autopilot: bool = False) -> dict[str, object]:
    """Return field of the plan → its value in the API; fields that are only served are None, as in a plan."""
    rows = rest_field_table(kind).fields.items()
    return {row.plan: _parsed_value(resource, path, row) for path, row in rows if not (row.standard and autopilot)}


_PROVIDER_SPELLING = {"config.": "nodeConfig.", "maxPodsConstraint.": "", "networkConfig.datapath": "datapath"}
"""Where a path in GKE's API begins otherwise than the provider's."""


def effect_of_field(kind: str, field: str, before: object, after: object) -> UpdateEffect:
    """Return what the change of a field of the plan does to its resource."""
    path = next(path for path, row in rest_field_table(kind).fields.items() if row.plan == field)
    for start, spelling in _PROVIDER_SPELLING.items():
        path = spelling + path.removeprefix(start) if path.startswith(start) else path
    return effect_of_input(input_rules(_TYPES[kind]), FieldChange(path, before, after))


def unsupported_fields(kind: str, resource: ApiObject) -> Iterator[tuple[str, object]]:
    """Yield path and value of every field that no row covers, or that Berth would set differently."""
    known = rest_field_table(kind)
    for path, value in leaf_values(resource):
        if path in known.fields or _is_below(path, known.read_elsewhere) or _is_below(path, known.server_set):
            continue
        if (fixed := known.fixed.get(path)) is not None and _is_same(fixed.value, value):
            continue
        yield path, value
    for path, fixed in known.fixed.items():
        if fixed.absent is not None and not value_at(resource, path):
            yield path, fixed.absent


def _is_same(fixed: object, value: object) -> bool:
    """Return whether two values are equal; lists in any order."""
    if isinstance(fixed, list) and isinstance(value, list):
        return sorted(cast("list[str]", fixed)) == sorted(cast("list[str]", value))
    return fixed == value


def fixed_field(kind: str, path: str) -> FixedField | None:
    """Return the value that Berth always sets on a field; None if it sets none."""
    return rest_field_table(kind).fixed.get(path)


def leaf_values(nested: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield every path that has a value other than a mapping; empty values are skipped."""
    for key, value in nested.items():
        path = f"{prefix}.{key}" if prefix else key
        if isinstance(value, Mapping):
            yield from leaf_values(cast("Mapping[str, Any]", value), path)
        elif value not in (None, "", [], False, 0):
            yield path, value


def _parsed_value(resource: ApiObject, path: str, row: RestField) -> object:
    raw = value_at(resource, path)
    if raw is None or raw == "":
        return row.absent
    value = _PARSERS[row.parser](raw)
    return None if value in row.served else value


def _is_below(path: str, prefixes: tuple[str, ...]) -> bool:
    return any(path == each or path.startswith(f"{each}.") for each in prefixes)
