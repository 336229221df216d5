"""Count a stack's resources, and propose how to divide a large fleet into several stacks along its cohorts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from berth.google.fleet import google_resources
from berth.manifests import tenancy
from berth.plan.fleet import FleetPlan
from berth.resource import ResourceKind

DEFAULT_MAX_RESOURCES: Final = 2000
"""Default maximum of resources per proposed stack; docs/operations.md has the cost of such a stack."""


class ProposedStack(Struct, frozen=True):
    """Teams for one stack, with their cohorts and cluster queues, and the number of resources."""

    cohorts: tuple[str, ...]
    cluster_queues: tuple[str, ...]
    teams: tuple[str, ...]
    resources: int


def team_resources(plan: FleetPlan) -> dict[str, int]:
    """Return team → its resources in one cluster: component, namespaced objects, grants, local queues.

    Its cluster queues are not among them.
    """
    counts = {team.key: 1 + len(team.local_queues) for team in plan.teams}
    for team in plan.teams:
        for namespace in team.namespaces:
            counts[team.key] += namespace.owned + sum(1 for _ in tenancy.namespace_manifests(team, namespace))
    for resource in google_resources(replace(plan, workers=())):
        if resource.kind == ResourceKind.TEAM_IDENTITY:
            counts[resource.key] += len(resource.registrations())
    return {team.name: counts[team.key] for team in plan.teams}


def indivisible_groups(plan: FleetPlan) -> list[ProposedStack]:
    """Return the smallest possible stacks: parts that share a cohort, a queue or a team stay together."""
    connected = _DisjointSets()
    for cohort in plan.cohorts:
        connected.join(("cohort", cohort.name), ("cohort", cohort.parent or cohort.name))
    for queue in plan.cluster_queues:
        neighbours = [("team", team) for team in queue.teams] + ([("cohort", queue.cohort)] if queue.cohort else [])
        for neighbour in neighbours:
            connected.join(("queue", queue.name), neighbour)
    for team in plan.teams:
        connected.join(("team", team.name), ("team", team.name))
    sizes = _resource_counts(plan)
    proposed = [_proposed_stack(members, sizes) for members in connected.sets()]
    return sorted(proposed, key=lambda part: (part.cohorts, part.teams))


def propose_stacks(plan: FleetPlan, most: int = DEFAULT_MAX_RESOURCES) -> list[ProposedStack]:
    """Return stacks of at most `most` resources, in order of cohorts; a larger group is a stack by itself."""
    stacks: list[ProposedStack] = []
    for part in indivisible_groups(plan):
        if stacks and stacks[-1].resources + part.resources <= most:
            last = stacks.pop()
            part = ProposedStack(
                last.cohorts + part.cohorts,
                last.cluster_queues + part.cluster_queues,
                last.teams + part.teams,
                last.resources + part.resources,
            )
        stacks.append(part)
    return stacks


def _resource_counts(plan: FleetPlan) -> Counter[tuple[str, str]]:
    """Count resources by kind and name, for a manager together with all of its workers."""
    counts = Counter[tuple[str, str]]()
    for cluster in (plan, *(worker.plan for worker in plan.workers)):
        counts.update({("team", team): count for team, count in team_resources(cluster).items()})
        counts.update(("queue", queue.name) for queue in cluster.cluster_queues)
        counts.update(("cohort", cohort.name) for cohort in cluster.cohorts)
    return counts


def _proposed_stack(members: Iterable[tuple[str, str]], sizes: Mapping[tuple[str, str], int]) -> ProposedStack:
    names: dict[str, list[str]] = {"cohort": [], "queue": [], "team": []}
    nodes = sorted(members)
    for kind, name in nodes:
        names[kind].append(name)
    cohorts, queues, teams = (tuple(names[kind]) for kind in ("cohort", "queue", "team"))
    return ProposedStack(cohorts, queues, teams, sum(sizes[node] for node in nodes))


class _DisjointSets:
    """Disjoint sets of nodes, joined pairwise (union-find)."""

    def __init__(self) -> None:
        self._parent_of: dict[tuple[str, str], tuple[str, str]] = {}

    def _root(self, node: tuple[str, str]) -> tuple[str, str]:
        while (parent := self._parent_of.setdefault(node, node)) != node:
            self._parent_of[node] = node = self._parent_of[parent]
        return node

    def join(self, node: tuple[str, str], other_node: tuple[str, str]) -> None:
        """Merge the sets of both nodes."""
        self._parent_of[self._root(node)] = self._root(other_node)

    def sets(self) -> list[list[tuple[str, str]]]:
        """Return the sets."""
        members_by_root: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for node in list(self._parent_of):
            members_by_root.setdefault(self._root(node), []).append(node)
        return list(members_by_root.values())
