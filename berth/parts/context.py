"""What the planner needs to know of a part, and its problems with the paths of the arguments."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any, Final, TypeVar, cast

from msgspec.structs import replace

from berth.as_meant import as_meant
from berth.diagnostics import FieldPath, Problem, Severity, closest_match, format_path
from berth.diagnostics.hints import foreign_key, plain_key
from berth.names import to_camel
from berth.planner.context import PlanningContext
from berth.spec.base import Zone, text_rule
from berth.spec.fleet import FleetSpec
from berth.spec.messages import allowed_keys
from berth.spec.parse import Parsed, parse_part

F = TypeVar("F", bound=Callable[..., Any])

_UNREAD: Final = ("unknown-key", "bad-type", "bad-value")
"""Codes of faults for which a part of the arguments is set aside."""


def part_context(
    name: str,
    sections: Mapping[str, Any],
    path: FieldPath,
    known_problems: Sequence[Problem],
    *,
    named_reservations: Mapping[str, str | None] | None = None,
    cluster_of_others: bool = False,
) -> PlanningContext:
    """Return the planner's context of a part called `name`: the sections of a fleet that the part consists of.

    `path` is where its arguments are in the sections. Keys with `known_problems`, whose paths are those of arguments,
    are set aside.
    """
    parsed = parsed_part(sections, path, known_problems)
    assert parsed.spec is not None
    context = PlanningContext(
        name,
        parsed.spec,
        set(parsed.set_aside),
        named_reservations=named_reservations or {},
        cluster_of_others=cluster_of_others,
    )
    context.problems.entries += parsed.problems
    return context


def parsed_part(sections: Mapping[str, Any], path: FieldPath, known_problems: Sequence[Problem]) -> Parsed[FleetSpec]:
    """Return the parsed sections with all problems, the `known_problems` of the arguments first."""
    others = sections.keys() | {*allowed_keys(())} - {*allowed_keys(path)}
    placed = [each if each.path[0] in others else replace(each, path=(*path, *each.path)) for each in known_problems]
    parsed = parse_part(sections, placed)
    return replace(parsed, problems=(*placed, *parsed.problems))


def finds_every_fault(plan: F) -> F:
    """Let a function that plans a part also return the faults beside what cannot be read in its arguments.

    The function takes a name, arguments and the known problems of these, and returns a plan with its `problems`.
    """

    @wraps(plan)
    def planned(name: str, arguments: Mapping[str, Any], known_problems: Sequence[Problem] = (), **options: Any) -> Any:
        part = plan(name, arguments, known_problems, **options)
        unread = [each for each in part.problems if each.code in _UNREAD]
        # The caller leaves out what is of another type, and arguments that mean nothing.
        left_out = {each.path[0]: None for each in known_problems if each.code in _UNREAD}
        meant = as_meant({**left_out, **arguments}, unread)
        missing = {each.path for each in known_problems if each.code == "missing-key"}  # perhaps not needed by the plan
        if not meant.corrected and not missing:
            return part
        others = [each for each in known_problems if each.code != "missing-key" and each.path not in meant.corrected]
        known = {key: value for key, value in meant.fleet.items() if value is not None}
        again = plan(name, known, others, **options)
        meant = replace(meant, omitted=meant.omitted | {each for each in missing if each[0] not in known})
        more = meant.more_faults(again.problems, part.problems)
        if any(len(path) == 1 for path in meant.omitted):  # perhaps what is referred to
            more = tuple(each for each in more if each.code != "unknown-reference")
        return replace(part, problems=(*part.problems, *more))

    return cast("F", planned)


def part_problems(
    problems: Iterable[Problem], path: FieldPath, names: Mapping[FieldPath, str] | None = None
) -> tuple[Problem, ...]:
    """Return the problems with the paths of arguments, also in their messages.

    `names` maps the path of a name in the sections to the argument that gives it; that of the whole part is `name`.
    """
    given = {path: "name", **(names or {})} if path else {**(names or {})}
    return tuple(_of_part(each, path, given) for each in problems)


def _of_part(problem: Problem, path: FieldPath, names: Mapping[FieldPath, str]) -> Problem:
    message = problem.message.replace(f"{format_path(path)}.", "") if path else problem.message
    if problem.path in names and problem.code != "unknown-key":  # such an argument has the name that is written
        return replace(problem, path=(names[problem.path],), message=message)
    inside = problem.path != path and problem.path[: len(path)] == path
    return replace(problem, path=problem.path[len(path) :] if inside else problem.path, message=message)


def is_zone(text: str) -> bool:
    """Whether a text has the form of a zone, so that its region can be read from it."""
    rule = text_rule(Zone)
    return rule is not None and rule.matches(text)


def meant_argument(name: str, arguments: Collection[str], value: object = None) -> tuple[str, str]:
    """Return the argument that an unknown one stands for, and what to say of it; "" twice if nothing is similar.

    It is one of another spelling, or the one that replaces a key of another tool, or one of a similar name.
    """
    near = closest_match(to_camel(name), arguments) or ""
    written, start = plain_key(name), plain_key(near)
    is_spelling = near and (written.startswith(start) or start.startswith(written))
    row = None if is_spelling else foreign_key(name, arguments)
    if row is not None:
        return row.own, row.remedy(value)
    return near, f"; did you mean '{near}'?" if near else ""


def distinct_faults(problems: Sequence[Problem], arguments: Collection[str]) -> Iterator[Problem]:
    """Yield the faults, one of a misspelt key and one of its value for each path; such a key is not missing too."""
    misspelt = [str(each.path[0]) for each in problems if each.code == "unknown-key" and len(each.path) == 1]
    meant = {(meant_argument(name, arguments)[0],) for name in misspelt}
    reported = set[tuple[FieldPath, bool]]()
    for problem in problems:
        place = problem.path, problem.code == "unknown-key"
        follows = problem.code == "missing-key" and problem.path in meant
        if problem.severity == Severity.FAULT and not follows and place not in reported:
            reported.add(place)
            yield problem
