"""The simulation of `berth admit`: reads stacks, manifests and scenarios, and runs the simulator."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from berth.cli.admit.forecast import ForecastRequest, Forecasts, forecast_run, moment_of
from berth.cli.admit.manifest_faults import NEVER_ADMITTED, as_differences, lint_submissions
from berth.cli.admit.stack_argument import is_stack, scenario_stack
from berth.cli.manifests import read_files, read_kubectl_files
from berth.diagnostics import Problem, Severity, did_you_mean, join_quoted
from berth.evaluate import Evaluation, evaluate_stack, require_offer
from berth.jobs.files import ManifestDocument
from berth.jobs.namespaces import in_namespace
from berth.lint.findings import Finding
from berth.lint.fleet import LintContext
from berth.lint.trial import try_pod_sets
from berth.placement.beside import Room
from berth.plan.fleet import FleetPlan
from berth.simulator.fleet import SimulatedFleet, nameless_warnings, unmodelled_warnings, with_topology_nodes
from berth.simulator.live import is_cluster_state, read_cluster_state
from berth.simulator.occupancy import NodeRoom, NodesOfFleet
from berth.simulator.scenario import ScenarioReader, is_scenario
from berth.simulator.scheduler.model import Job
from berth.simulator.story import SimulationRun, run_steps
from berth.simulator.text import RunFormatter


class SimulationResult(Struct, frozen=True):
    """One simulated run, or two to compare, and the problems; no run with a fault other than of `NEVER_ADMITTED`."""

    stories: tuple[SimulationRun, ...]
    problems: tuple[Problem, ...]
    findings: tuple[tuple[str, Finding], ...] = ()
    """What lint says of each object, with the stack that it was checked against."""
    forecasts: Forecasts | None = None
    """When the jobs that wait will start, if a history was given."""

    @property
    def faults(self) -> tuple[Problem, ...]:
        """The problems for which the exit status is 1."""
        return tuple(each for each in self.problems if each.severity == Severity.FAULT)


def simulate_arguments(
    arguments: Sequence[str],
    live: Sequence[pathlib.Path],
    root: pathlib.Path,
    team: str | None = None,
    history: pathlib.Path | None = None,
) -> SimulationResult:
    """Simulate jobs. `arguments` are one or two stacks, then manifests, folders of manifests, or scenarios.

    No stack is needed if a scenario names one. `live` are files with the output of kubectl, the initial state; such a
    file is also recognized among the arguments, by its content. Objects without a namespace get that of `team`. With a
    `history` of jobs it is forecast when those that wait will start.
    """
    stacks = 0  # the leading ones, at most two
    while stacks < min(2, len(arguments)) and is_stack(arguments[stacks], root):
        stacks += 1
    return run_stacks(arguments[:stacks], arguments[stacks:], live, root, team, history)


def run_stacks(
    stacks: Sequence[str],
    jobs: Sequence[str],
    live: Sequence[pathlib.Path],
    root: pathlib.Path,
    team: str | None = None,
    history: pathlib.Path | None = None,
    known: Mapping[str, Evaluation] | None = None,
) -> SimulationResult:
    """Simulate jobs on one stack, on two to compare, or on the stack that a scenario names; some may be evaluated."""
    manifests = read_files(jobs, root)
    problems = list(manifests.problems)
    states = [document for document in manifests.documents if is_cluster_state(document)]
    job_documents = [document for document in manifests.documents if not is_cluster_state(document)]
    if not stacks and not _has_faults(problems):
        stacks, faults = scenario_stack(job_documents, jobs)
        problems += faults
    live_documents, faults = read_kubectl_files(live, root)
    problems += faults
    request = None
    if history is not None and not _has_faults(problems):
        if len(stacks) != 1:
            message = "forecasts are for one stack; name one"
            problems.append(Problem(Severity.FAULT, "bad-value", ("--history",), message))
        request = ForecastRequest(history, moment_of(live), root)
    simulations = [
        _Simulation(stack, root, job_documents, [*live_documents, *states], team, known, request) for stack in stacks
    ]
    stories = [simulation.simulate() for simulation in simulations] if not _has_faults(problems) else []
    problems += _collect_problems(simulations)
    if not _has_faults(problems):
        scenarios = {document.file for document in job_documents if is_scenario(document)}
        checked = {document.file for document in states}.union(*(each.files_with_jobs for each in simulations))
        problems += manifests.without_jobs(checked | scenarios)
    if not (jobs or live or _has_faults(problems)):
        problems.append(
            Problem(Severity.FAULT, "no-jobs", (), f"no jobs to simulate; write berth admit {stacks[0]} JOBS...")
        )
    unique = tuple(dict.fromkeys(problems))
    is_complete = all(each.code in NEVER_ADMITTED for each in unique if each.severity == Severity.FAULT)
    findings = tuple((simulation.stack, each) for simulation in simulations for each in simulation.findings)
    forecasts = simulations[0].forecasts if simulations and is_complete else None
    runs = tuple(story for story in stories if story) if is_complete else ()
    return SimulationResult(runs, unique, findings, forecasts)


def simulate_document(evaluation: Evaluation, document: ManifestDocument, root: pathlib.Path) -> SimulationResult:
    """Simulate the steps or jobs of one document on a stack."""
    simulation = _Simulation(evaluation.stack, root, [document], [], known={evaluation.stack: evaluation})
    story = simulation.simulate()
    problems = tuple(dict.fromkeys([*simulation.problems, *simulation.manifest_faults]))
    return SimulationResult(() if story is None or _has_faults(problems) else (story,), problems)


def _collect_problems(simulations: Sequence[_Simulation]) -> Iterator[Problem]:
    """Yield the problems of all stacks; of two stacks, a fault of a manifest on only one of them is a difference."""
    for simulation in simulations:
        yield from simulation.problems
        others = [each.manifest_faults for each in simulations if each is not simulation]
        if others and simulation.is_simulated:
            yield from as_differences(simulation.manifest_faults, others[0], simulation.stack)
        else:
            yield from simulation.manifest_faults


class _Simulation:
    """The simulation of one stack."""

    def __init__(
        self,
        stack: str,
        root: pathlib.Path,
        job_documents: Sequence[ManifestDocument],
        live_documents: Sequence[ManifestDocument],
        team: str | None = None,
        known: Mapping[str, Evaluation] | None = None,
        request: ForecastRequest | None = None,
    ) -> None:
        self.stack, self.known = stack, known or {}
        self.team, self.request = team, request
        self.root = root
        self.job_documents = job_documents
        self.live_documents = live_documents
        self.problems: list[Problem] = []
        self.manifest_faults: tuple[Problem, ...] = ()
        self.files_with_jobs: frozenset[str] = frozenset()
        self.findings: tuple[Finding, ...] = ()
        self.forecasts: Forecasts | None = None
        self.is_simulated = False
        self._contexts: list[tuple[SimulatedFleet, LintContext]] = []

    def simulate(self) -> SimulationRun | None:
        fleet, problems = self._load_fleet(self.stack)
        self.problems += problems
        if fleet is None:
            return None
        steps = ScenarioReader(fleet, self._load_fleet, self._load_documents, self._bar_flavors)
        live, problems = read_cluster_state(self.live_documents, fleet)
        steps.add_existing({each.job.name: each.display_name for each in live.workloads})
        steps.add(self.job_documents)
        self.problems += [*problems, *steps.problems]
        self._check_manifests(steps)
        if _has_faults([*self.problems, *steps.manifest_problems]):
            return None
        self.is_simulated = True
        run = run_steps(
            fleet,
            steps.steps,
            live if self.live_documents else None,
            lambda each: NodesOfFleet(
                self._context_of(each).node_classes, each.setup.resource_flavors, each.accelerator_nouns.keys()
            ),
        )
        arriving = (each.arrival.job for each in steps.steps if each.arrival is not None)
        self.problems += [*nameless_warnings(fleet, arriving), *run.doubtful_turns]
        self._judge_rooms(run)
        if self.request is not None:
            plan = self._context_of(fleet).plan
            self.forecasts, problems = forecast_run(plan, live, steps.steps, run, self.request)
            self.problems += problems
        return run

    def _judge_rooms(self, run: SimulationRun) -> None:
        """Add what the nodes have no room for at the end, or perhaps none, to the problems and to lint's findings."""
        formatter = RunFormatter(run)
        rooms = {each.job: each.room for each in run.unfinished if each.room is not None}
        flavors = {each.job: each.flavors for each in run.unfinished if each.flavors}
        findings: list[Finding] = []
        for finding in self.findings:
            name = f"{finding.namespace}/{finding.name}"
            jobs = [name] if finding.workloads == 1 else [f"{name}-{number}" for number in range(finding.workloads)]
            found = [_room_problem(formatter, room, finding.location) for job in jobs if (room := rooms.pop(job, None))]
            chosen = next((flavors[job] for job in jobs if job in flavors), finding.flavors)
            findings.append(replace(finding, problems=(*finding.problems, *found), flavors=chosen))
            self._add_rooms(finding.object_name, found)
        for job, room in rooms.items():  # of a scenario, whose table is the answer
            problem = _room_problem(formatter, room)
            self._add_rooms(formatter.job_name(job), [replace(problem, severity=Severity.WARNING)])
        self.findings = tuple(findings)

    def _add_rooms(self, name: str, found: Iterable[Problem]) -> None:
        self.problems += [replace(each, message=f"{name}: {each.message}") for each in found]

    def _check_manifests(self, steps: ScenarioReader) -> None:
        """Collect the faults of `berth lint`; it also has those of reading jobs, which are used only without others."""
        linted = lint_submissions((self._context_of(each.fleet), each.documents) for each in steps.submissions)
        self.files_with_jobs, self.findings = linted.files, linted.findings
        read_faults = tuple(each for each in steps.manifest_problems if each.severity == Severity.FAULT)
        self.manifest_faults = linted.faults or read_faults
        if all(each.code in NEVER_ADMITTED for each in self.manifest_faults):
            warnings = [each for each in steps.manifest_problems if each.severity != Severity.FAULT]
            self.problems += [*linted.notices, *(replace(each, path=()) for each in warnings)]

    def _load_fleet(self, stack: str) -> tuple[SimulatedFleet | None, list[Problem]]:
        evaluation = require_offer(self.known.get(stack) or evaluate_stack(stack, self.root))
        if evaluation.faults or evaluation.fleet_plan is None:
            return None, list(evaluation.faults)
        if self.team is not None:
            namespace, faults = namespace_of_team(evaluation.fleet_plan, self.team)
            if namespace is None:
                return None, faults
            self.job_documents = [in_namespace(each, namespace) for each in self.job_documents]
        context = LintContext(evaluation.fleet_plan)
        self._contexts.append((fleet := with_topology_nodes(evaluation.fleet_plan, context.node_classes), context))
        return fleet, [*evaluation.unknown_releases, *unmodelled_warnings(evaluation.fleet_plan)]

    def _context_of(self, fleet: SimulatedFleet) -> LintContext:
        return next(context for known, context in self._contexts if known is fleet)

    def _bar_flavors(self, fleet: SimulatedFleet, job: Job) -> Job:
        """Return the job with the flavors on whose topology Kueue finds no room for it, even on empty nodes.

        A job that may start with fewer pods has no more than such nodes hold.
        """
        if not any(each.levels for each in fleet.setup.resource_flavors.values()):
            return job
        trial = try_pod_sets(self._context_of(fleet), job.queue, job.pod_sets)
        most = (each.count for each in trial.workload.job.pod_sets)
        pod_sets = tuple(each.with_count(count) for each, count in zip(job.pod_sets, most, strict=True))
        return replace(job, pod_sets=pod_sets, barred=trial.barred_flavors)

    def _load_documents(self, name: str) -> tuple[list[ManifestDocument], list[Problem]]:
        manifests = read_files([name], self.root)
        return list(manifests.documents), list(manifests.problems)


# --- arguments --------------------------------------------------------------------------------------------------------


def namespace_of_team(plan: FleetPlan, name: str) -> tuple[str | None, list[Problem]]:
    """Return the namespace that a team's jobs have if they name none; None, with a fault, for an unknown team."""
    teams = {each.name: each for each in plan.teams}
    if name in teams:
        return teams[name].namespace, []
    hint = did_you_mean(name, teams) or f"; the teams are {join_quoted(teams)}"
    return None, [Problem(Severity.FAULT, "unknown-name", ("--team",), f"no team '{name}'{hint}")]


def _room_problem(formatter: RunFormatter, room: NodeRoom, place: str = "") -> Problem:
    if room.room is Room.NONE:
        message = f"{formatter.describe_room(room)}; submit it when one of them has ended"
        return Problem(Severity.FAULT, "nodes-taken", (), message, place)
    return Problem(Severity.WARNING, "nodes-unknown", (), formatter.describe_room(room), place)


def _has_faults(problems: Iterable[Problem]) -> bool:
    return any(each.severity == Severity.FAULT for each in problems)
