"""Map fields of GKE's REST API to keys of the stack file and inputs of the provider, by the table rest_fields.yaml."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Any, Final, cast, get_args

from msgspec import Struct, convert, field
from msgspec.structs import replace

from berth import yaml_loader
from berth.adopt.api_objects import ApiObject, value_at
from berth.diff.fields import FieldChange
from berth.diff.provider_inputs.effects import input_rules
from berth.names import to_snake
from berth.spec.machines.node_system import KubeletSpec, NodeSystemSpec
from berth.spec.machines.pools import NodeSettings
from berth.spec.model import Model

_TABLE = pathlib.Path(__file__).with_name("rest_fields.yaml")

NODE_POOL, CLUSTER = "nodePool", "cluster"
_TYPES = {NODE_POOL: "gcp:container/nodePool:NodePool", CLUSTER: "gcp:container/cluster:Cluster"}

SAME_NAMES: Final[Mapping[str, tuple[tuple[str, str, type[Model]], ...]]] = {
    CLUSTER: (),
    NODE_POOL: (
        ("", "config.", NodeSettings),
        ("nodeSystemConfig.", "config.linuxNodeConfig.", NodeSystemSpec),
        ("nodeSystemConfig.kubelet.", "config.kubeletConfig.", KubeletSpec),
    ),
}
"""Sections of the stack file whose keys GKE calls the same: start of their keys, start of the fields, and schema."""


class RestField(Struct, frozen=True):
    """A field with a meaning. `standard` rows hold only for Standard clusters."""

    word: str = ""
    key: str | None = None
    default: object = None
    absent: object = None
    unset: object = None
    parser: str = field(default="it is", name="as")
    served: tuple[object, ...] = ()
    standard: bool = False


class RestFieldTable(Struct, frozen=True):
    """The rows of one kind; `read` and `served` are paths with everything below them, `code` are keys."""

    inputs: Mapping[str, str]
    code: frozenset[str]
    said: Mapping[str, RestField]
    missing: Mapping[str, object]
    read: tuple[str, ...]
    served: tuple[str, ...]


_PARSERS: Mapping[str, Callable[[Any], object]] = {
    "it is": lambda value: value,
    "number": int,
    "seconds": lambda value: int(str(value).removesuffix("s")),
    "lower": lambda value: str(value).lower(),
    "upper": lambda value: str(value).upper(),
    "opposite": lambda value: not value,
    "switch": lambda value: str(value).lower() == "true",
    "datapath": lambda value: "advanced" if value == "ADVANCED_DATAPATH" else "legacy",
    "gateway": lambda value: value == "CHANNEL_STANDARD",
    "last": lambda value: str(value).rpartition("/")[2],
}
"""How a value of the API or of an input becomes one of the stack file; `word` is read with the name of its field."""


@cache
def rest_field_table(kind: str) -> RestFieldTable:
    """Return the table of node pools or of clusters, with a row for each key that GKE calls the same."""
    table = convert(yaml_loader.load_table(_TABLE)[kind], RestFieldTable)
    known = {*table.code, *(row.key for row in table.said.values())}
    said = dict(table.said)
    for start, block, model in SAME_NAMES[kind]:
        for key_field in model.model_fields.values():
            if (key := start + key_field.alias) not in known:
                is_number = int in (key_field.annotation, *get_args(key_field.annotation))
                parser = "number" if is_number else "it is"
                said[block + key_field.alias] = RestField(key=key, default=key_field.get_default(), parser=parser)
    return replace(table, said=said)


def stack_entry(kind: str, resource: ApiObject, *, autopilot: bool = False) -> dict[str, Any]:
    """Return the entry of the stack file, as far as the table goes: nested keys without defaults."""
    entry: dict[str, Any] = {}
    for path, row in rest_field_table(kind).said.items():
        value = _answer(resource, path, row)
        if (
            row.key is None
            or value is None
            or _in_order(value) == _in_order(row.default)
            or (row.standard and autopilot)
        ):
            continue
        *parents, last = row.key.split(".")
        target = entry
        for step in parents:
            target = target.setdefault(step, {})
        target[last] = list(cast("tuple[object, ...]", value)) if isinstance(value, tuple) else value
    return entry


@lru_cache(maxsize=4096)
def input_path(kind: str, path: str) -> str:
    """Return the path of the provider's input for a field."""
    starts = [each for each in rest_field_table(kind).inputs if path == each or path.startswith(f"{each}.")]
    start = max(starts, key=len, default="")
    return rest_field_table(kind).inputs[start] + path[len(start) :] if start else path


def changed_fields(kind: str, resource: ApiObject, inputs: Mapping[str, Any]) -> Iterator[tuple[str, FieldChange]]:
    """Yield what people call each field with a row, and the change of its input, if what is registered differs.

    An input that is not registered changes nothing if the provider then keeps the value.
    """
    autopilot = bool(value_at(resource, "autopilot.enabled"))
    for path, row in rest_field_table(kind).said.items():
        place = input_path(kind, path)
        registered, before = value_at(inputs, place), _in_order(_answer(resource, path, row))
        if registered is not None:
            after = _in_order(_parsed(registered, path, row))
        else:
            after = None if is_kept(kind, place) else row.absent if row.unset is None else row.unset
        is_compared = after is not None and (before or after) and not (row.standard and autopilot)
        if is_compared and str(before).casefold() != str(after).casefold():
            yield row.word or to_snake(str(row.key)), FieldChange(place, before, after)


def is_kept(kind: str, place: str) -> bool:
    """Return whether the provider keeps an input that is no longer set, or a block around it."""
    rules, steps = input_rules(_TYPES[kind]), place.split(".")
    blocks = (rules.get(".".join(steps[:end])) for end in range(1, len(steps) + 1))
    return any(rule is not None and rule.kept for rule in blocks)


def other_fields(kind: str, resource: ApiObject, inputs: Mapping[str, Any]) -> Iterator[tuple[str, FieldChange]]:
    """Yield the path of every field without a row, and the change of its input; to None if nothing is registered.

    Left out are fields that are registered as they are.
    """
    table = rest_field_table(kind)
    known = frozenset((*table.said, *table.read, *table.served))
    answers = {path: value for path, value in leaf_values(resource) if not _is_below(path, known)}
    for path, before in {**answers, **{path: answers.get(path, off) for path, off in table.missing.items()}}.items():
        registered = value_at(inputs, input_path(kind, path))
        after = table.missing.get(path) if registered is None else registered
        if _in_order(after) != _in_order(before):
            yield path, FieldChange(input_path(kind, path), before, after)


def _in_order(value: object) -> object:
    return tuple(sorted(cast("list[object]", value), key=str)) if isinstance(value, (list, tuple)) else value


def leaf_values(nested: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield every path that has a value other than a mapping; empty values are skipped."""
    for key, value in nested.items():
        path = f"{prefix}.{key}" if prefix else key
        if isinstance(value, Mapping):
            yield from leaf_values(cast("Mapping[str, Any]", value), path)
        elif value not in (None, "", [], False, 0):
            yield path, value


def _answer(resource: ApiObject, path: str, row: RestField) -> object:
    raw = value_at(resource, path)
    if raw is None or raw == "":
        return row.absent
    value = _parsed(raw, path, row)
    return None if value in row.served else value


def _parsed(raw: object, path: str, row: RestField) -> object:
    """Return a value as the stack file has it; a word of the kernel is an enum that starts with its field's name."""
    if isinstance(raw, list):
        return tuple(each for each in cast("list[object]", raw) if each not in row.served)
    if row.parser != "word":
        return _PARSERS[row.parser](raw)
    word = str(raw).removeprefix(f"{to_snake(path.rpartition('.')[2]).upper()}_")
    return None if word in (raw, "UNSPECIFIED") else word.lower().replace("_", "-")


def _is_below(path: str, known: frozenset[str]) -> bool:
    """Return whether a path or one above it is known."""
    while path not in known:
        path, dot, _ = path.rpartition(".")
        if not dot:
            return False
    return True
