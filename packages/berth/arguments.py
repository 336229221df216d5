"""Arguments of a component as they arrive: split by whether they may be outputs, and checked by the package's schema.

Numbers arrive as floats: 8.0 is 8. Any language can send what its SDK would refuse, so that unknown keys, outputs in
plain arguments and wrong types are faults here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, cast

import pulumi
from msgspec import Struct
from pulumi.errors import InputPropertiesError
from pulumi.output import Unknown

from berth.diagnostics import FieldPath, Problem, Severity, closest_match, did_you_mean, format_value

Json = Mapping[str, Any]

_SCHEMA_FILE: Final = Path(__file__).with_name("schema.json")
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "object": (dict,),
    "array": (list,),
}
_NOUNS: Final = {"string": "text", "boolean": "true or false", "object": "an object", "array": "a list"}


class Arguments(Struct, frozen=True):
    """The arguments of one component: `plain` ones as a stack file has them, and `live` ones, which may be outputs."""

    component: str
    plain: Mapping[str, Any]
    live: Mapping[str, pulumi.Output[Any]]
    problems: tuple[Problem, ...]

    def of_model(self, *others: str) -> dict[str, Any]:
        """Return the plain arguments but for the component's own, which are the `others`."""
        return {key: value for key, value in self.plain.items() if key not in others}


def read_arguments(component: str, values: Mapping[str, Any]) -> Arguments:
    """Return the arguments and what is wrong with them. No argument is None, and faulty values are left out."""
    known = _inputs(component)
    live_keys = {key for key, each in known.items() if not each.get("plain")}
    given = {key: value for key, value in sorted(values.items()) if value is not None}
    live = {key: pulumi.Output.from_input(value) for key, value in given.items() if key in live_keys}
    plain = {key: _with_integers(value) for key, value in given.items() if key in known and key not in live_keys}
    wrong = {key: _wrong_type(key, value, known[key]) for key, value in plain.items() if _is_wrong(value, known[key])}
    problems = [
        *(_unknown_key(component, key, known) for key in given if key not in known),
        *(problem for key, value in plain.items() for problem in _outputs_in(value, (key,))),
        *wrong.values(),
        *(_missing(component, key) for key in _required(component) if key not in given),
    ]
    sound = {key: _without_outputs(value) for key, value in plain.items() if key not in wrong}
    return Arguments(component, sound, live, tuple(problems))


def refuse(arguments: Arguments, name: str, problems: Iterable[Problem] = ()) -> None:
    """Raise InputPropertiesError with one line for each fault of the arguments and of `problems`, if there is any.

    A path has one fault. A required argument that is misspelt is not missing too.
    """
    known = _inputs(arguments.component)
    misspelt = [problem.path for problem in arguments.problems if problem.code == "unknown-key"]
    reported: set[FieldPath] = {(closest_match(str(path[0]), known) or "",) for path in misspelt}
    lines: list[str] = []
    for problem in (*arguments.problems, *problems):
        if problem.severity == Severity.FAULT and problem.path not in reported:
            reported.add(problem.path)
            lines.append(problem.line_without_severity())
    if lines:
        # Paths are in the lines, which the engine prints as they are. Without a list the SDK's server fails.
        raise InputPropertiesError("\n".join([f"{arguments.component} '{name}' is refused:", *lines]), [])


def as_mapping(value: object) -> dict[str, Any] | None:
    """Return the value if it is a mapping."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def warn(component: pulumi.Resource, problems: Iterable[Problem]) -> None:
    """Log the warnings as the component's."""
    for problem in problems:
        if problem.severity == Severity.WARNING:
            pulumi.log.warn(problem.line_without_severity(), component)


@cache
def _resources() -> Mapping[str, Json]:
    return json.loads(_SCHEMA_FILE.read_text(encoding="utf-8"))["resources"]


def _inputs(component: str) -> Mapping[str, Json]:
    return _resources()[f"berth:index:{component}"]["inputProperties"]


def _required(component: str) -> list[str]:
    return _resources()[f"berth:index:{component}"]["requiredInputs"]


def _unknown_key(component: str, key: str, known: Iterable[str]) -> Problem:
    suggestion = did_you_mean(key, known) or f"; docs/reference.md lists the arguments of {component}"
    return Problem(Severity.FAULT, "unknown-key", (key,), f"unknown key '{key}'{suggestion}")


def _missing(component: str, key: str) -> Problem:
    return Problem(Severity.FAULT, "missing-key", (key,), f"is missing; {component} needs it")


def _outputs_in(value: object, path: FieldPath) -> Iterator[Problem]:
    """Yield a fault for every value that is an output, an asset or a resource: the plan needs plain values."""
    if isinstance(value, Mapping):
        for key, inner in cast("Mapping[str, object]", value).items():
            yield from _outputs_in(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(cast("list[object]", value)):
            yield from _outputs_in(inner, (*path, index))
    elif _is_output(value):
        message = (
            "is an output of a resource or a secret, and the plan is made before either is known; write a plain value"
        )
        yield Problem(Severity.FAULT, "bad-type", path, message)
    elif isinstance(value, pulumi.Asset | pulumi.Archive | pulumi.Resource):
        yield Problem(Severity.FAULT, "bad-type", path, f"is a {type(value).__name__}; write a plain value")


def _is_output(value: object) -> bool:
    return isinstance(value, pulumi.Output | Unknown)


def _without_outputs(value: Any) -> Any:
    """Return the value with None for outputs: the rest can still be checked."""
    if isinstance(value, Mapping):
        return {key: _without_outputs(inner) for key, inner in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list):
        return [_without_outputs(inner) for inner in cast("list[Any]", value)]
    return None if _is_output(value) or isinstance(value, pulumi.Asset | pulumi.Archive | pulumi.Resource) else value


def _with_integers(value: Any) -> Any:
    """Return the value with integers for floats without a fraction: protobuf has no integers."""
    if isinstance(value, Mapping):
        return {key: _with_integers(inner) for key, inner in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list):
        return [_with_integers(inner) for inner in cast("list[Any]", value)]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _is_wrong(value: object, argument: Json) -> bool:
    """Whether a simple argument has a value of another type; the stack file's models check everything else."""
    kind = argument.get("type")
    return kind in _NOUNS and not _is_output(value) and not isinstance(value, _TYPES[kind])


def _wrong_type(key: str, value: object, argument: Json) -> Problem:
    message = f"'{format_value(value)}' has another type; write {_NOUNS[argument['type']]}"
    return Problem(Severity.FAULT, "bad-type", (key,), message)
