"""The kinds of stacks: the plan of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:  # a stack of one kind needs nothing of the others
    from berth.plan.ack import AckFleetPlan
    from berth.plan.fleet import FleetPlan
    from berth.plan.team_stack import TeamStackPlan

StackPlan: TypeAlias = "FleetPlan | AckFleetPlan | TeamStackPlan"
"""The plan of a fleet on Google Cloud, of a fleet on Alibaba Cloud, or of a team's own stack."""
