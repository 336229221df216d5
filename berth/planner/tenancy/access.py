"""People: the groups that teams and the platform's owners are, and the domain that they are of."""

from __future__ import annotations

from berth.diagnostics import Path, in_words
from berth.plan.configuration import JOB_FRAMEWORKS, ConfigurationPlan
from berth.plan.teams import AccessPlan
from berth.planner.context import Draft

_SECURITY_GROUP = "gke-security-groups"
"""The one name that GKE takes for the group of all groups (GKE docs: Google Groups for RBAC)."""


def access(draft: Draft, kueue: ConfigurationPlan | None) -> AccessPlan | None:
    """Who has rights in the cluster; None where no group is named. Teams submit the kinds of jobs that Kueue queues."""
    owners = draft.spec.platform.owners
    teams = {group for team in draft.spec.teams.values() for group in team.groups}
    if not owners and not teams:
        return None
    frameworks = kueue.frameworks if kueue else JOB_FRAMEWORKS
    return AccessPlan(owners=tuple(sorted(owners)), teams=tuple(sorted(teams)), job_kinds=job_kinds(frameworks))


def security_group(draft: Draft) -> str | None:
    """The group that holds all groups with rights in the cluster; None where there are none."""
    where: dict[str, Path] = {}
    for path, groups in _written(draft):
        for index, group in enumerate(groups):
            where.setdefault(group.partition("@")[2], (*path, index))
    domain = draft.spec.platform.domain
    if len(where) > 1 and domain is None and not draft.lost("platform", ""):
        message = (
            f"groups of {in_words(sorted(where))}, and GKE looks in {_SECURITY_GROUP} of one domain; "
            "write platform.domain"
        )
        draft.problems.fault("several-domains", list(where.values())[-1], message)
    if not where:
        return None
    return f"{_SECURITY_GROUP}@{domain or next(iter(where))}"


def _written(draft: Draft) -> list[tuple[Path, tuple[str, ...]]]:
    teams = sorted(draft.spec.teams.items())
    return [
        (("platform", "owners"), draft.spec.platform.owners),
        *((("teams", name, "groups"), spec.groups) for name, spec in teams),
    ]


def job_kinds(frameworks: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Kueue's names of frameworks (`batch/job`) as API group to resources."""
    found: dict[str, list[str]] = {}
    for framework in sorted(frameworks):
        group, _, kind = framework.rpartition("/")
        if group:  # bare pods and Deployments are no jobs: nobody is given them
            found.setdefault(group, []).append(f"{kind}s")
    return {group: tuple(kinds) for group, kinds in found.items()}
