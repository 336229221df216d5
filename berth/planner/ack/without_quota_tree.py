"""A fleet without a quota tree: no quota limits its teams, and kube-queue holds none of their jobs.

This is the second variant of the ACK One guide on PyTorchJobs with gang scheduling (page of 2026-06-24): a
PropagationPolicy with the custom scheduling type Gang and without `suspension`.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from berth.plan.teams import TeamPlan
from berth.planner.context import PlanningContext
from berth.planner.queueing.flavors import FlavorGroup
from berth.spec.ack import AckFleetSpec
from berth.spec.teams import TeamSpec


def without_quotas(teams: Mapping[str, TeamSpec]) -> dict[str, TeamSpec]:
    """Return the teams without their part of the quota tree, which `report_quotas` reports."""
    return {name: team.model_copy(update={"queues": {}, "cohort": None}) for name, team in teams.items()}


def without_limits(teams: tuple[TeamPlan, ...], planned_flavors: Mapping[str, FlavorGroup]) -> tuple[TeamPlan, ...]:
    """Return the teams with the whole capacity as their ceiling."""
    ceiling = {name: flavor.capacity.max for name, flavor in planned_flavors.items()}
    return tuple(replace(team, ceiling=ceiling) for team in teams)


def report_quotas(context: PlanningContext, spec: AckFleetSpec) -> None:
    """Report cohorts and queues, and jobs that would wait for a quota that does not exist."""
    sections = {"cohorts": spec.cohorts, "clusterQueues": spec.cluster_queues}
    teams = sorted(spec.teams.items())
    for path in [
        *((section,) for section, entries in sections.items() if entries),
        *(("teams", name, "cohort") for name, team in teams if team.cohort is not None),
        *(("teams", name, "queues") for name, team in teams if team.queues),
    ]:
        key = path[-1]
        message = f"'{key}' needs a quota tree, but quotaTree is false in ack.fleet; remove {key}, or quotaTree"
        context.problems.fault("contradiction", path, message)
    if spec.ack.fleet.propagation.suspension:
        message = (
            "'true' holds each job until kube-queue has quota for it, but quotaTree is false in ack.fleet; remove "
            "suspension, or quotaTree"
        )
        context.problems.fault("contradiction", ("ack", "fleet", "propagation", "suspension"), message)
