"""Policies: an organization's own rules, as Python functions over the plan.

A rule is a public function of a policy file. It is called with the FleetPlan and yields faults and warnings; its name
is their code. A policy file is a program: it runs with the permissions of the user who runs the check.
"""

from __future__ import annotations

import inspect
import os
import pathlib
import runpy
import traceback
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType
from typing import cast

from msgspec.structs import replace

from berth.diagnostics import FieldPath, Problem, Severity, format_value
from berth.diagnostics.listing import sort_by_place
from berth.evaluate import Evaluation, require_offer
from berth.plan.fleet import FleetPlan

PolicyRule = Callable[[FleetPlan], Iterable[Problem]]


def fault(path: FieldPath, message: str) -> Problem:
    """Return a fault, which refuses the fleet, at `path` in the stack file, such as ("cluster", "privateNodes")."""
    return Problem(Severity.FAULT, "", path, message)


def warning(path: FieldPath, message: str) -> Problem:
    """Return a warning at `path` in the stack file."""
    return Problem(Severity.WARNING, "", path, message)


def load_rules(file: pathlib.Path) -> tuple[dict[str, PolicyRule], list[Problem]]:
    """Return the rules of one file by name, in order; a file that cannot be loaded, or without rules, is a fault."""
    if not os.path.isfile(file):
        return {}, [_policy_fault(file, None, "policy file not found; check its path")]
    try:
        namespace = runpy.run_path(str(file), run_name="berth_policy")
    except (Exception, SystemExit) as error:
        return {}, [_policy_fault(file, error, f"{type(error).__name__}: {error}")]
    functions = {
        name: cast("PolicyRule", value)
        for name, value in namespace.items()
        if not name.startswith("_") and isinstance(value, FunctionType) and value.__module__ == "berth_policy"
    }
    if not functions:
        return {}, [_policy_fault(file, None, "has no rule; write a public function of the plan that yields faults")]
    wrong = [name for name, rule in functions.items() if len(inspect.signature(rule).parameters) != 1]
    problems = [
        _policy_fault(file, None, f"'{name}' must have one parameter, the plan; begin names of helpers with _")
        for name in wrong
    ]
    return {name: rule for name, rule in functions.items() if name not in wrong}, problems


def apply_policies(evaluation: Evaluation, files: Iterable[pathlib.Path]) -> Evaluation:
    """Return the evaluation with the problems that the rules report, each at its place in the stack file.

    Rules do not run on a fleet with faults, so they can rely on a complete plan. A stack without Kueue is a
    fault, because its plan has another type than rules expect.
    """
    evaluation = require_offer(evaluation)
    if evaluation.faults or evaluation.fleet_plan is None or evaluation.file is None:
        return evaluation
    policy_problems: list[Problem] = []
    for file in files:
        file_rules, problems = load_rules(file)
        policy_problems += problems
        for name, rule in file_rules.items():
            places = evaluation.file.source_map
            policy_problems += [
                problem.with_place(problem.place or places.place_of(problem.path))
                for problem in _run_rule(file, name, rule, evaluation.fleet_plan)
            ]
    return replace(evaluation, problems=tuple(sort_by_place([*evaluation.problems, *policy_problems])))


def _run_rule(file: pathlib.Path, name: str, rule: PolicyRule, plan: FleetPlan) -> Iterator[Problem]:
    try:
        for result in cast("Iterable[object]", rule(plan) or ()):
            problem = _as_problem(result)
            if problem is None:
                shown = format_value(repr(result))
                message = f'\'{name}\' yields {shown}; yield fault(("cluster", "zones"), "TEXT"), or warning'
                yield _policy_fault(file, None, message)
                return
            yield replace(problem, code=name.replace("_", "-"))
    except (Exception, SystemExit) as error:  # a rule that ends the process would pass every fleet
        yield _policy_fault(file, error, f"'{name}' failed: {type(error).__name__}: {error}")


def _as_problem(result: object) -> Problem | None:
    """Return a rule's result; None if it is not a valid Problem, because a policy can yield any value."""
    if not isinstance(result, Problem):
        return None
    message, path = cast("tuple[object, object]", (result.message, result.path))
    steps = cast("tuple[object, ...]", path) if isinstance(path, tuple) else (None,)
    return result if isinstance(message, str) and all(isinstance(step, str | int) for step in steps) else None


def _policy_fault(file: pathlib.Path, error: BaseException | None, message: str) -> Problem:
    """Return a fault of a policy file, at the line of an error if there is one."""
    lines = (
        [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
        if error
        else []
    )
    line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
    return Problem(Severity.FAULT, "policy-failed", (), message, f"{file}:{line}" if line else str(file))
