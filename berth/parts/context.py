"""What the planner needs to know of a part, and its problems with the paths of the arguments."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from berth.diagnostics import FieldPath, Problem, Severity, closest_match
from berth.names import to_camel
from berth.planner.context import PlanningContext
from berth.spec.fleet import FleetSpec
from berth.spec.parse import Parsed, parse_part


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
    placed = [each if each.path[0] in sections else replace(each, path=(*path, *each.path)) for each in known_problems]
    parsed = parse_part(sections, placed)
    return replace(parsed, problems=(*placed, *parsed.problems))


def part_problems(problems: Iterable[Problem], path: FieldPath) -> tuple[Problem, ...]:
    """Return the problems with the paths of arguments; one of the whole part is at its name."""
    return tuple(
        replace(each, path=each.path[len(path) :] or ("name",)) if each.path[: len(path)] == path else each
        for each in problems
    )


def distinct_faults(problems: Sequence[Problem], arguments: Collection[str]) -> Iterator[Problem]:
    """Yield the faults, one for each path; an argument that is misspelt is not missing too."""
    misspelt = [str(each.path[0]) for each in problems if each.code == "unknown-key" and len(each.path) == 1]
    meant = {(closest_match(to_camel(name), arguments) or "",) for name in misspelt}
    reported: set[FieldPath] = set()
    for problem in problems:
        follows = not (problem.code == "unknown-key" or problem.path not in meant)
        if problem.severity == Severity.FAULT and not follows and problem.path not in reported:
            reported.add(problem.path)
            yield problem
