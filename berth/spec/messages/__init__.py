"""Translate pydantic's errors: the wrong value in quotes, what is allowed, what to write."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from difflib import SequenceMatcher
from typing import Any, cast

from berth.diagnostics import FieldPath, Problem, Severity, did_you_mean, format_value, join_words
from berth.diagnostics.hints import foreign_key_hint, names_in_path
from berth.spec.base import EMPTY_TEXT, Text, text_rule, yaml_type
from berth.spec.core import NOT_SEEN
from berth.spec.fleet import AnyFleetSpec, FleetSpec
from berth.spec.messages.examples import example
from berth.spec.messages.forms import (
    COLLECTION_NOUNS,
    MAX_KEYS,
    REASONS,
    allowed_keys,
    annotation_at,
    collection_remedy,
    home_of,
    model_of,
)
from berth.spec.model import Model

__all__ = ["allowed_keys", "to_problem"]

_NEAREST = 5

_SHARED = {"network", "subnetwork", "reservation"}
"""Resources that another project can share."""
_RESOURCES = _SHARED | {"cluster", "zone", "region", "machineType", "serviceAccount", "bucket"}
"""What a resource path of Google Cloud can name that a key here names alone; keys of lists end in `s`."""

_NAMED = {"priority": "the name of a priority", "cohort": "the name of a cohort", "pool": "the name of a pool"}


def to_problem(error: Mapping[str, Any], root: type[Model] = FleetSpec) -> Problem:
    """Return one pydantic error as a fault; `root` is the model of the whole fleet."""
    path: FieldPath = error["loc"]
    if path[1:] and path[-1] == "[key]" and error["input"] == path[-2]:  # the key is wrong, not its value
        path = path[:-1]
    if error["type"] == "berth":
        message: str = error["ctx"]["message"]
        hint = "" if "; write " in message else _of_resource_path(error["input"], path, root)
        return Problem(Severity.FAULT, error["ctx"]["code"], path, message + hint)
    if error["type"] == "extra_forbidden":
        return Problem(Severity.FAULT, "unknown-key", path, _unknown_key(path, root, error["input"]))
    if error["type"] == "string_type":
        rule = _rule_at(path, root)
        expected, remedy = _expected_text(error["input"], path, rule)
        message = _wrong_type(expected)(error, path) + (remedy or _several(error["input"], path, rule, root))
        return Problem(Severity.FAULT, "bad-type", path, message)
    if (expected := COLLECTION_NOUNS.get(error["type"])) is not None:
        message = _wrong_type(expected)(error, path) + (
            _cluster(error["input"]) or collection_remedy(error, path, root)
        )
        return Problem(Severity.FAULT, "bad-type", path, message)
    if error["type"] not in _MESSAGES:
        return Problem(Severity.FAULT, "bad-value", path, f"'{format_value(error['input'])}': {error['msg'].lower()}")
    code, build = _MESSAGES[error["type"]]
    return Problem(Severity.FAULT, code, path, build(error, path))


# --- messages ---------------------------------------------------------------------------------------------------------

_MessageBuilder = Callable[[Mapping[str, Any], FieldPath], str]


def _unknown_key(path: FieldPath, root: type[Model], value: object) -> str:
    known = allowed_keys(path[:-1], root)
    on_google: FieldPath = ("pools", "") if path[-3:-2] == ("nodePools",) else path[:-1]
    noun = root.stack_noun if issubclass(root, AnyFleetSpec) else None
    if noun and path[-1] != "machineType" and str(path[-1]) in allowed_keys(on_google):
        return f"'{path[-1]}' is not a key of {noun}; remove {path[-1]}"
    return f"unknown key '{format_value(path[-1])}'{_hint(str(path[-1]), path[:-1], known, root, value)}"


def _hint(key: str, place: FieldPath, known: list[str], root: type[Model], value: object) -> str:
    """Return what to write for an unknown key at `place`: the key that another tool calls so, the place where the key
    belongs, a similar key, or the nearest ones.
    """
    home = home_of(key, place, root)
    if key[:1] in ("+", "-") and key[1:].strip() in known:
        return f"; remove the '{key[0]}' before '{key[1:].strip()}'"
    if hint := foreign_key_hint(key, known, value):
        return hint
    if home is not None and home[: len(place)] == place and home != place:
        return f"; it is a key of {(inner := '.'.join(map(str, home[len(place) :])))}: write it below {inner}"
    if guess := did_you_mean(key, [each for each in known if (key, each) != ("gpu", "cpu")]):
        return guess
    if not known:
        return "; no key is allowed here"
    if len(known) <= MAX_KEYS:
        return f"; write one of {', '.join(known)}"
    if home is not None and home.count("<name>") <= len(place) // 2 and key != "name":  # no other entry's key or name
        return f"; it is a key of {'.'.join(map(str, home)) or 'berth:fleet'}: move it there"
    nearest = sorted(known, key=lambda each: -SequenceMatcher(None, key.lower(), each.lower()).ratio())[:_NEAREST]
    return f"; the nearest of {len(known)} keys are {', '.join(nearest)}; docs/stack-file.md lists all"


def _missing(error: Mapping[str, Any], path: FieldPath) -> str:
    return f"is missing; write {_written_example(path)}"


def _too_long(error: Mapping[str, Any], path: FieldPath) -> str:
    noun = "characters" if isinstance(error["input"], str) else "entries"
    return f"has {len(error['input'])} {noun}; write at most {error['ctx']['max_length']}"


def _several_lines(error: Mapping[str, Any], path: FieldPath) -> str:
    """Return which character of a text cannot be in one line that people read."""
    text: str = error["input"]
    found = re.search(f"[{NOT_SEEN}]", text)
    bad = found[0] if found else "\n"
    if bad in "\n\r\x0b\x0c\x85\u2028\u2029":
        return f"'{format_value(' '.join(text.split()))}' has a line break; write it in one line"
    return (
        f"'{format_value(text.replace(bad, ''))}' also has the character U+{ord(bad):04X}, which is not seen; remove it"
    )


def _written_example(path: FieldPath) -> str:
    """Return the key with its example as in a stack file, or the example of an item."""
    value = example(path)
    if isinstance(path[-1], int):
        return value or "a value"
    return f"{path[-1]}: {value}" if value else str(path[-1])


def _of_resource_path(value: object, path: FieldPath, root: type[Model]) -> str:
    """Return what to write for a resource path of Google Cloud where its name is expected."""
    names = names_in_path(value) if isinstance(value, str) else {}
    steps = (str(step).removesuffix("s") for step in reversed(path))
    kind = next((step for step in steps if step in _RESOURCES), "")
    rule = _rule_at(path, root)
    last = next(reversed(names), "")
    if kind not in names and last in allowed_keys(path[:-1], root):
        return f"; it is the path of a {last}: write {last}: {names[last]}"
    if kind not in names or rule is None or not rule.matches(names[kind]):
        return ""
    return f"; write '{names[kind]}'{_of_project(names, path, root) if kind in _SHARED else ''}"


def _cluster(value: object) -> str:
    """Return the mapping that a resource path of a cluster stands for."""
    names = names_in_path(value) if isinstance(value, str) else {}
    place = names.get("location") or names.get("zone") or names.get("region")
    if "cluster" not in names or place is None:
        return ""
    project = f", project: {names['project']}" if "project" in names else ""
    return f"; write {{name: {names['cluster']}, location: {place}{project}}}"


def _of_project(names: Mapping[str, str], path: FieldPath, root: type[Model]) -> str:
    """Return that the project of a resource path has a key of its own, where it has one."""
    if "project" not in names or "project" not in allowed_keys(path[:-1], root):
        return ""
    return f", and project: {names['project']} if that is another project"


def _rule_at(path: FieldPath, root: type[Model]) -> Text | None:
    """Return the rule of the text, or of the texts of the list, at `path`."""
    path = path[:-1] if isinstance(path[-1], int) else path
    model = model_of(annotation_at(path[:-1], root))
    fields = model.model_fields.values() if model else ()
    return text_rule(next((field.full_annotation for field in fields if field.alias == path[-1]), None))


def _several(value: object, path: FieldPath, rule: Text | None, root: type[Model]) -> str:
    """Return what to write for a list where one text is expected: the key of several, or the parts as one text."""
    items = [str(item) for item in cast("list[object]", value)] if isinstance(value, list) else []
    plural, known = f"{path[-1]}s", allowed_keys(path[:-1], root)
    if not items or rule is None:
        return ""
    if rule.matches("x".join(items)):
        return f"; write {'x'.join(items)}"
    if not all(map(rule.matches, items)):
        return ""
    return f"; write {plural}: [{', '.join(items)}]" if plural in known else foreign_key_hint(plural, known)


def _expected_text(value: Any, path: FieldPath, rule: Text | None) -> tuple[str, str]:
    """Return what a value of another type must be, and what to write."""
    if path[0] in REASONS:
        return "text", "; write the reason"
    if path[-1] in _NAMED:
        return _NAMED[str(path[-1])], ""
    quoted = str(value).lower() if isinstance(value, bool) else str(value)
    if rule is not None and (isinstance(value, (list, dict)) or not rule.matches(quoted)):
        items = cast("list[object]", value) if isinstance(value, list) else list[object]()
        if len(items) == 1 and isinstance(items[0], str) and rule.matches(items[0]):
            return rule.what, f"; write {items[0]}"  # the item instead of the list
        is_missing = value is None and rule.matches(example(path))
        return rule.what, f"; write {_written_example(path)}" if is_missing else ""
    if isinstance(value, float):
        return "text", "; put quotes around it, and keep every digit"
    return "text", f'; quote it: "{quoted}"' if isinstance(value, int) else ""


def _whole_number(error: Mapping[str, Any], path: FieldPath) -> str:
    value: object = error["input"]
    if isinstance(value, str) and re.fullmatch(r"\d+ *(?:gpu|tpu|chip|accelerator|core|cpu)s?", value, re.IGNORECASE):
        value = ""  # it counts something else
    number = re.match(r"[0-9]+(?= ?(?:[A-Za-z]{3,}|Gi?B?)?$|\s)", value) if isinstance(value, str) else None
    written = number[0].lstrip("0") or "0" if number else ""  # `007` is another number to some YAML parsers
    remedy = f"; write {written}{', without quotes' if written == value else ''}" if number else ""
    if not remedy and example(path).isdigit():
        remedy = f"; write one such as {example(path)}"
    return _wrong_type("a whole number")(error, path) + remedy


def _not_a_number(error: Mapping[str, Any], path: FieldPath) -> str:
    value: object = error["input"]
    is_quoted = isinstance(value, str) and re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?", value)
    return _wrong_type("a number")(error, path) + (f"; write {value}, without quotes" if is_quoted else "")


def _not_a_boolean(error: Mapping[str, Any], path: FieldPath) -> str:
    value: object = error["input"]
    word = _BOOLEAN_WORDS.get(str(value).lower(), "")
    if not word and isinstance(value, str) and path[-1] == "existing":
        return _wrong_type("true or false")(error, path) + _existing(value, path)
    remedy = f"; write {word}, without quotes" if isinstance(value, str) else f"; write {word}"
    return _wrong_type("true or false")(error, path) + (remedy if word else "")


def _existing(value: str, path: FieldPath) -> str:
    """Return what to write for the name or path of what exists, where a boolean and a name are two keys."""
    names = names_in_path(value) or {"reservation": value}
    written = {
        "name": names.get("reservation"),
        "block": names.get("reservationBlock"),
        "subBlock": names.get("reservationSubBlock"),
    }
    known = {key: name for key, name in written.items() if name and key in allowed_keys(path[:-1])}
    if "name" not in known or not re.fullmatch(r"[a-z][\w.-]*", known["name"]):
        return ""
    keys = join_words(["existing: true", *(f"{key}: {name}" for key, name in known.items())])
    return f"; write {keys}{_of_project(names, path, FleetSpec)}"


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
_MESSAGES: dict[str, tuple[str, _MessageBuilder]] = {
    "missing": ("missing-key", _missing),
    "int_type": ("bad-type", _whole_number),
    "int_from_float": ("bad-type", _whole_number),
    "float_type": ("bad-type", _not_a_number),
    "bool_type": ("bad-type", _not_a_boolean),
    "literal_error": ("bad-value", _not_in_literal),
    "greater_than_equal": ("bad-value", _out_of_bounds("small; write at least", "ge")),
    "less_than_equal": ("bad-value", _out_of_bounds("large; write at most", "le")),
    EMPTY_TEXT: ("bad-value", lambda error, path: f"is empty; write {_written_example(path)}"),
    "too_short": ("missing-key", lambda error, path: f"is empty; write at least one, such as {example(path)}"),
    "too_long": ("bad-size", _too_long),
    "string_too_long": ("bad-size", _too_long),
    "string_pattern_mismatch": ("bad-value", _several_lines),
    "string_unicode": ("bad-value", lambda error, path: "contains an invalid Unicode character; write it again"),
}
