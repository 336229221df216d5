"""Load, validate, plan and check a stack: the entry point of every command and of the Pulumi program."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, cast

from msgspec import Struct
from msgspec.structs import replace

from berth.as_meant import as_meant
from berth.backends.table import DEFAULT, TEAM_KEY, StackPlan, backend_name, load_backend
from berth.diagnostics import FieldPath, Problem, Severity
from berth.diagnostics.acceptance import ACCEPTED_WARNINGS, accept_warnings
from berth.diagnostics.listing import sort_by_place
from berth.loader import SourceMap, StackFile, read_config, read_stack, with_team_defaults
from berth.loader.placeholders import placeholder_warning
from berth.loader.team_reach import team_reach_problems
from berth.plan.fleet import FleetPlan

Need = Literal["kueue", "jobs"]
"""What a verb needs of a stack: queues of Kueue, or teams that submit jobs."""


class Evaluation(Struct, frozen=True):
    """The result of loading, validating, planning and checking one stack.

    The class of `plan` follows from the kind of the stack; None if the file is too faulty to plan anything.

    `problems` have places and are sorted; if one is a fault, the plan is incomplete and must not be built. `file` is
    None if no fleet was loaded. A stack that runs on another one's cluster has that one's evaluation in
    `platform_evaluation`. `left_out` has the paths of entries, queues and sections that a fault keeps out of the plan.
    """

    stack: str
    file: StackFile | None
    plan: StackPlan | None
    problems: tuple[Problem, ...]
    platform_evaluation: Evaluation | None = None
    left_out: tuple[str, ...] = ()

    @property
    def backend(self) -> str:
        """The name of the stack's backend, also for a stack file without a plan."""
        return DEFAULT if self.file is None else backend_name(self.file.config_key, self.file.fleet)

    @property
    def fleet_plan(self) -> FleetPlan | None:
        """The plan of a fleet on Google Cloud; None for a stack of another kind."""
        return self.plan if isinstance(self.plan, FleetPlan) else None

    @property
    def fleet(self) -> FleetPlan:
        """The plan of a fleet on Google Cloud, of a stack without faults that offers Kueue (`require_offer`)."""
        assert self.fleet_plan is not None
        return self.fleet_plan

    @property
    def loaded(self) -> StackFile:
        """The stack file, of a stack without faults."""
        assert self.file is not None
        return self.file

    @property
    def faults(self) -> tuple[Problem, ...]:
        """Problems that refuse the stack."""
        return tuple(p for p in self.problems if p.severity == Severity.FAULT)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """Problems that do not refuse the stack."""
        return tuple(p for p in self.problems if p.severity == Severity.WARNING)

    @property
    def unknown_releases(self) -> tuple[Problem, ...]:
        """Warnings of releases that no table has: what is answered about jobs holds for the releases that are known."""
        return tuple(problem for problem in self.warnings if problem.code == "version-unknown")

    @property
    def accepted_risks(self) -> tuple[Problem, ...]:
        """Notes of risks that the stack file accepts for a reason."""
        return tuple(p for p in self.problems if p.accepted)

    @property
    def notes(self) -> tuple[Problem, ...]:
        """Assumptions of the plan."""
        return tuple(p for p in self.problems if p.severity == Severity.NOTE)


class PlannedStack(Struct, frozen=True):
    """What a backend makes of a stack file: as in Evaluation, but the problems have paths instead of places.

    Parts of the file are set aside for the faults in `unread`, which are among the problems.
    """

    plan: StackPlan | None
    problems: tuple[Problem, ...]
    platform_evaluation: Evaluation | None = None
    left_out: tuple[str, ...] = ()
    unread: tuple[Problem, ...] = ()


class StackPlanner(Protocol):
    """The part of a backend that evaluation needs.

    `offers` is what verbs can do with such a stack, and `refusal` the fault of all others.
    """

    offers: frozenset[Need]
    refusal: Problem | None

    def plan_stack(self, file: StackFile, load_problems: Sequence[Problem], root: pathlib.Path) -> PlannedStack:
        """Parse, plan and validate a stack file; `load_problems` are not reported again."""
        ...


def evaluate_stack(stack: str, root: pathlib.Path, stack_name: str | None = None) -> Evaluation:
    """Evaluate STACK, a stack's name or a path, from its file; plan it as the stack `stack_name`, if given."""
    file, load_problems = read_stack(stack, root)
    return _evaluate(
        stack_name or stack, replace(file, stack=stack_name) if file and stack_name else file, load_problems, root
    )


def evaluate_config(stack: str, value: object, root: pathlib.Path, team: object = None) -> Evaluation:
    """Evaluate the fleet in Pulumi's config, or the `team`'s own stack if that is set."""
    if team is not None and value is None:
        return _evaluate(stack, *read_config(stack, team, root, TEAM_KEY), root)
    return _evaluate(stack, *read_config(stack, value, root), root)


def evaluate_values(name: str, fleet: Mapping[str, object], known_problems: Sequence[Problem] = ()) -> Evaluation:
    """Evaluate a fleet of plain values, of which there is no file; `name` takes the place of the stack's name.

    Parts of the fleet in which there are `known_problems` are set aside. Team files are not read: `teamFiles` has no
    meaning here.
    """
    file = StackFile(name, None, with_team_defaults(fleet), SourceMap(written=fleet), {}, written=fleet)
    return _evaluate(name, file, [*known_problems], pathlib.Path())


def evaluate_changed(evaluation: Evaluation, values: Mapping[FieldPath, object], root: pathlib.Path) -> Evaluation:
    """Return the evaluation of a stack file with other values at some paths; sections that it lacks are added.

    The problems of loading the file are not reported again.
    """
    fleet = evaluation.loaded.fleet
    for path, value in values.items():
        fleet = _with_value(fleet, path, value)
    return _evaluate(evaluation.stack, replace(evaluation.loaded, fleet=fleet), [], root)


def _with_value(fleet: object, path: FieldPath, value: object) -> object:
    if not path:
        return value
    fields = cast("Mapping[object, object]", fleet if isinstance(fleet, Mapping) else {})
    return {**fields, path[0]: _with_value(fields.get(path[0]), path[1:], value)}


def require_offer(evaluation: Evaluation, need: Need = "kueue") -> Evaluation:
    """Return the evaluation, without its plan and with a fault if the stack's backend does not offer what is needed."""
    planner = cast("StackPlanner", load_backend(evaluation.backend))
    if need in planner.offers or planner.refusal is None:
        return evaluation
    return replace(evaluation, plan=None, problems=(*evaluation.problems, planner.refusal))


def _evaluate(stack: str, file: StackFile | None, load_problems: list[Problem], root: pathlib.Path) -> Evaluation:
    if file is None:
        return Evaluation(stack, None, None, tuple(load_problems))
    planner = cast("StackPlanner", load_backend(backend_name(file.config_key, file.fleet)))
    planned = planner.plan_stack(file, load_problems, root)
    problems = planned.problems + _faults_beside_unread_parts(planner, planned, file, load_problems, root)
    problems += placeholder_warning(file.fleet if file.written is None else file.written, file.file)
    problems += tuple(team_reach_problems(cast("Mapping[str, object]", file.written or {}), file.source_map.team_files))
    problems = accept_warnings(problems, cast("Mapping[str, object]", file.fleet).get(ACCEPTED_WARNINGS))
    # A fault of the teams' defaults is there once and not for each team.
    placed = dict.fromkeys(_with_place(problem, file.source_map) for problem in problems)
    return Evaluation(
        file.stack,
        file,
        planned.plan,
        tuple(sort_by_place([*load_problems, *placed])),
        planned.platform_evaluation,
        planned.left_out,
    )


def _faults_beside_unread_parts(
    planner: StackPlanner, planned: PlannedStack, file: StackFile, load_problems: Sequence[Problem], root: pathlib.Path
) -> tuple[Problem, ...]:
    """Return what else is wrong with the entries that are set aside, as if what cannot be read in them were right."""
    meant = as_meant(file.fleet, planned.unread, by_entry=True)
    if not meant.corrected:
        return ()
    found = planner.plan_stack(replace(file, fleet=meant.fleet), load_problems, root).problems
    return meant.more_faults(found, planned.problems)


def _with_place(problem: Problem, places: SourceMap) -> Problem:
    path = places.written_path(problem.path)
    message = problem.message
    if path != problem.path and problem.code == "duplicate-name":  # one name for all teams
        message = message.replace("write another name", "write {team} in the name")
    if problem.code == "missing-key" and (near := places.near.get(problem.path[:-1])):
        message = f"{message}; if it overrides {near}, write that name"
    if problem.code == "unknown-reference" and (
        name := next((each for each in places.left_out if f"'{each}'" in message), None)
    ):
        what = message.partition(";")[0]
        message = f"{what}: the stack leaves '{name}' out of its base; leave out what uses it too, or keep it"
    return replace(problem.with_place(places.place_of(problem.path)), path=path, message=message)
