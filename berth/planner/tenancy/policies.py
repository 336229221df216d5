"""Plan the admission policies of a cluster: which jobs are queued, and what only their pods may request."""

from __future__ import annotations

from collections.abc import Iterable

from berth import catalog
from berth.plan.configuration import ConfigurationPlan
from berth.plan.policies import PoliciesPlan
from berth.plan.teams import TeamPlan
from berth.planner.tenancy.access import job_kinds, queued_frameworks


def plan_policies(teams: Iterable[TeamPlan], kueue: ConfigurationPlan | None) -> PoliciesPlan | None:
    """Return the policies for these teams; None if no team has a namespace."""
    namespaces = [namespace for team in teams for namespace in team.namespaces]
    if not namespaces:
        return None
    return PoliciesPlan(
        job_kinds=job_kinds(queued_frameworks(kueue)),
        accelerators=tuple(sorted({machine.resource for machine in catalog.machines().values()})),
        shared_namespaces=tuple(sorted(each.name for each in namespaces if not each.owned)),
        serving=tuple(sorted(each.name for each in namespaces if each.serving)),
    )
