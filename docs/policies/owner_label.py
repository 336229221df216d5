"""Everything that is a team's says who pays for it."""

from collections.abc import Iterator

from berth.diagnostics import Problem
from berth.plan.fleet import FleetPlan
from berth.policy import fault

LABEL = "owner"


def owner_label(plan: FleetPlan) -> Iterator[Problem]:
    """Each team has the label."""
    for team in plan.teams:
        if LABEL not in team.labels:
            yield fault(("teams", team.name), f"no label '{LABEL}'; write labels: {{{LABEL}: <who>}}")
