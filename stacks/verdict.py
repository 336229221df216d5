"""The whole head in one step: read, parse, plan, prove. What every verb and the program itself start from."""

from __future__ import annotations

import pathlib
from dataclasses import dataclass, replace

from components.plan.ack import AckFleetPlan
from components.plan.fleet import FleetPlan
from stacks.planner import plan_fleet
from stacks.planner.ack import plan_ack
from stacks.problems import Problem
from stacks.proofs import prove, prove_ack
from stacks.read import Places, StackFile, by_place, read_config, read_stack
from stacks.spec.parse import parse


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to be said of one stack. A fleet on Alibaba Cloud has its plan in `ack`, any other in `plan`; both are
    None where not even the frame of the fleet could be understood.

    `problems` are placed and sorted; with a fault among them the plan is of what could be understood, and must not be
    built. `file` is None where there was no fleet to read.
    """

    stack: str
    file: StackFile | None
    plan: FleetPlan | None
    problems: tuple[Problem, ...]
    ack: AckFleetPlan | None = None

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
    return _verdict(called or stack, replace(file, stack=called) if file and called else file, found)


def of_config(stack: str, value: object, root: pathlib.Path) -> Verdict:
    """The verdict on the fleet that the engine handed over."""
    return _verdict(stack, *read_config(stack, value, root))


def on_kueue(verdict: Verdict) -> Verdict:
    """The verdict of a verb that knows nothing but GKE and Kueue: a fleet of another backend is a fault."""
    if verdict.ack is None:
        return verdict
    message = "this verb knows fleets with Kueue alone; of one on ACK there are check, plan, render and preview"
    problem = Problem("fault", "wrong-backend", ("ack",), message)
    return replace(verdict, problems=(*verdict.problems, problem), ack=None)


def _verdict(stack: str, file: StackFile | None, found: list[Problem]) -> Verdict:
    if file is None:
        return Verdict(stack, None, None, tuple(found))
    parsed = parse(file.fleet, found)
    if (on_ack := plan_ack(file.stack, parsed)) is not None:
        later = parsed.problems + on_ack.problems + prove_ack(on_ack)
        problems = tuple(by_place([*found, *_placed(later, file.places)]))
        return Verdict(file.stack, file, None, problems, on_ack.plan if parsed.frame else None)
    planned = plan_fleet(file.stack, parsed)
    later = parsed.problems + ((planned.problems + prove(planned)) if planned else ())
    plan = planned.plan if planned and parsed.frame else None
    return Verdict(file.stack, file, plan, tuple(by_place([*found, *_placed(later, file.places)])))


def _placed(problems: tuple[Problem, ...], places: Places) -> list[Problem]:
    return [problem.at(places.of(problem.path)) for problem in problems]
