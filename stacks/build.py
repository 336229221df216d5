"""Selects the composition of a stack. Only that one is loaded: a fleet needs the provider of its own cloud alone."""

from __future__ import annotations

from typing import Any

import pulumi

from berth.evaluate import Evaluation
from berth.plan.ack import AckFleetPlan
from berth.plan.fleet import FleetPlan
from berth.plan.team_stack import TeamStackPlan


def build(evaluation: Evaluation) -> dict[str, Any]:
    """Register a sound stack, and return what it exports. Raises RunError, which the engine prints plainly."""
    plan = buildable_plan(evaluation)
    if isinstance(plan, FleetPlan):
        from stacks import platform

        return platform.build(plan)
    if isinstance(plan, TeamStackPlan):
        from stacks import team

        return team.build(plan)
    try:
        from stacks import ack
    except ModuleNotFoundError as error:
        if error.name != "pulumi_alicloud":
            raise
        raise pulumi.RunError("a fleet on Alibaba Cloud needs its provider: pip install 'berth[ack]'") from None
    return ack.build(plan)


def buildable_plan(evaluation: Evaluation) -> FleetPlan | AckFleetPlan | TeamStackPlan:
    """Return the plan of a stack that may be built, and log its warnings. Raises RunError."""
    plan = evaluation.plan_of_any_kind
    if evaluation.faults or plan is None:
        raise pulumi.RunError(
            "\n".join([f"stack '{evaluation.stack}' is refused:", *(p.line() for p in evaluation.faults)])
        )
    for problem in evaluation.warnings:
        pulumi.log.warn(problem.line_without_severity())
    return plan
