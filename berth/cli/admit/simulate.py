"""The simulation of `berth admit`: reads stacks, manifests and scenarios, and runs the simulator."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from berth.diagnostics import Problem, Severity
from berth.evaluate import evaluate_stack, require_kueue
from berth.jobs.files import STDIN, ManifestDocument, find_manifests, read_documents, read_kubectl_json
from berth.jobs.values import as_mapping
from berth.lint.findings import lint_documents
from berth.lint.fleet import LintContext
from berth.loader.locate import display_path, locate
from berth.plan.fleet import FleetPlan
from berth.simulator.agreement import find_mismatches, format_summary
from berth.simulator.fleet import SimulatedFleet, build_simulated_fleet, unmodelled_warnings
from berth.simulator.live import is_cluster_state, read_cluster_state
from berth.simulator.recorded_cases import RecordedCase, read_cases, with_simulated_states
from berth.simulator.scenario import ScenarioReader, is_scenario, scenario_values
from berth.simulator.story import (
    SimulationRun,
    run_steps,
)

_UNSEEN_BY_QUOTA = {"no-shape", "no-nodes", "no-topology", "no-limit", "autopilot-refuses", "pod-security"}
"""Codes of lint faults that keep an admitted job from running."""


class SimulationResult(Struct, frozen=True):
    """One simulated run, or two to compare, and the problems; no run if there is a fault."""

    stories: tuple[SimulationRun, ...]
    problems: tuple[Problem, ...]

    @property
    def faults(self) -> tuple[Problem, ...]:
        """The problems that prevent a simulation."""
        return tuple(each for each in self.problems if each.severity == Severity.FAULT)


def run(arguments: Sequence[str], live: Sequence[pathlib.Path], root: pathlib.Path) -> SimulationResult:
    """Simulate jobs. `arguments` are one or two stacks, then manifests, folders of manifests, or scenarios.

    No stack is needed if a scenario names one. `live` are files with the output of kubectl, the initial state; such a
    file is also recognized among the arguments, by its content.
    """
    stacks, jobs = _split_arguments(arguments, root)
    job_documents, problems = _read_documents(jobs, root)
    states = [document for document in job_documents if is_cluster_state(document)]
    job_documents = [document for document in job_documents if not is_cluster_state(document)]
    if not stacks and not _has_faults(problems):
        stacks, faults = _scenario_stack(job_documents, jobs)
        problems += faults
    live_documents, faults = _read_live(live, root)
    problems += faults
    simulations = [_Simulation(stack, root, job_documents, [*live_documents, *states]) for stack in stacks]
    stories = [simulation.simulate() for simulation in simulations] if not _has_faults(problems) else []
    problems += [each for simulation in simulations for each in simulation.problems]
    if not (jobs or live or _has_faults(problems)):
        problems.append(
            Problem(Severity.FAULT, "no-jobs", (), f"no jobs to simulate; write berth admit {arguments[0]} JOBS...")
        )
    unique = tuple(dict.fromkeys(problems))
    return SimulationResult(() if _has_faults(unique) else tuple(story for story in stories if story), unique)


class _Simulation:
    """The simulation of one stack."""

    def __init__(
        self,
        stack: str,
        root: pathlib.Path,
        job_documents: Sequence[ManifestDocument],
        live_documents: Sequence[ManifestDocument],
    ) -> None:
        self.stack = stack
        self.root = root
        self.job_documents = job_documents
        self.live_documents = live_documents
        self.problems: list[Problem] = []
        self.plan: FleetPlan | None = None

    def simulate(self) -> SimulationRun | None:
        fleet, problems = self._load_fleet(self.stack)
        self.problems += problems
        if fleet is None:
            return None
        steps = ScenarioReader(fleet, self._load_fleet, self._load_documents)
        live, problems = read_cluster_state(self.live_documents, fleet)
        steps.add_existing({each.job.name: each.display_name for each in live.workloads})
        steps.add(self.job_documents)
        self.problems += [*problems, *steps.problems]
        if _has_faults(self.problems):
            return None
        self.problems += self._unseen_faults()
        return run_steps(fleet, steps.steps, live if self.live_documents else None)

    def _unseen_faults(self) -> Iterator[Problem]:
        """Yield a warning for each job that Kueue admits but that never runs, by the faults of `berth lint`."""
        manifests = [each for each in self.job_documents if not is_scenario(each)]
        for finding in lint_documents(manifests, LintContext(self.plan)) if self.plan is not None else ():
            for each in finding.faults:
                if each.code in _UNSEEN_BY_QUOTA:
                    message = f"{finding.kind}/{finding.name} never runs, whatever its quota: {each.message}"
                    yield replace(each, severity=Severity.WARNING, path=(), message=message)

    def _load_fleet(self, stack: str) -> tuple[SimulatedFleet | None, list[Problem]]:
        evaluation = require_kueue(evaluate_stack(stack, self.root))
        if evaluation.faults or evaluation.plan is None:
            return None, list(evaluation.faults)
        if stack == self.stack:
            self.plan = evaluation.plan
        return build_simulated_fleet(evaluation.plan), unmodelled_warnings(evaluation.plan)

    def _load_documents(self, name: str) -> tuple[list[ManifestDocument], list[Problem]]:
        return _read_documents([name], self.root)


# --- arguments --------------------------------------------------------------------------------------------------------


def _split_arguments(arguments: Sequence[str], root: pathlib.Path) -> tuple[list[str], list[str]]:
    """Return the leading stacks, at most two, and the remaining arguments."""
    stack_count = 0
    while stack_count < min(2, len(arguments)) and _is_stack(arguments[stack_count], root):
        stack_count += 1
    return list(arguments[:stack_count]), list(arguments[stack_count:])


def _is_stack(argument: str, root: pathlib.Path) -> bool:
    """Return whether the argument is a stack's name, or a file with `config` at its top level."""
    if argument == str(STDIN):
        return False
    located = locate(argument, root)
    if located.by_name:
        return os.path.isfile(located.file) or not os.path.exists(argument)
    if not os.path.isfile(located.file):
        return False
    parsed, _ = read_documents(located.file, located.display_path)
    return any("config" in as_mapping(each.value) for each in parsed)


def _read_documents(names: Iterable[str], root: pathlib.Path) -> tuple[list[ManifestDocument], list[Problem]]:
    """Read files and folders; a relative path is resolved from the current folder, then from the project's."""
    results: list[ManifestDocument] = []
    problems: list[Problem] = []
    for file, name in find_manifests(names, root, problems):
        reader = read_kubectl_json if file.suffix == ".json" else read_documents
        file_documents, faults = reader(file, name)
        results += file_documents
        problems += faults
    return results, problems


def _scenario_stack(job_documents: Iterable[ManifestDocument], jobs: Sequence[str]) -> tuple[list[str], list[Problem]]:
    """Return the stack that the scenarios name, or faults if there is none or more than one."""
    stack_entries = list(scenario_values(job_documents, "stack"))
    names = [str(at.value) for _, at in stack_entries]
    if len(set(names)) == 1:
        return names[:1], []
    if not names:
        reason = f"'{jobs[0]}' is not a stack" if jobs else "a stack is missing"
        return [], [Problem(Severity.FAULT, "no-stack", (), f"{reason}; write berth admit STACK JOBS...")]
    document, at = stack_entries[1]
    message = f"'{names[1]}' differs from '{names[0]}' in another scenario; name the stack on the command line"
    return [], document.locate_problems([Problem(Severity.FAULT, "no-stack", at.path, message)])


def _read_live(live: Iterable[pathlib.Path], root: pathlib.Path) -> tuple[list[ManifestDocument], list[Problem]]:
    states: list[ManifestDocument] = []
    problems: list[Problem] = []
    for path in live:
        file_states, faults = read_kubectl_json(path, display_path(path, root))
        states += file_states
        problems += faults
    return states, problems


def _has_faults(problems: Iterable[Problem]) -> bool:
    return any(each.severity == Severity.FAULT for each in problems)


def answer_cases(path: pathlib.Path) -> tuple[list[RecordedCase], str, tuple[Problem, ...]]:
    """Replay recorded cases.

    Returns the cases with the simulated `then`, the differences from the recorded ones as text, and the problems.
    """
    recorded, problems = read_cases(path)
    mismatches = list(find_mismatches(recorded))
    mismatch_lines = [line for each in mismatches for line in each.lines()]
    return (
        list(with_simulated_states(recorded)),
        "\n".join([*mismatch_lines, format_summary(recorded, mismatches)]),
        tuple(problems),
    )
