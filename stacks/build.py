"""Select the composition of a stack, and import only that, because a fleet needs only its own cloud's provider."""

from __future__ import annotations

from typing import Any

import pulumi

from berth.backends.table import StackPlan
from berth.evaluate import Evaluation
from berth.plan.fleet import FleetPlan
from berth.plan.team_stack import TeamStackPlan


def build_stack(evaluation: Evaluation) -> dict[str, Any]:
    """Register a valid stack and return its outputs. Raises RunError, which the engine prints without a traceback."""
    plan = buildable_plan(evaluation)
    if isinstance(plan, FleetPlan):
        from stacks import platform

        return platform.build_platform(plan)
    if isinstance(plan, TeamStackPlan):
        from stacks import team

        return team.build_team_stack(plan)
    try:
        from stacks import ack
    except ModuleNotFoundError as error:
        if error.name != "pulumi_alicloud":
            raise
        raise pulumi.RunError("a fleet on Alibaba Cloud needs its provider; run: pip install -e '.[ack]'") from None
    return ack.build_ack_fleet(plan)


def buildable_plan(evaluation: Evaluation) -> StackPlan:
    """Return the plan of a stack that may be built, and log its warnings. Raises RunError."""
    plan = evaluation.plan
    if evaluation.faults or plan is None:
        raise pulumi.RunError(
            "\n".join(
                [f"stack '{evaluation.stack}' has faults:", *(p.line_without_severity() for p in evaluation.faults)]
            )
        )
    for problem in evaluation.warnings:
        pulumi.log.warn(problem.line_without_severity())
    return plan
