"""From values to a spec: may this be asked for? Every fault at once, in our words.

An entry that cannot be understood (one pool, one team …) is reported and set aside, so that the rest of the fleet can
still be planned and its faults be found in the same run.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from stacks.problems import Path, Problem, Problems, near_miss
from stacks.spec.fleet import FleetSpec

_ENTRIES = ("pools", "reservations", "flavors", "priorities", "cohorts", "teams", "clusterQueues")
"""Sections whose entries can be set aside one by one."""

_EXAMPLES = {
    "project": "acme-ml-dev",
    "region": "us-central1",
    "machineType": "ct5lp-hightpu-4t",
    "zone": "us-central1-a",
    "flavors": "[{pool: <name>, guaranteed: 8}]",
    "max": "24",
}


@dataclass(frozen=True, slots=True)
class Parsed:
    """What could be understood. `spec` is None when the fleet as a whole could not be.

    `set_aside` holds `(section, name)` of the entries left out: referring to them is not a second fault.
    """

    spec: FleetSpec | None
    problems: tuple[Problem, ...]
    set_aside: frozenset[tuple[str, str]]


def parse(value: object) -> Parsed:
    """Parse the value of `berth:fleet`. Raises nothing: what is wrong is in `problems`."""
    if not isinstance(value, dict):
        return Parsed(None, (Problem("fault", "bad-type", (), "berth:fleet must be a mapping"),), frozenset())
    fleet = cast("dict[str, Any]", value)
    try:
        return Parsed(FleetSpec.model_validate(fleet), (), frozenset())
    except ValidationError as error:
        return _without_the_faulty(fleet, error)


def _without_the_faulty(fleet: dict[str, Any], error: ValidationError) -> Parsed:
    errors = [cast("Mapping[str, Any]", e) for e in error.errors(include_url=False)]
    problems = tuple(_problem(e) for e in errors if not _follows_from_another(e))
    faulty = frozenset((str(p.path[0]), str(p.path[1])) for p in problems if _in_entry(p.path))
    if not all(_in_entry(p.path) for p in problems):
        return Parsed(None, problems, faulty)
    rest = {
        section: {k: v for k, v in entries.items() if (section, k) not in faulty} if section in _ENTRIES else entries
        for section, entries in fleet.items()
    }
    return Parsed(FleetSpec.model_validate(rest), problems, faulty)


def _follows_from_another(error: Mapping[str, Any]) -> bool:
    """A list whose every item is faulty counts as too short, though the person did write items."""
    return error["type"] == "too_short" and bool(error["input"])


def _in_entry(path: Path) -> bool:
    return len(path) >= 2 and path[0] in _ENTRIES


def _problem(error: Mapping[str, Any]) -> Problem:
    path = tuple(step for step in error["loc"] if step != "[key]")
    found = Problems()
    if error["type"] == "berth":
        found.fault(error["ctx"]["code"], path, error["ctx"]["message"])
    elif error["type"] == "extra_forbidden":
        found.fault("unknown-key", path, _unknown_key(path))
    else:
        code, words = _WORDS.get(error["type"], ("bad-value", _as_it_is))
        found.fault(code, path, words(error, str(path[-1]) if path else ""))
    return found.found[0]


def _unknown_key(path: Path) -> str:
    known = _keys_at(path[:-1])
    hint = near_miss(str(path[-1]), known)
    return f"'{path[-1]}' is no key here{hint or '; one of ' + ', '.join(known)}"


def _keys_at(path: Path) -> list[str]:
    """The keys that may stand at `path`, found by walking the models' annotations."""
    kind: Any = FleetSpec
    for step in path:
        kind = _step(kind, step)
    model = _model(kind)
    return [field.alias or name for name, field in model.model_fields.items()] if model else []


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


# --- words for pydantic's findings ------------------------------------------------------------------------------------

_Words = Callable[[Mapping[str, Any], str], str]


def _as_it_is(error: Mapping[str, Any], key: str) -> str:
    return f"'{_shown(error['input'])}': {error['msg'].lower()}"


def _missing(error: Mapping[str, Any], key: str) -> str:
    return f"is missing; write {key}: {_EXAMPLES.get(key, '…')}"


def _string(error: Mapping[str, Any], key: str) -> str:
    value = error["input"]
    remedy = f'; quote it: "{value}"' if isinstance(value, int | float) and not isinstance(value, bool) else ""
    return f"'{_shown(value)}' is {_kind(value)}, but text is wanted{remedy}"


def _wanted(what: str) -> _Words:
    def words(error: Mapping[str, Any], key: str) -> str:
        return f"'{_shown(error['input'])}' is {_kind(error['input'])}, but {what} is wanted"

    return words


def _literal(error: Mapping[str, Any], key: str) -> str:
    allowed = [w.strip("'") for w in error["ctx"]["expected"].replace(" or ", ", ").split(", ")]
    hint = near_miss(str(error["input"]), allowed)
    return f"'{_shown(error['input'])}' is not allowed here; one of {', '.join(allowed)}{hint}"


def _bound(words: str, key_of_bound: str) -> _Words:
    def say(error: Mapping[str, Any], key: str) -> str:
        return f"'{error['input']}' is too {words} {error['ctx'][key_of_bound]}"

    return say


def _too_short(error: Mapping[str, Any], key: str) -> str:
    return f"is empty; write at least one, such as {_EXAMPLES.get(key, '…')}"


def _shown(value: object) -> str:
    text = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _kind(value: object) -> str:
    kinds: dict[type, str] = {
        bool: "true or false", int: "a number", float: "a number", str: "text",
        dict: "a mapping", list: "a list", type(None): "nothing",
    }  # fmt: skip
    return kinds.get(type(value), "of another type")


_MAPPING = ("bad-type", _wanted("a mapping"))
_LIST = ("bad-type", _wanted("a list"))
_WORDS: dict[str, tuple[str, _Words]] = {
    "missing": ("missing-key", _missing),
    "string_type": ("bad-type", _string),
    "int_type": ("bad-type", _wanted("a whole number")),
    "int_from_float": ("bad-type", _wanted("a whole number")),
    "float_type": ("bad-type", _wanted("a number")),
    "bool_type": ("bad-type", _wanted("true or false")),
    "dict_type": _MAPPING,
    "model_type": _MAPPING,
    "model_attributes_type": _MAPPING,
    "tuple_type": _LIST,
    "list_type": _LIST,
    "literal_error": ("bad-value", _literal),
    "greater_than_equal": ("bad-value", _bound("small; the least is", "ge")),
    "less_than_equal": ("bad-value", _bound("large; the most is", "le")),
    "too_short": ("missing-key", _too_short),
}
