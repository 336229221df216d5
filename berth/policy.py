"""Policies: an organization's own rules, as Python functions over the plan.

A rule is a public function of a policy file. It is called with the FleetPlan and yields faults and warnings; its name
is their code. A policy file is a program: it runs with the permissions of the user who runs the check.
"""

from __future__ import annotations

import inspect
import pathlib
from collections.abc import Iterable
from copy import deepcopy
from itertools import islice
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from berth.diagnostics import FieldPath, Problem, Severity, format_value
from berth.diagnostics.listing import sort_by_place
from berth.evaluate import Evaluation, require_offer
from berth.plan.fleet import FleetPlan
from berth.policy_file import PolicyRule, load_rules, policy_fault, policy_files, policy_process
from berth.spec.workers import WorkerSpec
from berth.text import pluralize

_MOST = 10_000
"""Largest number of problems that a rule may yield of a cluster: a rule that yields forever is a fault too."""
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


class PolicyRun(Struct, frozen=True):
    """A rule that ran: its file, its name, over which clusters, and how many faults and warnings it made of them."""

    file: str
    rule: str
    clusters: tuple[str, ...]
    faults: int
    warnings: int

    @property
    def line(self) -> str:
        """`docs/policies/private_nodes.py: private_nodes: prod, worker east: 1 fault, 0 warnings`."""
        counts = ((self.faults, "fault"), (self.warnings, "warning"))
        found = ", ".join(pluralize(count, noun) for count, noun in counts)
        return f"{self.file}: {self.rule}: {', '.join(self.clusters)}: {found}"


def apply_policies(
    evaluation: Evaluation, paths: Iterable[pathlib.Path], root: pathlib.Path
) -> tuple[Evaluation, tuple[PolicyRun, ...]]:
    """Return the evaluation with the problems that the rules report, each at its place in the stack file, and what ran.

    `paths` of files and folders, and what policies read, are relative to `root`. Each rule sees a copy of its own of
    the plan, and of the plan of each worker that a manager has. Rules do not run on a fleet with faults, so they can
    rely on a complete plan. A stack without Kueue is a fault, because its plan has another type than rules expect.
    """
    evaluation = require_offer(evaluation)
    if evaluation.faults or evaluation.fleet_plan is None or evaluation.file is None:
        return evaluation, ()
    places = evaluation.file.source_map
    runs: list[PolicyRun] = []
    with policy_process(root):
        files, problems = policy_files(paths)
        for file in files:
            file_rules, file_problems = _load_rules(file)
            problems += file_problems
            for name, rule in file_rules.items():
                run, found = _run_on_clusters(file, name, rule, evaluation.fleet_plan)
                problems += [each.with_place(each.place or places.place_of(each.path)) for each in found]
                runs.append(run)
    return replace(evaluation, problems=tuple(sort_by_place([*evaluation.problems, *problems]))), tuple(runs)


def _load_rules(file: pathlib.Path) -> tuple[dict[str, PolicyRule], list[Problem]]:
    """Return the rules of a file; a problem that is made while it loads would be lost."""
    _made.clear()
    file_rules, problems = load_rules(file)
    if _made:
        message = f"makes {pluralize(len(_made), 'problem')} outside of rules; yield each from a rule"
        problems.append(policy_fault(file, None, message))
    return file_rules, problems


def _run_on_clusters(
    file: pathlib.Path, name: str, rule: PolicyRule, plan: FleetPlan
) -> tuple[PolicyRun, list[Problem]]:
    """Return what a rule reports of the fleet and of each worker; what clusters have in common stands once."""
    counts = dict.fromkeys(Severity, 0)
    clusters_with: dict[Problem, dict[str | None, None]] = {}
    for worker, cluster_plan in ((None, plan), *((each.name, each.plan) for each in plan.workers)):
        for problem in _run_rule(file, name, rule, cluster_plan):
            counts[problem.severity] += 1
            clusters_with.setdefault(_of_cluster(problem, worker), {})[worker] = None
    clusters = (plan.cluster.name, *(f"worker {worker.name}" for worker in plan.workers))
    run = PolicyRun(str(file), name, clusters, counts[Severity.FAULT], counts[Severity.WARNING])
    return run, [_with_workers(problem, [*workers]) for problem, workers in clusters_with.items()]


def _of_cluster(problem: Problem, worker: str | None) -> Problem:
    """Return a problem with its path in the stack file: keys that a worker has are its own, others those of the fleet.

    A manager's plan lists the pools of its workers too, as `worker/pool`.
    """
    section, *rest = problem.path or ("",)
    if section == "pools" and worker is None and rest and "/" in str(rest[0]):
        worker, _, rest[0] = str(rest[0]).partition("/")
    if worker is None or section not in {field.alias or key for key, field in WorkerSpec.model_fields.items()}:
        return problem
    return replace(problem, path=("workers", worker, section, *rest))


def _with_workers(problem: Problem, workers: list[str | None]) -> Problem:
    """Return a problem of the fleet's keys with the workers that it is found on."""
    named = [each for each in workers if each]
    if not named or problem.path[:1] == ("workers",) or problem.code == "policy-failed":
        return problem
    on = f"{'also ' if None in workers else ''}on {'workers' if named[1:] else 'worker'} {', '.join(named)}"
    return replace(problem, message=f"{problem.message} ({on})")


def _run_rule(file: pathlib.Path, name: str, rule: PolicyRule, plan: FleetPlan) -> list[Problem]:
    _made.clear()
    reported: list[Problem] = []
    try:
        results = cast("object", rule(deepcopy(plan)))
        if inspect.iscoroutine(results):
            results.close()
        if results is not None and (isinstance(results, str | bytes) or not isinstance(results, Iterable)):
            message = f"'{name}' returns {format_value(repr(results))}; yield the faults that it makes"
            return [policy_fault(file, None, message)]
        for result in islice(cast("Iterable[object]", () if results is None else results), _MOST + 1):
            problem = _as_problem(result)
            if problem is None:
                shown = format_value(repr(result))
                message = f'\'{name}\' yields {shown}; yield fault(("cluster", "zones"), "TEXT"), or warning'
                return [*_coded(reported, name), policy_fault(file, None, message)]
            reported.append(problem)
        lost = [each for each in _made if all(each is not other for other in reported)]
    except BaseException as error:  # a rule that ends the process would pass every fleet
        if isinstance(error, KeyboardInterrupt):
            raise
        failed = policy_fault(file, error, f"'{name}' failed: {type(error).__name__}: {error}")
        return [*_coded(reported, name), failed]
    if len(reported) > _MOST:
        message = f"'{name}' yields more than {_MOST:,} problems of one cluster; yield one for what they have in common"
        return [policy_fault(file, None, message)]
    if lost:
        message = f"'{name}' makes {pluralize(len(lost), 'problem')} that it does not yield; write yield before each"
        return [*_coded(reported, name), policy_fault(file, None, message)]
    return _coded(reported, name)


def _coded(problems: Iterable[Problem], name: str) -> list[Problem]:
    return [replace(problem, code=name.replace("_", "-")) for problem in problems]


def _as_problem(result: object) -> Problem | None:
    """Return a rule's result; None if it is not a valid Problem, because a policy can yield any value."""
    if not isinstance(result, Problem) or result.severity not in (Severity.FAULT, Severity.WARNING):
        return None
    texts, path = cast("tuple[object, object]", ((result.message, result.place), result.path))
    steps = cast("tuple[object, ...]", path) if isinstance(path, tuple) else (None,)
    is_text = all(isinstance(text, str) for text in cast("tuple[object, ...]", texts))
    return result if is_text and all(isinstance(step, str | int) for step in steps) else None
