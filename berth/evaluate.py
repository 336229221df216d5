"""The whole head in one step: read, parse, plan, prove. What every verb and the program itself start from."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING, cast

from msgspec import Struct
from msgspec.structs import replace

from berth.diagnostics import Problem
from berth.loader import Places, StackFile, by_place, locate, read_config, read_stack
from berth.plan.fleet import FleetPlan
from berth.planner import plan_fleet
from berth.spec.parse import Parsed, parse
from berth.validation import prove

if TYPE_CHECKING:  # other kinds of stacks are loaded when there is one: a verb should answer at once
    from berth.plan.ack import AckFleetPlan
    from berth.plan.team_stack import TeamStackPlan

TEAM = "berth:team"
"""The key of a team's own stack."""


class Verdict(Struct, frozen=True):
    """What is to be said of one stack. A fleet on Alibaba Cloud has its plan in `ack`, any other in `plan`; both are
    None where not even the frame of the fleet could be understood.

    `problems` are placed and sorted; with a fault among them the plan is of what could be understood, and must not be
    built. `file` is None where there was no fleet to read. A team's own stack has a plan in `team`, and in `platform`
    what is to be said of the stack it refers to; its `plan` is None.
    """

    stack: str
    file: StackFile | None
    plan: FleetPlan | None
    problems: tuple[Problem, ...]
    ack: AckFleetPlan | None = None
    team: TeamStackPlan | None = None
    platform: Verdict | None = None

    @property
    def of_team(self) -> bool:
        """Whether this is a team's own stack."""
        return self.file is not None and self.file.kind == TEAM

    @property
    def whole(self) -> FleetPlan | AckFleetPlan | TeamStackPlan | None:
        """The plan, of whatever kind."""
        return self.plan or self.ack or self.team

    @property
    def faults(self) -> tuple[Problem, ...]:
        """What makes the fleet unsound."""
        return tuple(p for p in self.problems if p.severity == "fault")

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """What its owner should look at."""
        return tuple(p for p in self.problems if p.severity == "warning")

    @property
    def notes(self) -> tuple[Problem, ...]:
        """What the plan assumes."""
        return tuple(p for p in self.problems if p.severity == "note")


def of_stack(stack: str, root: pathlib.Path, called: str | None = None) -> Verdict:
    """The verdict on STACK, a stack's name or a path, read from its file; planned as the stack `called`, if given."""
    file, found = read_stack(stack, root)
    return _verdict(called or stack, replace(file, stack=called) if file and called else file, found, root)


def of_config(stack: str, value: object, root: pathlib.Path, team: object = None) -> Verdict:
    """The verdict on the fleet that the engine handed over, or on a `team`'s own stack, where there is one."""
    if team is not None and value is None:
        return _verdict(stack, *read_config(stack, team, root, TEAM), root)
    return _verdict(stack, *read_config(stack, value, root), root)


def on_kueue(verdict: Verdict) -> Verdict:
    """The verdict of a verb that knows nothing but fleets on GKE with Kueue: any other stack is a fault."""
    if verdict.of_team:
        message = "this is a team's own stack, and the verb is about fleets: name its platform"
        problem = Problem("fault", "wrong-kind", (), message)
        return replace(verdict, problems=(*verdict.problems, problem), team=None)
    if verdict.ack is None:
        return verdict
    message = "this verb knows fleets with Kueue alone, and nothing of ACK's quota tree"
    problem = Problem("fault", "wrong-backend", ("ack",), message)
    return replace(verdict, problems=(*verdict.problems, problem), ack=None)


def _verdict(stack: str, file: StackFile | None, found: list[Problem], root: pathlib.Path) -> Verdict:
    if file is None:
        return Verdict(stack, None, None, tuple(found))
    if file.kind == TEAM:
        return _of_team(file, found, root)
    parsed = parse(file.fleet, found)
    if parsed.ack is not None:
        return _on_ack(file, found, parsed)
    planned = plan_fleet(file.stack, parsed)
    later = parsed.problems + ((planned.problems + prove(planned)) if planned else ())
    plan = planned.plan if planned and parsed.frame else None
    return Verdict(file.stack, file, plan, tuple(by_place([*found, *_placed(later, file.places)])))


def _on_ack(file: StackFile, found: list[Problem], parsed: Parsed) -> Verdict:
    """The verdict on a fleet on Alibaba Cloud."""
    from berth.planner.ack.fleet import plan_ack
    from berth.validation.ack import prove_ack

    planned = plan_ack(file.stack, parsed)
    assert planned is not None
    later = parsed.problems + planned.problems + prove_ack(planned)
    problems = tuple(by_place([*found, *_placed(later, file.places)]))
    return Verdict(file.stack, file, None, problems, planned.plan if parsed.frame else None)


def _of_team(file: StackFile, found: list[Problem], root: pathlib.Path) -> Verdict:
    """The verdict on a team's own stack, with its platform's plan in the place of what that exports."""
    from berth.spec.team_stack import parse_team
    from berth.team_stack import plan_team  # no fleet's verdict needs what it imports

    spec, later, faulty = parse_team(cast("dict[str, object]", file.fleet))
    plan = platform = None
    if spec is not None:
        found_at = locate(spec.platform, root)
        name = found_at.stack
        # The file of the same project, also at an earlier revision: not one that lies in the current folder.
        inside = root / spec.platform
        there = spec.platform if found_at.by_name or not inside.is_file() else str(inside)
        platform = of_stack(there, root) if name != file.stack else None
        if platform is None:
            message = f"'{spec.platform}' is this stack itself; write the stack of the platform"
            later.append(Problem("fault", "no-platform", ("platform",), message))
        elif platform.plan is None or platform.file is None or platform.faults:
            later.append(_unsound(spec.platform, platform))
        else:
            plan, more = plan_team(file.stack, name, spec, faulty, platform.plan, platform.file.fleet)
            later += more
    problems = by_place([*found, *_placed(tuple(later), file.places)])
    return Verdict(file.stack, file, None, tuple(problems), team=plan, platform=platform)


def _unsound(name: str, platform: Verdict) -> Problem:
    if platform.ack is not None:
        message = f"'{name}' is a fleet on Alibaba Cloud, whose teams have no stacks of their own yet"
    elif platform.of_team:
        message = f"'{name}' is a team's own stack; write the stack of the platform"
    elif platform.file is None and len(platform.faults) == 1 and not platform.faults[0].place:
        message = platform.faults[0].message
    else:
        message = f"the platform '{name}' is refused; `berth check {name}` says why"
    return Problem("fault", "no-platform", ("platform",), message)


def _placed(problems: tuple[Problem, ...], places: Places) -> list[Problem]:
    return [problem.at(places.of(problem.path)) for problem in problems]
