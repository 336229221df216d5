"""Arguments of a component as they arrive: split by whether they may be outputs, and checked by the package's schema.

Numbers arrive as floats: 8.0 is 8. Any language can send what its SDK would refuse, so that unknown keys, outputs in
plain arguments and wrong types are faults here.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any, Final, cast

import pulumi
from msgspec import Struct
from pulumi.errors import InputPropertiesError

from berth.diagnostics import FieldPath, Problem, Severity, format_value
from berth.parts.context import distinct_faults, meant_argument
from berth.parts.live import ALSO_PLAIN, live_fault
from components.arguments.base import GivenArguments, is_output, outputs_in, without_outputs
from packages.berth.wire import UNKNOWN, has_secret, known_value, null_paths, sent_arguments

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
_MOST_BYTES: Final = 3600
_NOUNS: Final = {"string": "text", "boolean": "true or false", "object": "an object", "array": "a list"}


class Arguments(Struct, frozen=True):
    """The arguments of one component as they arrive, with the live ones as outputs."""

    component: str
    given: GivenArguments
    live: Mapping[str, pulumi.Output[Any]]
    known: Mapping[str, Any]
    """The live arguments whose values are known already."""

    @property
    def plain(self) -> Mapping[str, Any]:
        """The plain arguments, as a stack file has them."""
        return self.given.plain

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the arguments by themselves."""
        return self.given.problems

    def of_model(self, *others: str) -> dict[str, Any]:
        """Return the plain arguments but for the component's own, which are the `others`."""
        return {key: value for key, value in self.plain.items() if key not in others}


def read_arguments(component: str, values: Mapping[str, Any]) -> Arguments:
    """Return the arguments and what is wrong with them. No argument is None, and faulty values are left out."""
    known = _inputs(component)
    sent = sent_arguments()
    live_keys = {key for key, each in known.items() if not each.get("plain")}
    nulls = [path for path in null_paths(sent) if path[0] not in live_keys or len(path) == 1]
    given = {key: value for key, value in sorted(values.items()) if value is not None}
    live = {key: value for key, value in given.items() if key in live_keys}
    plain = {key: _with_integers(value) for key, value in given.items() if key in known and key not in live_keys}
    now = {key: known_value(sent.get(key)) for key in live}
    now = {key: value for key, value in now.items() if value is not UNKNOWN and value is not None}
    wrong = {key: _wrong_type(key, value, known[key]) for key, value in plain.items() if _is_wrong(value, known[key])}
    problems = [
        *(_unknown_key(component, key, value, known) for key, value in given.items() if key not in known),
        *map(_null, nulls),
        *filter(None, (live_fault(key, value, plain, secret=has_secret(sent.get(key))) for key, value in now.items())),
        *(problem for key, value in plain.items() for problem in outputs_in(value, (key,))),
        *wrong.values(),
        *(_missing(component, key) for key in _required(component) if key not in sent and key not in given),
    ]
    plain |= {key: value for key, value in now.items() if key in ALSO_PLAIN}
    sound = {key: without_outputs(value) for key, value in plain.items() if key not in wrong and not is_output(value)}
    plain_keys = known.keys() - live_keys
    sound |= {
        key: without_outputs(_with_integers(value))
        for key, value in given.items()
        if key not in known and meant_argument(key, plain_keys, value)[0]
    }
    outputs = {key: pulumi.Output.from_input(value) for key, value in live.items()}
    return Arguments(component, GivenArguments(sound, live, tuple(problems)), outputs, now)


def refuse(arguments: Arguments, name: str, problems: Iterable[Problem] = ()) -> None:
    """Raise InputPropertiesError with one line for each fault of the arguments and of `problems`, if there is any.

    gRPC carries a message twice in headers of 8 KiB in all, and drops longer ones: the last faults are counted only.
    """
    faults = [*distinct_faults([*arguments.problems, *problems], _inputs(arguments.component))]
    if faults:
        lines = [f"{arguments.component} '{name}' is refused:", *(each.line_without_severity() for each in faults)]
        kept = max(2, sum(size <= _MOST_BYTES for size in accumulate(len(line.encode()) + 1 for line in lines)))
        if more := len(lines) - kept:
            lines = [*lines[:kept], f"… and {more} more fault{'' if more == 1 else 's'}"]
        # Paths are in the lines, which the engine prints as they are. Without a list the SDK's server fails.
        raise InputPropertiesError("\n".join(lines), [])


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


def _unknown_key(component: str, key: str, value: object, known: Collection[str]) -> Problem:
    _, hint = meant_argument(key, known, value)
    suggestion = hint or f"; docs/reference.md lists the arguments of {component}"
    return Problem(Severity.FAULT, "unknown-key", (key,), f"unknown key '{key}'{suggestion}")


def _missing(component: str, key: str) -> Problem:
    return Problem(Severity.FAULT, "missing-key", (key,), f"is missing; {component} needs it")


def _null(path: FieldPath) -> Problem:
    """Return the fault of a null, which most SDKs drop on the way, so that it cannot mean anything."""
    at = path.index("teams") if "teams" in path[:2] else None
    below = [] if at is None else [*path[at + 2 :]]
    remedy = "remove it"
    if below and all(isinstance(step, str) for step in below):
        remedy = f"write without: [{'.'.join(map(str, below))}] in the team, or remove it"
    return Problem(Severity.FAULT, "bad-type", path, f"is null, which most of Pulumi's SDKs drop; {remedy}")


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
    return kind in _NOUNS and not is_output(value) and not isinstance(value, _TYPES[kind])


def _wrong_type(key: str, value: object, argument: Json) -> Problem:
    message = f"'{format_value(value)}' has another type; write {_NOUNS[argument['type']]}"
    return Problem(Severity.FAULT, "bad-type", (key,), message)
