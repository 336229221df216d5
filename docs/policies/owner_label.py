"""Every team has a label with its owner."""

from collections.abc import Iterator

from berth.diagnostics import Problem
from berth.plan.fleet import FleetPlan
from berth.policy import fault

LABEL = "owner"


def owner_label(plan: FleetPlan) -> Iterator[Problem]:
    """Require the label on each team."""
    for team in plan.teams:
        if LABEL not in team.labels:
            yield fault(("teams", team.name), f"no label '{LABEL}'; write labels: {{{LABEL}: <who>}}")
