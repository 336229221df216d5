"""Plan access of people: groups of teams and of the platform, and their domain."""

from __future__ import annotations

from berth.diagnostics import FieldPath, join_words
from berth.plan.configuration import JOB_FRAMEWORKS, SERVING_FRAMEWORKS, ConfigurationPlan
from berth.plan.teams import AccessPlan
from berth.planner.context import PlanningContext
from berth.planner.queueing.local_queues import serving_namespaces

_SECURITY_GROUP = "gke-security-groups"
"""Required local part of the group that contains all groups (GKE docs: Google Groups for RBAC)."""


def access(context: PlanningContext, kueue: ConfigurationPlan | None) -> AccessPlan | None:
    """Return the access of groups to the cluster; None without groups. Teams can create the kinds that Kueue queues."""
    owners = context.spec.platform.owners
    teams = {group for team in context.spec.teams.values() for group in team.groups}
    if not owners and not teams:
        return None
    return AccessPlan(
        owners=tuple(sorted(owners)),
        teams=tuple(sorted(teams)),
        job_kinds=job_kinds(queued_frameworks(kueue)),
        serving=bool(serving_namespaces(context)),
    )


def security_group(context: PlanningContext) -> str | None:
    """Return the group that contains all groups with access to the cluster; None without groups."""
    path_by_domain: dict[str, FieldPath] = {}
    teams = sorted(context.spec.teams.items())
    for path, groups in [
        (("platform", "owners"), context.spec.platform.owners),
        *((("teams", name, "groups"), spec.groups) for name, spec in teams),
    ]:
        for index, group in enumerate(groups):
            path_by_domain.setdefault(group.partition("@")[2], (*path, index))
    domain = context.spec.platform.domain
    if len(path_by_domain) > 1 and domain is None and not context.is_set_aside("platform", ""):
        context.problems.fault(
            "several-domains",
            list(path_by_domain.values())[-1],
            f"groups are in {join_words(sorted(path_by_domain))}, but GKE uses one group, {_SECURITY_GROUP}@<domain>, "
            "that contains them all; write its domain as platform.domain",
        )
    if not path_by_domain:
        return None
    return f"{_SECURITY_GROUP}@{domain or next(iter(path_by_domain))}"


def queued_frameworks(kueue: ConfigurationPlan | None) -> tuple[str, ...]:
    """Return the frameworks whose kinds are queued in every namespace of a team, without those of serving."""
    if kueue is None:
        return JOB_FRAMEWORKS
    if kueue.serving_namespaces is None:
        return kueue.frameworks
    return tuple(each for each in kueue.frameworks if each not in SERVING_FRAMEWORKS)


def job_kinds(frameworks: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Convert Kueue's names of frameworks (`batch/job`) to API group → resources."""
    kinds_by_group: dict[str, list[str]] = {}
    for framework in sorted(frameworks):
        group, _, kind = framework.rpartition("/")
        if group:  # teams get no access to bare pods and Deployments, which are not jobs
            kinds_by_group.setdefault(group, []).append(f"{kind}s")
    return {group: tuple(resources) for group, resources in kinds_by_group.items()}
