"""GKE's REST fields, read by the table rest_fields.yaml: keys of the stack file, fields of the plan, and what is left over."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, cast

import yaml
from msgspec import Struct

from berth.adopt.inventory import Answer, at

_TABLE = pathlib.Path(__file__).with_name("rest_fields.yaml")
_UNSAID = object()

NODE_POOL, CLUSTER = "nodePool", "cluster"


class Row(Struct, frozen=True):
    """A field with a meaning. `standard` rows hold for Standard clusters alone."""

    plan: str
    key: str | None = None
    default: object = None
    absent: object = None
    as_: str = "it is"
    served: tuple[object, ...] = ()
    standard: bool = False


class Fixed(Struct, frozen=True):
    """A value that Berth gives to every cluster or pool, and what that change does to one (update, replace)."""

    value: object
    does: str


class Table(Struct, frozen=True):
    """The rows of one kind; `read` and `served` are paths with all below them."""

    said: Mapping[str, Row]
    fixed: Mapping[str, Fixed]
    read: tuple[str, ...]
    served: tuple[str, ...]


_READ: Mapping[str, Callable[[Any], object]] = {
    "it is": lambda value: tuple(cast("list[object]", value)) if isinstance(value, list) else value,
    "number": int,
    "seconds": lambda value: int(str(value).removesuffix("s")),
    "lower": lambda value: str(value).lower(),
    "opposite": lambda value: not value,
    "gateway": lambda value: value == "CHANNEL_STANDARD",
    "last": lambda value: str(value).rpartition("/")[2],
    "sorted": lambda value: tuple(sorted(value)),
}
"""How a value of the API is read as one of the stack file or the plan."""


@cache
def table(kind: str) -> Table:
    """The table of node pools or of clusters."""
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found = yaml.load(_TABLE.read_text(encoding="utf-8"), loader)[kind]  # a safe loader, the faster one
    said = {path: _row(**row) for path, row in found["said"].items()}
    fixed = {path: Fixed(**row) for path, row in found["fixed"].items()}
    return Table(said, fixed, tuple(found["read"]), tuple(found["served"]))


def _row(served: Sequence[object] = (), **fields: Any) -> Row:
    """A row of the file, where `as` is a word of Python's."""
    return Row(served=tuple(served), as_=fields.pop("as", "it is"), **fields)


def keys(kind: str, one: Answer, *, autopilot: bool = False) -> dict[str, Any]:
    """The entry of the stack file, as far as the table goes: nested keys, none at its default."""
    entry: dict[str, Any] = {}
    for path, row in table(kind).said.items():
        value = _value(one, path, row)
        if row.key is None or value is None or value == row.default or (row.standard and autopilot):
            continue
        *above, last = row.key.split(".")
        place = entry
        for step in above:
            place = place.setdefault(step, {})
        place[last] = list(cast("tuple[object, ...]", value)) if isinstance(value, tuple) else value
    return entry


def observed(kind: str, one: Answer, *, autopilot: bool = False) -> dict[str, object]:
    """Field of the plan → its value as the API has it; what is only served is None, as in a plan."""
    rows = table(kind).said.items()
    return {row.plan: _value(one, path, row) for path, row in rows if not (row.standard and autopilot)}


def unsaid(kind: str, one: Answer) -> Iterator[tuple[str, object]]:
    """Path and value of every field that nothing here speaks of, or that Berth would set otherwise."""
    known = table(kind)
    for path, value in leaves(one):
        if path in known.said or _within(path, known.read) or _within(path, known.served):
            continue
        if (fixed := known.fixed.get(path)) is not None and fixed.value == value:
            continue
        yield path, value


def wanted(kind: str, path: str) -> Fixed | None:
    """What Berth always makes of a field; None where it says nothing of it."""
    return table(kind).fixed.get(path)


def leaves(one: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, object]]:
    """Every path that has a value other than a mapping; empty ones say nothing."""
    for key, value in one.items():
        path = f"{above}.{key}" if above else key
        if isinstance(value, Mapping):
            yield from leaves(cast("Mapping[str, Any]", value), path)
        elif value not in (None, "", [], False, 0):
            yield path, value


def _value(one: Answer, path: str, row: Row) -> object:
    found = at(one, path)
    if found is None or found == "":
        return row.absent
    value = _READ[row.as_](found)
    return None if value in row.served else value


def _within(path: str, above: tuple[str, ...]) -> bool:
    return any(path == each or path.startswith(f"{each}.") for each in above)
