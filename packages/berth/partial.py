"""Evaluates a part of a fleet: the rest is what the part needs to be planned, and faults have the part's own paths."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from berth.diagnostics import FieldPath, Problem
from berth.evaluate import evaluate_values
from berth.plan.fleet import FleetPlan
from packages.berth.arguments import Arguments, refuse

UNUSED_PROJECT: Final = "unused-project"
UNUSED_REGION: Final = "us-central1"
"""Stand for a project and a region in a part of which nothing is created in Google Cloud."""
_OF_FLEETS: Final = ("unpromised", "team-without-queue", "reservation-unused", "no-maintenance-exclusion")
"""Warnings about what a part does not contain: queues, or the cluster's maintenance."""


def plan_part(
    arguments: Arguments, name: str, fleet: Mapping[str, Any], *, part: FieldPath, checked: Collection[str] = ()
) -> tuple[FleetPlan, Sequence[Problem]]:
    """Return the plan of `fleet`, and the warnings about the part. Raises InputPropertiesError with every fault.

    `part` is the path of the component's arguments in the fleet. Problems of other paths are kept if they begin with a
    key of `checked`: those that are arguments of the component too.
    """
    known_problems = [_in_fleet(problem, part, fleet) for problem in arguments.problems]
    evaluation = evaluate_values(name, fleet, known_problems)
    known = {*arguments.plain, *checked}
    placed = [_placed(problem, part, known) for problem in evaluation.problems]
    problems = [problem for problem in placed if problem is not None]
    refuse(arguments, name, problems)
    refuse(arguments, name, evaluation.problems)  # of the rest, for which no argument is to blame
    assert evaluation.fleet_plan is not None
    return evaluation.fleet_plan, [each for each in problems if each.code not in _OF_FLEETS]


def _in_fleet(problem: Problem, part: FieldPath, fleet: Mapping[str, Any]) -> Problem:
    """Return the problem of an argument with its path in the fleet."""
    return problem if problem.path[0] in fleet else replace(problem, path=(*part, *problem.path))


def _placed(problem: Problem, part: FieldPath, known: Collection[str]) -> Problem | None:
    """Return the problem with the path of the component's argument; None where it is of another part of the fleet."""
    if problem.path[: len(part)] == part:
        inner = problem.path[len(part) :]
        return replace(problem, path=inner or ("name",))
    return problem if problem.path and problem.path[0] in known else None
