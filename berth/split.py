"""What a stack costs in resources, and how a large fleet falls into several: by cohort, for quota knows no border."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct

from berth.manifests import tenancy
from berth.plan.fleet import FleetPlan
from berth.plan.teams import IdentityPlan, TeamPlan

MOST: Final = 2000
"""Resources of a proposed stack, unless another number is asked for: docs/operations.md has what such a one costs."""


class Part(Struct, frozen=True):
    """Teams that belong into one stack, with the cohorts and cluster queues that are theirs, and their resources."""

    cohorts: tuple[str, ...]
    queues: tuple[str, ...]
    teams: tuple[str, ...]
    resources: int


def of_team(team: TeamPlan) -> int:
    """Resources of a team: its component, what is in its namespaces, grants, local queues; not its cluster queues."""
    namespaces = sum(place.owned for place in team.namespaces)
    inside = sum(1 for place in team.namespaces for _ in tenancy.inside(team, place))
    grants = _grants(team.identity) if team.identity else 0
    return 1 + namespaces + inside + grants + len(team.local_queues)


def _grants(identity: IdentityPlan) -> int:
    """IAM bindings, each of the Google account in between or of every namespace's own member, and that account."""
    secrets = {(each.project, each.secret) for each in identity.secrets}
    each = len(identity.roles) + len(identity.buckets) + len(secrets)
    members = len(identity.members)
    return 1 + members + each if identity.impersonates is not None else each * members


def groups(plan: FleetPlan) -> list[Part]:
    """The smallest parts that may be stacks of their own: what shares a cohort, a queue or a team stays together."""
    together = _Together()
    for cohort in plan.cohorts:
        together.join(("cohort", cohort.name), ("cohort", cohort.parent or cohort.name))
    for queue in plan.cluster_queues:
        ties = [("team", team) for team in queue.teams] + ([("cohort", queue.cohort)] if queue.cohort else [])
        for tie in ties:
            together.join(("queue", queue.name), tie)
    for team in plan.teams:
        together.join(("team", team.name), ("team", team.name))
    sizes = _sizes(plan)
    found = [_part(members, sizes) for members in together.sets()]
    return sorted(found, key=lambda part: (part.cohorts, part.teams))


def propose(plan: FleetPlan, most: int = MOST) -> list[Part]:
    """Stacks of at most `most` resources, in the order of their cohorts; a group that is larger is a stack alone."""
    stacks: list[Part] = []
    for part in groups(plan):
        if stacks and stacks[-1].resources + part.resources <= most:
            last = stacks.pop()
            part = Part(
                last.cohorts + part.cohorts,
                last.queues + part.queues,
                last.teams + part.teams,
                last.resources + part.resources,
            )
        stacks.append(part)
    return stacks


def _sizes(plan: FleetPlan) -> Counter[tuple[str, str]]:
    """Resources by kind and name, on a manager and on all of its workers together."""
    found = Counter[tuple[str, str]]()
    for cluster in (plan, *(worker.plan for worker in plan.workers)):
        found.update({("team", team.name): of_team(team) for team in cluster.teams})
        found.update(("queue", queue.name) for queue in cluster.cluster_queues)
        found.update(("cohort", cohort.name) for cohort in cluster.cohorts)
    return found


def _part(members: Iterable[tuple[str, str]], sizes: Mapping[tuple[str, str], int]) -> Part:
    names: dict[str, list[str]] = {"cohort": [], "queue": [], "team": []}
    own = sorted(members)
    for kind, name in own:
        names[kind].append(name)
    cohorts, queues, teams = (tuple(names[kind]) for kind in ("cohort", "queue", "team"))
    return Part(cohorts, queues, teams, sum(sizes[one] for one in own))


class _Together:
    """Sets of things that were joined, directly or by others."""

    def __init__(self) -> None:
        self._above: dict[tuple[str, str], tuple[str, str]] = {}

    def _top(self, one: tuple[str, str]) -> tuple[str, str]:
        while (above := self._above.setdefault(one, one)) != one:
            self._above[one] = one = self._above[above]
        return one

    def join(self, one: tuple[str, str], other: tuple[str, str]) -> None:
        """Put both into one set."""
        self._above[self._top(one)] = self._top(other)

    def sets(self) -> list[list[tuple[str, str]]]:
        """The sets."""
        found: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for one in list(self._above):
            found.setdefault(self._top(one), []).append(one)
        return list(found.values())
