"""`berth admit`: who gets in, who waits and why, who is pushed out, before anybody submits."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from berth.diagnostics import Problem, Severity
from berth.evaluate import evaluate_stack, require_kueue
from berth.jobs.files import ManifestDocument, list_yaml_files, read_documents, read_kubectl_json
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
"""Faults of lint that Kueue's quota does not see."""


class SimulationResult(Struct, frozen=True):
    """One story, or two to compare, and what is wrong; with a fault there is no story. `warnings` are worth a look."""

    stories: tuple[SimulationRun, ...]
    problems: tuple[Problem, ...]

    @property
    def faults(self) -> tuple[Problem, ...]:
        """What keeps the question from being answered."""
        return tuple(each for each in self.problems if each.severity == Severity.FAULT)


def run(arguments: Sequence[str], live: Sequence[pathlib.Path], root: pathlib.Path) -> SimulationResult:
    """Simulate. `arguments` are one or two stacks, then manifests, folders of them, or scenarios.

    A scenario that names its stack needs none before it. `live` are files that kubectl printed: the beginning. One
    among the arguments is known by what is in it.
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
            Problem(Severity.FAULT, "no-jobs", (), f"nothing happens; write berth admit {arguments[0]} JOBS...")
        )
    unique = tuple(dict.fromkeys(problems))
    return SimulationResult(() if _has_faults(unique) else tuple(story for story in stories if story), unique)


class _Simulation:
    """One stack, with everything that is to happen to it."""

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
        """Warnings about jobs that Kueue admits by their quota and that never run, as `berth lint` reports them."""
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


# --- what the words on the command line are ---------------------------------------------------------------------------


def _split_arguments(arguments: Sequence[str], root: pathlib.Path) -> tuple[list[str], list[str]]:
    """The stacks that the arguments begin with, two at the most, and the rest."""
    stack_count = 0
    while stack_count < min(2, len(arguments)) and _is_stack(arguments[stack_count], root):
        stack_count += 1
    return list(arguments[:stack_count]), list(arguments[stack_count:])


def _is_stack(argument: str, root: pathlib.Path) -> bool:
    """A stack's name, or a file with a `config` at its top."""
    located = locate(argument, root)
    if located.by_name:
        return os.path.isfile(located.file) or not os.path.exists(argument)
    if not os.path.isfile(located.file):
        return False
    parsed, _ = read_documents(located.file, located.display_path)
    return any("config" in as_mapping(each.value) for each in parsed)


def _read_documents(names: Iterable[str], root: pathlib.Path) -> tuple[list[ManifestDocument], list[Problem]]:
    """The documents of files and folders, looked for from the current folder and then from the project's."""
    results: list[ManifestDocument] = []
    problems: list[Problem] = []
    for name in names:
        path = pathlib.Path(name)
        if not path.is_absolute() and not os.path.exists(path):
            path = root / path
        files = list_yaml_files(path)
        if not files:
            problems.append(
                Problem(Severity.FAULT, "no-file", (), "no YAML files lie in this folder", display_path(path, root))
            )
        for file in files:
            reader = read_kubectl_json if file.suffix == ".json" else read_documents
            file_documents, faults = reader(file, display_path(file, root))
            results += file_documents
            problems += faults
    return results, problems


def _scenario_stack(job_documents: Iterable[ManifestDocument], jobs: Sequence[str]) -> tuple[list[str], list[Problem]]:
    """The stack that the scenarios name."""
    stack_entries = list(scenario_values(job_documents, "stack"))
    names = [str(at.value) for _, at in stack_entries]
    if len(set(names)) == 1:
        return names[:1], []
    if not names:
        reason = f"'{jobs[0]}' is no stack" if jobs else "no stack is named"
        return [], [Problem(Severity.FAULT, "no-stack", (), f"{reason}; write berth admit STACK JOBS...")]
    document, at = stack_entries[1]
    message = f"'{names[1]}', and another scenario names '{names[0]}'; name the stack on the command line"
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
    """Recorded cases with the model's own `then`; in words, where it differs from the file's and how far it agrees."""
    recorded, problems = read_cases(path)
    mismatches = list(find_mismatches(recorded))
    mismatch_lines = [line for each in mismatches for line in each.lines()]
    return (
        list(with_simulated_states(recorded)),
        "\n".join([*mismatch_lines, format_summary(recorded, mismatches)]),
        tuple(problems),
    )
