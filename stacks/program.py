"""Which composition a verdict asks for. Only that one is loaded: a fleet needs the provider of its own cloud alone."""

from __future__ import annotations

from typing import Any

import pulumi

from components.plan.ack import AckFleetPlan
from components.plan.deployments import TeamStackPlan
from components.plan.fleet import FleetPlan
from stacks.verdict import Verdict


def build(verdict: Verdict) -> dict[str, Any]:
    """Register a sound stack, and return what it exports. Raises RunError, which the engine prints plainly."""
    plan = sound(verdict)
    if isinstance(plan, FleetPlan):
        from stacks import fleet

        return fleet.build(plan)
    if isinstance(plan, TeamStackPlan):
        from stacks import team

        return team.build(plan)
    try:
        from stacks import ack_fleet
    except ModuleNotFoundError as missing:
        if missing.name != "pulumi_alicloud":
            raise
        raise pulumi.RunError("a fleet on Alibaba Cloud needs its provider: pip install 'berth[ack]'") from None
    return ack_fleet.build(plan)


def sound(verdict: Verdict) -> FleetPlan | AckFleetPlan | TeamStackPlan:
    """The plan of a stack that may be built, warnings told. Raises RunError."""
    plan = verdict.whole
    if verdict.faults or plan is None:
        raise pulumi.RunError("\n".join([f"stack '{verdict.stack}' is refused:", *(p.line() for p in verdict.faults)]))
    for problem in verdict.warnings:
        pulumi.log.warn(problem.under_its_severity())
    return plan
