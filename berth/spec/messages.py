"""pydantic's findings in our words: the wrong value in quotes, what is allowed, what to do."""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel

from berth.diagnostics import Path, Problem, near_miss, shown
from berth.spec.base import kind
from berth.spec.fleet import FleetSpec

_EXAMPLES = {
    "ack.clusters": "{<name>: {podCidrBlock: 10.64.0.0/16, nodePools: {…}}}",
    "ack.cpu": "128",
    "ack.gpu": "A100",
    "ack.gpus": "8",
    "ack.instanceType": "ecs.gn7e-c16g1.32xlarge",
    "ack.memory": "1000Gi",
    "ack.network": "{vpc: vpc-bp1x9, vswitches: [vsw-bp1x9]}",
    "ack.nodes": "2",
    "ack.region": "cn-hangzhou",
    "ack.vpc": "vpc-bp1x9",
    "ack.vswitches": "[vsw-bp1x9]",
    "cidrBlock": "203.0.113.0/24",
    "computeClasses.priorities": "[{machineType: g2-standard-24, capacity: spot}]",
    "count": "4",
    "cpu": "{max: 400}",
    "end": '"2027-01-05T00:00:00Z"',
    "flavors": "[{pool: <name>, guaranteed: 8}]",
    "image": "<image>",
    "key": "reserved",
    "machineType": "ct5lp-hightpu-4t",
    "max": "24",
    "memory": "{max: 1600}",
    "name": "<name>",
    "platform": "dev",
    "ports": "[5432]",
    "priorities.value": "10",
    "project": "acme-ml-dev",
    "recurrence": "FREQ=WEEKLY;BYDAY=SA",
    "region": "us-central1",
    "secret": "hf-token",
    "start": '"2026-12-01T00:00:00Z"',
    "queue": "<queue>",
    "team": "<team>",
    "teams": "[<team>]",
    "type": "nvidia-tesla-t4",
    "usageHalfLifeTime": "12h",
    "value": '"true"',
    "zone": "us-central1-a",
}
"""What one might write under a key, or under a key of one section."""


def problem_of(error: Mapping[str, Any], root: type[BaseModel] = FleetSpec) -> Problem:
    """One finding of pydantic's as a fault; `root` is the model of the whole fleet."""
    path: Path = error["loc"]
    if path[1:] and path[-1] == "[key]" and error["input"] == path[-2]:  # the key is at fault, not what stands under it
        path = path[:-1]
    if error["type"] == "berth":
        return Problem("fault", error["ctx"]["code"], path, error["ctx"]["message"])
    if error["type"] == "extra_forbidden":
        return Problem("fault", "unknown-key", path, _unknown_key(error, path, root))
    if (wanted := _COLLECTIONS.get(error["type"])) is not None:
        return Problem("fault", "bad-type", path, _instead(wanted)(error, path) + _remedy(error, path, root))
    code, words = _WORDS.get(error["type"], ("bad-value", _as_it_is))
    return Problem("fault", code, path, words(error, path))


def keys_at(path: Path, root: type[BaseModel] = FleetSpec) -> list[str]:
    """The keys that may stand at `path`, found by walking the models' annotations from `root`."""
    model = _model(_at(path, root))
    return [field.alias or name for name, field in model.model_fields.items()] if model else []


def _at(path: Path, root: type[BaseModel]) -> Any:
    kind: Any = root
    for step in path:
        kind = _step(kind, step)
    return kind


def _step(kind: Any, step: str | int) -> Any:
    if (model := _model(kind)) is not None:
        for name, field in model.model_fields.items():
            if step in (field.alias, name):
                return field.annotation
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is dict:
        return args[1]
    if origin is tuple:
        return args[0]
    inner = [a for a in args if a is not type(None)] if origin else []
    return _step(inner[0], step) if inner else None


def _model(kind: Any) -> type[BaseModel] | None:
    if isinstance(kind, type):
        return kind if issubclass(kind, BaseModel) else None
    if typing.get_origin(kind) in (dict, tuple):
        return None
    return next((m for a in typing.get_args(kind) if (m := _model(a)) is not None), None)


# --- forms ------------------------------------------------------------------------------------------------------------


def _remedy(error: Mapping[str, Any], path: Path, root: type[BaseModel]) -> str:
    """What to write where a list or a mapping is wanted: its form, the one item that is there, or its keys."""
    section = str(path[0])
    if form := _example_form(error, path) or _form(_at(path, root), section):
        return f"; write {form}"
    if isinstance(error["input"], str) and error["input"].split() and _COLLECTIONS[error["type"]] == "a list":
        return f"; write [{shown(', '.join(error['input'].split()))}]"
    keys = keys_at(path, root)
    return f"; its keys are {', '.join(keys)}" if keys else ""


def _example_form(error: Mapping[str, Any], path: Path) -> str:
    """The example of what stands at `path`, or of the list that it is an item of, where it is of the form wanted."""
    example = _example(path[:-1])[1:-1] if isinstance(path[-1], int) else _example(path)
    return example if example.startswith("[{" if _COLLECTIONS[error["type"]] == "a list" else "{") else ""


def _form(kind: Any, section: str) -> str:
    """How a mapping, or a list of them, is written at the least: "" for text and numbers, or where all keys may go."""
    if (model := _model(kind)) is not None:
        required = [field.alias or name for name, field in model.model_fields.items() if field.is_required()]
        return "{" + ", ".join(f"{key}: {_example((section, key))}" for key in required) + "}" if required else ""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is dict:
        return f"{{<name>: {_form(args[1], section) or '…'}}}"
    if origin is tuple:
        return f"[{inner}]" if (inner := _form(args[0], section)) else ""
    inner = [a for a in args if a is not type(None)] if origin else []
    return _form(inner[0], section) if inner else ""


# --- words ------------------------------------------------------------------------------------------------------------

_Words = Callable[[Mapping[str, Any], Path], str]


def _as_it_is(error: Mapping[str, Any], path: Path) -> str:
    return f"'{shown(error['input'])}': {error['msg'].lower()}"


def _unknown_key(error: Mapping[str, Any], path: Path, root: type[BaseModel]) -> str:
    known = keys_at(path[:-1], root)
    hint = near_miss(str(path[-1]), known) or (f"; one of {', '.join(known)}" if known else "; nothing may stand here")
    return f"'{shown(path[-1])}' is no key here{hint}"


def _missing(error: Mapping[str, Any], path: Path) -> str:
    return f"is missing; write {path[-1]}: {_example(path)}"


def _too_short(error: Mapping[str, Any], path: Path) -> str:
    return f"is empty; write at least one, such as {_example(path)}"


def _too_long(error: Mapping[str, Any], path: Path) -> str:
    what = "characters" if isinstance(error["input"], str) else "entries"
    return f"has {len(error['input'])} {what}; the most is {error['ctx']['max_length']}"


def _example(path: Path) -> str:
    return _EXAMPLES.get(f"{path[0]}.{path[-1]}") or _EXAMPLES.get(str(path[-1]), "…")


def _string(error: Mapping[str, Any], path: Path) -> str:
    value: object = error["input"]
    remedies: dict[type, str] = {int: f'; quote it: "{value}"', float: "; quote it as it stands, with every digit"}
    return _instead("text")(error, path) + remedies.get(type(value), "")


def _whole_number(error: Mapping[str, Any], path: Path) -> str:
    value: object = error["input"]
    quoted = isinstance(value, str) and value.isdecimal()
    return _instead("a whole number")(error, path) + (f"; write {value}, without quotes" if quoted else "")


def _instead(wanted: str) -> _Words:
    def words(error: Mapping[str, Any], path: Path) -> str:
        value = error["input"]
        found = "is empty" if value is None else f"'{shown(value)}' is {kind(value)}"
        return f"{found}, but {wanted} is wanted"

    return words


def _literal(error: Mapping[str, Any], path: Path) -> str:
    value = error["input"]
    allowed = [w.strip("'") for w in error["ctx"]["expected"].replace(" or ", ", ").split(", ")]
    found = "is empty" if value is None else f"'{shown(value)}' is not allowed here"
    hint = near_miss(value, allowed) if isinstance(value, str) else ""
    return f"{found}; {'one of ' if len(allowed) > 1 else 'write '}{', '.join(allowed)}{hint}"


def _bound(words: str, key_of_bound: str) -> _Words:
    def say(error: Mapping[str, Any], path: Path) -> str:
        return f"'{shown(error['input'])}' is too {words} {int(error['ctx'][key_of_bound])}"

    return say


_COLLECTIONS = {
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "tuple_type": "a list",
    "list_type": "a list",
}
_WORDS: dict[str, tuple[str, _Words]] = {
    "missing": ("missing-key", _missing),
    "string_type": ("bad-type", _string),
    "int_type": ("bad-type", _whole_number),
    "int_from_float": ("bad-type", _whole_number),
    "float_type": ("bad-type", _instead("a number")),
    "bool_type": ("bad-type", _instead("true or false")),
    "literal_error": ("bad-value", _literal),
    "greater_than_equal": ("bad-value", _bound("small; the least is", "ge")),
    "less_than_equal": ("bad-value", _bound("large; the most is", "le")),
    "too_short": ("missing-key", _too_short),
    "too_long": ("bad-size", _too_long),
    "string_too_long": ("bad-size", _too_long),
    "string_unicode": ("bad-value", lambda error, path: "holds half a character; write it anew"),
}
