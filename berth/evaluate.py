"""Load, validate, plan and check a stack: the entry point of every command and of the Pulumi program."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from msgspec import Struct
from msgspec.structs import replace

from berth.diagnostics import Problem, Severity, format_path
from berth.loader import SourceMap, StackFile, locate, read_config, read_stack, sort_by_place, with_team_defaults
from berth.plan.fleet import FleetPlan
from berth.planner import PlanningResult, plan_fleet
from berth.planner.left_out import left_out
from berth.spec.parse import Parsed, parse_fleet
from berth.validation import validate

if TYPE_CHECKING:  # other kinds of stacks are imported only if needed, to keep commands fast
    from berth.backends.table import StackPlan
    from berth.plan.team_stack import TeamStackPlan
    from berth.spec.team_stack import FaultyEntries, TeamStackSpec

TEAM_KEY = "berth:team"
"""Config key of a team's own stack."""


class Evaluation(Struct, frozen=True):
    """The result of loading, validating, planning and checking one stack.

    The class of `plan` follows from the kind of the stack; None if the file is too faulty to plan anything.

    `problems` have places and are sorted; if one is a fault, the plan is incomplete and must not be built. `file` is
    None if no fleet was loaded. A team's own stack has the evaluation of its platform's stack in `platform_evaluation`.
    `left_out` has the paths of entries, queues and sections that a fault keeps out of the plan.
    """

    stack: str
    file: StackFile | None
    plan: StackPlan | None
    problems: tuple[Problem, ...]
    platform_evaluation: Evaluation | None = None
    left_out: tuple[str, ...] = ()

    @property
    def is_team_stack(self) -> bool:
        """Whether this is a team's own stack."""
        return self.file is not None and self.file.config_key == TEAM_KEY

    @property
    def fleet_plan(self) -> FleetPlan | None:
        """The plan of a fleet on Google Cloud; None for a stack of another kind."""
        return self.plan if isinstance(self.plan, FleetPlan) else None

    @property
    def faults(self) -> tuple[Problem, ...]:
        """Problems that refuse the stack."""
        return tuple(p for p in self.problems if p.severity == Severity.FAULT)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """Problems that do not refuse the stack."""
        return tuple(p for p in self.problems if p.severity == Severity.WARNING)

    @property
    def notes(self) -> tuple[Problem, ...]:
        """Assumptions of the plan."""
        return tuple(p for p in self.problems if p.severity == Severity.NOTE)


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


def evaluate_team_values(name: str, team: Mapping[str, object], platform: Evaluation) -> Evaluation:
    """Evaluate a team's workloads of plain values, for an evaluated platform; with faults in that, only their keys.

    The key `platform` of `team` is what messages call the platform.
    """
    file = StackFile(name, None, team, SourceMap(), {}, TEAM_KEY)
    spec, problems, faulty_workloads = _parse_team_stack(file)
    plan = None
    if spec is not None and platform.fleet_plan is not None and not platform.faults:
        plan, plan_problems = _plan_team_stack(file, spec, faulty_workloads, spec.platform, platform)
        problems += plan_problems
    return Evaluation(name, file, plan, tuple(problems), platform_evaluation=platform)


def require_kueue(evaluation: Evaluation) -> Evaluation:
    """Return the evaluation, with a fault if the stack is not a fleet on GKE with Kueue."""
    if evaluation.is_team_stack:
        message = "this is a team's own stack, but the command needs a fleet; write the stack of its platform"
        problem = Problem(Severity.FAULT, "wrong-kind", (), message)
        return replace(evaluation, problems=(*evaluation.problems, problem), plan=None)
    if evaluation.plan is None or evaluation.plan.backend != "ack":
        return evaluation
    message = "this command supports only fleets with Kueue, not an ACK One fleet; write a stack on Google Cloud"
    problem = Problem(Severity.FAULT, "wrong-backend", ("ack",), message)
    return replace(evaluation, problems=(*evaluation.problems, problem), plan=None)


def _evaluate(stack: str, file: StackFile | None, load_problems: list[Problem], root: pathlib.Path) -> Evaluation:
    if file is None:
        return Evaluation(stack, None, None, tuple(load_problems))
    if file.config_key == TEAM_KEY:
        return _evaluate_team_stack(file, load_problems, root)
    parsed = parse_fleet(file.fleet, load_problems)
    if parsed.ack is not None:
        return _evaluate_ack(file, load_problems, parsed)
    planned = plan_fleet(file.stack, parsed)
    plan_problems = parsed.problems + ((planned.problems + validate(planned)) if planned else ())
    plan = planned.plan if planned and parsed.has_frame else None
    return Evaluation(
        file.stack,
        file,
        plan,
        tuple(sort_by_place([*load_problems, *_with_places(plan_problems, file.source_map)])),
        left_out=_left_out(parsed, file.fleet, planned) if planned else (),
    )


def _left_out(parsed: Parsed, fleet: object, planned: PlanningResult) -> tuple[str, ...]:
    pools = None if planned.plan.workers else [pool.name for pool in planned.plan.pools]
    paths = left_out(fleet, parsed.set_aside, pools, set(planned.origins.values()))
    return tuple(map(format_path, paths))


def _evaluate_ack(file: StackFile, load_problems: list[Problem], parsed: Parsed) -> Evaluation:
    """Evaluate a fleet on Alibaba Cloud."""
    from berth.planner.ack.fleet import plan_ack
    from berth.validation.ack import validate_ack

    planned = plan_ack(file.stack, parsed)
    assert planned is not None
    plan_problems = parsed.problems + planned.problems + validate_ack(planned)
    problems = tuple(sort_by_place([*load_problems, *_with_places(plan_problems, file.source_map)]))
    paths = left_out(file.fleet, parsed.set_aside, None, set(planned.origins.values()))
    return Evaluation(
        file.stack,
        file,
        planned.plan if parsed.has_frame else None,
        problems,
        left_out=tuple(map(format_path, paths)),
    )


def _evaluate_team_stack(file: StackFile, load_problems: list[Problem], root: pathlib.Path) -> Evaluation:
    """Evaluate a team's own stack, using its platform's plan instead of deployed outputs."""
    spec, plan_problems, faulty_workloads = _parse_team_stack(file)
    plan = platform = None
    if spec is not None:
        located = locate(spec.platform, root)
        platform_name = located.stack
        # Read the platform's file from the same project and revision, not from the current directory.
        platform_file = root / spec.platform
        platform_stack = spec.platform if located.by_name or not os.path.isfile(platform_file) else str(platform_file)
        platform = evaluate_stack(platform_stack, root) if platform_name != file.stack else None
        if platform is None:
            message = f"'{spec.platform}' is this stack itself; write the stack of the platform"
            plan_problems.append(Problem(Severity.FAULT, "no-platform", ("platform",), message))
        elif platform.fleet_plan is None or platform.file is None or platform.faults:
            plan_problems.append(_platform_fault(spec.platform, platform))
        else:
            plan, team_problems = _plan_team_stack(file, spec, faulty_workloads, platform_name, platform)
            plan_problems += team_problems
    problems = sort_by_place([*load_problems, *_with_places(tuple(plan_problems), file.source_map)])
    return Evaluation(file.stack, file, plan, tuple(problems), platform_evaluation=platform)


def _parse_team_stack(file: StackFile) -> tuple[TeamStackSpec | None, list[Problem], FaultyEntries]:
    from berth.spec.team_stack import parse_team_stack

    return parse_team_stack(cast("dict[str, object]", file.fleet))


def _plan_team_stack(
    file: StackFile, spec: TeamStackSpec, faulty: FaultyEntries, platform_name: str, platform: Evaluation
) -> tuple[TeamStackPlan | None, list[Problem]]:
    from berth.team_stack import plan_team_stack  # imported here, because fleets do not need it

    assert platform.fleet_plan is not None and platform.file is not None
    return plan_team_stack(file.stack, platform_name, spec, faulty, platform.fleet_plan, platform.file.fleet)


def _platform_fault(name: str, platform: Evaluation) -> Problem:
    if platform.plan is not None and platform.plan.backend == "ack":
        message = (
            f"'{name}' is a fleet on Alibaba Cloud, which does not support team stacks; write a platform on Google "
            "Cloud"
        )
    elif platform.is_team_stack:
        message = f"'{name}' is a team's own stack; write the stack of the platform"
    elif platform.file is None and len(platform.faults) == 1 and not platform.faults[0].place:
        message = platform.faults[0].message
    else:
        message = f"the platform '{name}' has faults; run berth check {name}"
    return Problem(Severity.FAULT, "no-platform", ("platform",), message)


def _with_places(problems: tuple[Problem, ...], places: SourceMap) -> list[Problem]:
    """Return the problems where their values are written: a fault of the teams' defaults once and not for each team."""
    return list(dict.fromkeys(_with_place(problem, places) for problem in problems))


def _with_place(problem: Problem, places: SourceMap) -> Problem:
    path = places.written_path(problem.path)
    message = problem.message
    if path != problem.path and problem.code == "duplicate-name":  # one name for all teams
        message = message.replace("write another name", "write {team} in the name")
    return replace(problem.with_place(places.place_of(problem.path)), path=path, message=message)
