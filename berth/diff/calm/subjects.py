"""Whose the objects of a fleet are, for two plans of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from berth.diff.calm.differences import Difference
from berth.diff.calm.harmless import ADMISSION_FAIR_SHARING, FAIR_SHARING, MEMBERS
from berth.plan.fleet import FleetPlan
from berth.plan.kueue import ClusterQueuePlan
from berth.plan.teams import QueueingPlan


class Subjects(Struct, frozen=True):
    """Whose the objects of a fleet are, before and after a change.

    Maps namespace → team, queue → teams, flavor → pools, flavor → resource, and namespace and local queue → queue.
    `sides` are the queues before and after, by name. `facts` are those that harmless.yaml asks for.
    """

    namespaces: Mapping[str, str]
    queues: Mapping[str, tuple[str, ...]]
    pools: Mapping[str, tuple[str, ...]]
    local_queues: Mapping[tuple[str, str], str]
    resources: Mapping[str, str]
    sides: Sequence[Mapping[str, ClusterQueuePlan]]
    facts: frozenset[str]

    def teams_of(self, difference: Difference) -> set[str]:
        """Return the teams of a queue or of a namespace with what is in it; empty for anything else."""
        if difference.of == "ClusterQueue":
            return set(self.queues.get(difference.key, ()))
        team = self.namespaces.get(difference.key if difference.of == "Namespace" else difference.namespace)
        return {team} if team else set()

    def is_proportional(self, queue: str, flavor: str, resource: str) -> bool:
        """Return whether each accelerator of a queue has as much of a resource before and after; it has both."""
        amounts = [dict(_amounts(side[queue])) for side in self.sides if queue in side]
        if len(amounts) < len(self.sides) or any((flavor, resource) not in each for each in amounts):
            return False
        accelerator = flavor, self.resources[flavor]
        pairs = [
            (one, own)
            for each in amounts
            for one, own in zip(each[flavor, resource], each.get(accelerator, (0, 0)), strict=True)
            if own
        ]
        return all(one * pairs[0][1] == own * pairs[0][0] for one, own in pairs)

    @classmethod
    def of(cls, old: QueueingPlan, new: QueueingPlan) -> Subjects:
        """Return those of the plans before and after a change."""
        facts, plans = set[str](), (old, new)
        for plan in plans:
            kueue = plan.kueue if isinstance(plan, FleetPlan) else None
            # Kueue of an existing cluster is configured by somebody else, who may have switched both on.
            unknown = isinstance(plan, FleetPlan) and kueue is None
            facts |= {FAIR_SHARING} if unknown or (kueue and kueue.fair_sharing is not None) else set()
            facts |= {ADMISSION_FAIR_SHARING} if unknown or (kueue and kueue.admission_fair_sharing) else set()
            # Cohorts with quota of their own, with cohorts below them, or with queues.
            used = {cohort.name for cohort in plan.cohorts if cohort.flavors}
            used |= {cohort.parent for cohort in plan.cohorts if cohort.parent}
            used |= {queue.cohort for queue in plan.cluster_queues if queue.cohort}
            facts |= {f"{MEMBERS} {cohort}" for cohort in used}
        return cls(
            {place.name: team.name for plan in plans for team in plan.teams for place in team.namespaces},
            {queue.name: queue.teams for plan in plans for queue in plan.cluster_queues},
            {flavor.name: flavor.pools for plan in plans for flavor in plan.flavors},
            {
                (local.namespace, local.name): queue.name
                for plan in plans
                for queue in plan.cluster_queues
                for local in queue.local_queues
            },
            {flavor.name: flavor.resource for plan in plans for flavor in plan.flavors},
            [{queue.name: queue for queue in plan.cluster_queues} for plan in plans],
            frozenset(facts),
        )


def _amounts(queue: ClusterQueuePlan) -> Iterator[tuple[tuple[str, str], tuple[int, int]]]:
    """Yield flavor and resource with the guarantee of a queue, and what it may borrow besides (0 without a limit)."""
    for entry in queue.flavors:
        for quota in entry.quotas:
            yield (entry.flavor, quota.resource), (quota.nominal, quota.borrowing_limit or 0)
