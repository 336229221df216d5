"""Translate pydantic's errors: the wrong value in quotes, what is allowed, what to write."""

from __future__ import annotations

import re
import typing
from collections.abc import Callable, Mapping
from typing import Any, cast

from berth.diagnostics import FieldPath, Problem, Severity, did_you_mean, format_value
from berth.diagnostics.hints import foreign_key_hint, with_written
from berth.spec.ack import AckFleetSpec
from berth.spec.base import Text, text_rule, yaml_type
from berth.spec.fleet import FleetSpec
from berth.spec.model import Model

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
"""Key, or section and key → the example that messages propose."""

_NAMED = {"priority": "the name of a priority", "cohort": "the name of a cohort", "pool": "the name of a pool"}
_REASONS = ("allowReplacement", "allowDeletion", "allowChange")


def to_problem(error: Mapping[str, Any], root: type[Model] = FleetSpec) -> Problem:
    """Return one pydantic error as a fault; `root` is the model of the whole fleet."""
    path: FieldPath = error["loc"]
    if path[1:] and path[-1] == "[key]" and error["input"] == path[-2]:  # the key is wrong, not its value
        path = path[:-1]
    if error["type"] == "berth":
        return Problem(Severity.FAULT, error["ctx"]["code"], path, error["ctx"]["message"])
    if error["type"] == "extra_forbidden":
        return Problem(Severity.FAULT, "unknown-key", path, _unknown_key(error, path, root))
    if error["type"] == "string_type":
        return Problem(Severity.FAULT, "bad-type", path, _not_a_string(error, path, root))
    if (expected := _COLLECTION_NOUNS.get(error["type"])) is not None:
        return Problem(
            Severity.FAULT, "bad-type", path, _wrong_type(expected)(error, path) + _remedy(error, path, root)
        )
    code, message = _MESSAGES.get(error["type"], ("bad-value", _original_message))
    return Problem(Severity.FAULT, code, path, message(error, path))


def allowed_keys(path: FieldPath, root: type[Model] = FleetSpec) -> list[str]:
    """Return the keys that are allowed at `path`, found by walking the models' annotations from `root`."""
    model = _model_of(_annotation_at(path, root))
    return [field.alias or name for name, field in model.model_fields.items()] if model else []


def _annotation_at(path: FieldPath, root: type[Model]) -> Any:
    annotation: Any = root
    for step in path:
        annotation = _child_annotation(annotation, step)
    return annotation


def _child_annotation(annotation: Any, step: str | int) -> Any:
    if (model := _model_of(annotation)) is not None:
        for name, field in model.model_fields.items():
            if step in (field.alias, name):
                return field.annotation
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is dict:
        return args[1]
    if origin is tuple:
        return args[0]
    alternatives = [argument for argument in args if argument is not type(None)] if origin else []
    return _child_annotation(alternatives[0], step) if alternatives else None


def _model_of(annotation: Any) -> type[Model] | None:
    if isinstance(annotation, type):
        return annotation if issubclass(annotation, Model) else None
    if typing.get_origin(annotation) in (dict, tuple):
        return None
    return next((model for argument in typing.get_args(annotation) if (model := _model_of(argument)) is not None), None)


# --- forms ------------------------------------------------------------------------------------------------------------


def _remedy(error: Mapping[str, Any], path: FieldPath, root: type[Model]) -> str:
    """Return what to write where a list or a mapping is required: an example, the single item, or the keys."""
    section = str(path[0])
    if form := _named_entries(error, _annotation_at(path, root), section):
        return f"; write {form}"
    if form := _example_form(error, path) or _minimal_form(_annotation_at(path, root), section):
        return f"; write {with_written(error['input'], form)}"
    if isinstance(error["input"], str) and error["input"].split() and _COLLECTION_NOUNS[error["type"]] == "a list":
        return f"; write [{format_value(', '.join(error['input'].split()))}]"
    keys = allowed_keys(path, root)
    return f"; its keys are {', '.join(keys)}" if keys else ""


def _example_form(error: Mapping[str, Any], path: FieldPath) -> str:
    """Return the example for `path`, or for the list that contains it, if the example has the required type."""
    example = _example(path[:-1])[1:-1] if isinstance(path[-1], int) else _example(path)
    return example if example.startswith("[{" if _COLLECTION_NOUNS[error["type"]] == "a list" else "{") else ""


def _named_entries(error: Mapping[str, Any], annotation: Any, section: str) -> str:
    """Return a list of names, or of `key=value`, as the mapping that is required; "" for anything else."""
    items: object = error["input"] if _COLLECTION_NOUNS[error["type"]] == "a mapping" else None
    if (
        not isinstance(items, list)
        or not items
        or not all(isinstance(item, str) for item in cast("list[object]", items))
    ):
        return ""
    pairs = [item.partition("=") for item in cast("list[str]", items)]
    entry = _minimal_form(annotation, section).removeprefix("{<name>: ").removesuffix("}") or "…"
    return "{" + ", ".join(f"{key}: {value or entry}" for key, _, value in pairs) + "}"


def _minimal_form(annotation: Any, section: str) -> str:
    """Return the shortest valid form of a mapping or a list of mappings; "" for scalars, or if no key is required."""
    if (model := _model_of(annotation)) is not None:
        required = [field.alias or name for name, field in model.model_fields.items() if field.is_required()]
        return "{" + ", ".join(f"{key}: {_example((section, key))}" for key in required) + "}" if required else ""
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is dict:
        return f"{{<name>: {_minimal_form(args[1], section) or '…'}}}"
    if origin is tuple:
        return f"[{inner}]" if (inner := _minimal_form(args[0], section)) else ""
    inner = [argument for argument in args if argument is not type(None)] if origin else []
    return _minimal_form(inner[0], section) if inner else ""


# --- messages ---------------------------------------------------------------------------------------------------------

_MessageBuilder = Callable[[Mapping[str, Any], FieldPath], str]


def _original_message(error: Mapping[str, Any], path: FieldPath) -> str:
    return f"'{format_value(error['input'])}': {error['msg'].lower()}"


def _unknown_key(error: Mapping[str, Any], path: FieldPath, root: type[Model]) -> str:
    known = allowed_keys(path[:-1], root)
    if root is AckFleetSpec and str(path[-1]) in _google_keys(path) - {"machineType"}:
        return f"'{path[-1]}' is not a key of an ACK stack; remove {path[-1]}"
    guess = did_you_mean(str(path[-1]), [key for key in known if (path[-1], key) != ("gpu", "cpu")])
    hint = foreign_key_hint(str(path[-1]), known) or guess
    hint = hint or (f"; write one of {', '.join(known)}" if known else "; no key is allowed here")
    return f"unknown key '{format_value(path[-1])}'{hint}"


def _google_keys(path: FieldPath) -> set[str]:
    """Return the keys at the same place of a stack on Google Cloud."""
    place: FieldPath = ("pools", "") if path[-3:-2] == ("nodePools",) else path[:-1]
    return set(allowed_keys(place))


def _missing(error: Mapping[str, Any], path: FieldPath) -> str:
    return f"is missing; write {path[-1]}: {_example(path)}"


def _too_short(error: Mapping[str, Any], path: FieldPath) -> str:
    return f"is empty; write at least one, such as {_example(path)}"


def _too_long(error: Mapping[str, Any], path: FieldPath) -> str:
    noun = "characters" if isinstance(error["input"], str) else "entries"
    return f"has {len(error['input'])} {noun}; the maximum is {error['ctx']['max_length']}"


def _example(path: FieldPath) -> str:
    return _EXAMPLES.get(f"{path[0]}.{path[-1]}") or _EXAMPLES.get(str(path[-1]), "…")


def _not_a_string(error: Mapping[str, Any], path: FieldPath, root: type[Model]) -> str:
    expected, remedy = _expected_text(error["input"], path, text_rule(_full_annotation_at(path, root)))
    return _wrong_type(expected)(error, path) + remedy


def _expected_text(value: object, path: FieldPath, rule: Text | None) -> tuple[str, str]:
    """Return what a value of another type must be, and what to write."""
    if path[0] in _REASONS:
        return "text", "; write the reason"
    if path[-1] in _NAMED:
        return _NAMED[str(path[-1])], ""
    quoted = str(value).lower() if isinstance(value, bool) else str(value)
    if rule is not None and (isinstance(value, (list, dict)) or not rule.matches(quoted)):
        return rule.what, ""
    if isinstance(value, float):
        return "text", "; put quotes around it, and keep every digit"
    return "text", f'; quote it: "{quoted}"' if isinstance(value, int) else ""


def _full_annotation_at(path: FieldPath, root: type[Model]) -> Any:
    """Return the type of the key at a path with its metadata; without it for an item or an entry."""
    model = _model_of(_annotation_at(path[:-1], root))
    fields = model.model_fields.values() if model else ()
    return next((field.full_annotation for field in fields if field.alias == path[-1]), None)


def _whole_number(error: Mapping[str, Any], path: FieldPath) -> str:
    value: object = error["input"]
    number = re.match(r"\d+(?!\S)", value) if isinstance(value, str) else None
    quotes = ", without quotes" if number and number[0] == value else ""
    return _wrong_type("a whole number")(error, path) + (f"; write {number[0]}{quotes}" if number else "")


def _not_a_boolean(error: Mapping[str, Any], path: FieldPath) -> str:
    value: object = error["input"]
    word = _BOOLEAN_WORDS.get(str(value).lower(), "")
    remedy = f"; write {word}, without quotes" if isinstance(value, str) else f"; write {word}"
    return _wrong_type("true or false")(error, path) + (remedy if word else "")


def _wrong_type(expected: str) -> _MessageBuilder:
    def build(error: Mapping[str, Any], path: FieldPath) -> str:
        value = error["input"]
        subject = "is empty" if value is None else f"'{format_value(value)}' is {yaml_type(value)}"
        return f"{subject}, but must be {expected}"

    return build


def _not_in_literal(error: Mapping[str, Any], path: FieldPath) -> str:
    value = error["input"]
    allowed = [option.strip("'") for option in error["ctx"]["expected"].replace(" or ", ", ").split(", ")]
    subject = "is empty" if value is None else f"'{format_value(value)}' is not allowed"
    hint = did_you_mean(value, allowed) if isinstance(value, str) else ""
    return f"{subject}; write {'one of ' if len(allowed) > 1 else ''}{', '.join(allowed)}{hint}"


def _out_of_bounds(comparison: str, key_of_bound: str) -> _MessageBuilder:
    def build(error: Mapping[str, Any], path: FieldPath) -> str:
        return f"'{format_value(error['input'])}' is too {comparison} {int(error['ctx'][key_of_bound])}"

    return build


_BOOLEAN_WORDS = {
    **dict.fromkeys(("true", "yes", "on", "1"), "true"),
    **dict.fromkeys(("false", "no", "off", "0"), "false"),
}
"""Common ways to write a boolean, in lower case → the boolean."""
_COLLECTION_NOUNS = {
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "tuple_type": "a list",
    "list_type": "a list",
}
_MESSAGES: dict[str, tuple[str, _MessageBuilder]] = {
    "missing": ("missing-key", _missing),
    "int_type": ("bad-type", _whole_number),
    "int_from_float": ("bad-type", _whole_number),
    "float_type": ("bad-type", _wrong_type("a number")),
    "bool_type": ("bad-type", _not_a_boolean),
    "literal_error": ("bad-value", _not_in_literal),
    "greater_than_equal": ("bad-value", _out_of_bounds("small; the minimum is", "ge")),
    "less_than_equal": ("bad-value", _out_of_bounds("large; the maximum is", "le")),
    "too_short": ("missing-key", _too_short),
    "too_long": ("bad-size", _too_long),
    "string_too_long": ("bad-size", _too_long),
    "string_unicode": ("bad-value", lambda error, path: "contains an invalid Unicode character; write it again"),
}
