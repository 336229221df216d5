"""Policies: an organization's own rules, as Python functions over the plan.

A rule is a public function of a policy file. It is called with the FleetPlan and yields faults and warnings; its name
is their code. A policy file is a program: it runs with the permissions of the user who runs the check.
"""

from __future__ import annotations

import ast
import inspect
import os
import pathlib
import runpy
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from functools import partial
from typing import cast, get_origin

from msgspec import Struct
from msgspec.structs import replace

from berth.diagnostics import FieldPath, Problem, Severity, format_value
from berth.diagnostics.listing import sort_by_place
from berth.evaluate import Evaluation, require_offer
from berth.plan.fleet import FleetPlan
from berth.text import pluralize

PolicyRule = Callable[[FleetPlan], Iterable[Problem]]
_MODULE = "berth_policy"
_made: list[Problem] = []
"""What the running rule has made: a fault that is made and not yielded would be lost."""


def fault(path: FieldPath, message: str) -> Problem:
    """Return a fault, which refuses the fleet, at `path` in the stack file, such as ("cluster", "privateNodes")."""
    return _record(Problem(Severity.FAULT, "", path, message))


def warning(path: FieldPath, message: str) -> Problem:
    """Return a warning at `path` in the stack file."""
    return _record(Problem(Severity.WARNING, "", path, message))


def _record(problem: Problem) -> Problem:
    _made.append(problem)
    return problem


def load_rules(file: pathlib.Path) -> tuple[dict[str, PolicyRule], list[Problem]]:
    """Return the rules of one file by name, in order; a file that cannot be loaded, or without rules, is a fault.

    Every public callable is a rule, imported, decorated and partial ones too, except for types and what Berth and the
    standard library define. One that cannot be called with the plan is a fault, and so is a name that is defined twice.
    """
    if not os.path.isfile(file):
        return {}, [_policy_fault(file, None, "policy file not found; check its path")]
    try:
        namespace = runpy.run_path(str(file), run_name=_MODULE)
        doubled = _doubled_names(file)
    except (Exception, SystemExit) as error:
        return {}, [_policy_fault(file, error, f"{type(error).__name__}: {error}")]
    found = {name: value for name, value in namespace.items() if not name.startswith("_") and _is_rule(value)}
    if not found:
        return {}, [_policy_fault(file, None, "has no rule; write a public function of the plan that yields faults")]
    wrong = [name for name, rule in found.items() if not _takes_a_plan(rule)]
    problems = [
        _policy_fault(file, None, f"'{name}' must have one parameter, the plan; begin names of helpers with _")
        for name in wrong
    ]
    waiting = [name for name, rule in found.items() if name not in wrong and _is_async(rule)]
    problems += [_policy_fault(file, None, f"'{name}' is async, so it never runs; write def") for name in waiting]
    for name in doubled:
        problems.append(_policy_fault(file, None, f"'{name}' is defined twice, so the first never runs; rename one"))
    return {name: rule for name, rule in found.items() if name not in (*wrong, *waiting)}, problems


def _is_rule(value: object) -> bool:
    """Whether a public name of a policy file is meant to be a rule; imports for helpers of rules are not."""
    if not callable(value) or isinstance(value, type):
        return False
    origin = value.func if isinstance(value, partial) else value
    package = str(getattr(origin, "__module__", "") or "").partition(".")[0]
    is_typing = package in ("typing", "collections") or get_origin(value) is not None
    return isinstance(value, partial) or not (is_typing or package == "berth" or package in sys.stdlib_module_names)


def _is_async(rule: Callable[..., object]) -> bool:
    return inspect.iscoroutinefunction(rule) or inspect.isasyncgenfunction(rule)


def _takes_a_plan(rule: Callable[..., object]) -> bool:
    try:
        parameters = inspect.signature(rule).parameters.values()
    except (TypeError, ValueError):  # a callable of C code has no signature
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [each for each in parameters if each.default is each.empty and each.kind in positional]
    rest = [each for each in parameters if each.kind is inspect.Parameter.VAR_POSITIONAL]
    keywords = [
        each for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY and each.default is each.empty
    ]
    return not keywords and (len(needed) == 1 or (not needed and bool(rest)))


def _doubled_names(file: pathlib.Path) -> list[str]:
    """Return public functions that a file defines more than once: Python keeps the last."""
    tree = ast.parse(file.read_bytes())
    names = Counter(
        each.name for each in tree.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    )
    return [name for name, count in names.items() if count > 1 and not name.startswith("_")]


class PolicyRun(Struct, frozen=True):
    """A rule that ran: its file, its name, and over how many clusters with how many faults and warnings."""

    file: str
    rule: str
    clusters: int
    faults: int
    warnings: int

    @property
    def line(self) -> str:
        """`docs/policies/private_nodes.py: private_nodes: 3 clusters, 1 fault, 0 warnings`."""
        counts = ((self.clusters, "cluster"), (self.faults, "fault"), (self.warnings, "warning"))
        return f"{self.file}: {self.rule}: {', '.join(pluralize(count, noun) for count, noun in counts)}"


def apply_policies(evaluation: Evaluation, files: Iterable[pathlib.Path]) -> tuple[Evaluation, tuple[PolicyRun, ...]]:
    """Return the evaluation with the problems that the rules report, each at its place in the stack file, and what ran.

    Each rule sees a copy of its own of the plan, and of the plan of each worker that a manager has. Rules do not run on
    a fleet with faults, so they can rely on a complete plan. A stack without Kueue is a fault, because its plan has
    another type than rules expect.
    """
    evaluation = require_offer(evaluation)
    if evaluation.faults or evaluation.fleet_plan is None or evaluation.file is None:
        return evaluation, ()
    places = evaluation.file.source_map
    policy_problems: list[Problem] = []
    runs: list[PolicyRun] = []
    for file in files:
        file_rules, problems = load_rules(file)
        policy_problems += problems
        for name, rule in file_rules.items():
            found = list(_run_on_clusters(file, name, rule, evaluation.fleet_plan))
            policy_problems += [each.with_place(each.place or places.place_of(each.path)) for each in found]
            faults = sum(each.severity == Severity.FAULT for each in found)
            clusters = 1 + len(evaluation.fleet_plan.workers)
            runs.append(PolicyRun(str(file), name, clusters, faults, len(found) - faults))
    problems = tuple(sort_by_place([*evaluation.problems, *policy_problems]))
    return replace(evaluation, problems=problems), tuple(runs)


def _run_on_clusters(file: pathlib.Path, name: str, rule: PolicyRule, plan: FleetPlan) -> Iterator[Problem]:
    """Yield what a rule reports of the fleet, and of each worker what it does not report of the fleet."""
    known: set[tuple[FieldPath, str, str]] = set()
    for worker, cluster_plan in ((None, plan), *((each.name, each.plan) for each in plan.workers)):
        for problem in _run_rule(file, name, rule, cluster_plan):
            identity = (problem.path, problem.message, problem.place)
            if worker is None or identity not in known:
                is_of_file = worker is None or problem.code == "policy-failed"
                yield problem if is_of_file else replace(problem, path=("workers", worker, *problem.path))
            known.add(identity)


def _run_rule(file: pathlib.Path, name: str, rule: PolicyRule, plan: FleetPlan) -> Iterator[Problem]:
    _made.clear()
    try:
        results = cast("object", rule(deepcopy(plan)))
        if results is not None and (isinstance(results, str | bytes) or not isinstance(results, Iterable)):
            message = f"'{name}' returns {format_value(repr(results))}; yield the faults that it makes"
            yield _policy_fault(file, None, message)
            return
        reported: list[Problem] = []
        for result in cast("Iterable[object]", results or ()):
            problem = _as_problem(result)
            if problem is None:
                shown = format_value(repr(result))
                message = f'\'{name}\' yields {shown}; yield fault(("cluster", "zones"), "TEXT"), or warning'
                yield _policy_fault(file, None, message)
                return
            reported.append(problem)
            yield replace(problem, code=name.replace("_", "-"))
        lost = [each for each in _made if all(each is not other for other in reported)]
        if lost:
            message = (
                f"'{name}' makes {pluralize(len(lost), 'problem')} that it does not yield; write yield before each"
            )
            yield _policy_fault(file, None, message)
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
