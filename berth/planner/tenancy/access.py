"""People: the groups that teams and the platform's owners are, and the domain that they are of."""

from __future__ import annotations

from berth.diagnostics import FieldPath, join_words
from berth.plan.configuration import JOB_FRAMEWORKS, ConfigurationPlan
from berth.plan.teams import AccessPlan
from berth.planner.context import PlanningContext

_SECURITY_GROUP = "gke-security-groups"
"""The one name that GKE takes for the group of all groups (GKE docs: Google Groups for RBAC)."""


def access(context: PlanningContext, kueue: ConfigurationPlan | None) -> AccessPlan | None:
    """Who has rights in the cluster; None where no group is named. Teams submit the kinds of jobs that Kueue queues."""
    owners = context.spec.platform.owners
    teams = {group for team in context.spec.teams.values() for group in team.groups}
    if not owners and not teams:
        return None
    frameworks = kueue.frameworks if kueue else JOB_FRAMEWORKS
    return AccessPlan(owners=tuple(sorted(owners)), teams=tuple(sorted(teams)), job_kinds=job_kinds(frameworks))


def security_group(context: PlanningContext) -> str | None:
    """The group that holds all groups with rights in the cluster; None where there are none."""
    path_by_domain: dict[str, FieldPath] = {}
    for path, groups in _group_lists(context):
        for index, group in enumerate(groups):
            path_by_domain.setdefault(group.partition("@")[2], (*path, index))
    domain = context.spec.platform.domain
    if len(path_by_domain) > 1 and domain is None and not context.is_set_aside("platform", ""):
        message = (
            f"groups of {join_words(sorted(path_by_domain))}, and GKE looks in {_SECURITY_GROUP} of one domain; "
            "write platform.domain"
        )
        context.problems.fault("several-domains", list(path_by_domain.values())[-1], message)
    if not path_by_domain:
        return None
    return f"{_SECURITY_GROUP}@{domain or next(iter(path_by_domain))}"


def _group_lists(context: PlanningContext) -> list[tuple[FieldPath, tuple[str, ...]]]:
    teams = sorted(context.spec.teams.items())
    return [
        (("platform", "owners"), context.spec.platform.owners),
        *((("teams", name, "groups"), spec.groups) for name, spec in teams),
    ]


def job_kinds(frameworks: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Kueue's names of frameworks (`batch/job`) as API group to resources."""
    kinds_by_group: dict[str, list[str]] = {}
    for framework in sorted(frameworks):
        group, _, kind = framework.rpartition("/")
        if group:  # bare pods and Deployments are no jobs: nobody is given them
            kinds_by_group.setdefault(group, []).append(f"{kind}s")
    return {group: tuple(resources) for group, resources in kinds_by_group.items()}
