"""Who claims how much of what: the quotas of a plan, found by queue, by flavor, and by cohort."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from berth.diagnostics import Path
from berth.plan.fleet import FleetPlan
from berth.plan.kueue import ClusterQueuePlan, CohortPlan, FlavorPlan, QuotaPlan
from berth.plan.teams import TeamPlan
from berth.planner.queueing.queues import called
from berth.planner.queueing.quota_tree import Node, QuotaTree, accelerator_quotas, quota_tree


class Promises(Protocol):
    """What a fleet of any backend promises to whom, and what it holds."""

    @property
    def flavors(self) -> tuple[FlavorPlan, ...]: ...  # noqa: D102

    @property
    def cohorts(self) -> tuple[CohortPlan, ...]: ...  # noqa: D102

    @property
    def cluster_queues(self) -> tuple[ClusterQueuePlan, ...]: ...  # noqa: D102

    @property
    def teams(self) -> tuple[TeamPlan, ...]: ...  # noqa: D102


P = TypeVar("P", bound=Promises, covariant=True)


class Claim(Struct, frozen=True):
    """What one cluster queue says of one flavor, in accelerators; `index` is its place in the queue's list."""

    queue: ClusterQueuePlan
    index: int
    flavor: str
    quota: QuotaPlan
    path: Path

    @property
    def label(self) -> str:
        """How people call the queue: `team/queue`, or its own name where it is shared."""
        return called(self.path, self.queue.name)


class Accounts(Struct, Generic[P], frozen=True):
    """All claims of a plan, found by queue, by flavor, and by tree (its root cohort) and flavor."""

    plan: P
    tree: QuotaTree
    of_queue: dict[str, list[Claim]]
    of_flavor: dict[str, list[Claim]]
    of_tree: dict[tuple[str | None, str], list[Claim]]

    def others(self, claim: Claim) -> list[Claim]:
        """The claims on the same flavor by the rest of the cohort and its tree; none outside a cohort."""
        if claim.queue.cohort is None:
            return []
        return [c for c in self.of_tree[self.tree.root(claim.queue.cohort), claim.flavor] if c is not claim]

    def own_of_cohorts(self, flavor: str) -> Iterator[tuple[str, int]]:
        """The cohorts with a quota of their own of a flavor, and how much, in accelerators."""
        resources = {f.name: f.resource for f in self.plan.flavors}
        for cohort in self.plan.cohorts:
            amount = dict(accelerator_quotas(cohort, resources)).get(flavor)
            if amount and amount.nominal:
                yield cohort.name, amount.nominal

    def node(self, claim: Claim) -> Node:
        """Where a claim stands in the tree of quotas."""
        return self.tree.queue(claim.queue.name)[claim.flavor]


Ledger = Accounts[FleetPlan]
"""The accounts of a fleet on Google Cloud."""


def ledger_of(plan: P, origins: Mapping[tuple[str, str], Path]) -> Accounts[P]:
    """The accounts of a plan, in one pass over its queues; `origins` as in `Planned`."""
    resources = {f.name: f.resource for f in plan.flavors}
    tree = quota_tree(plan.cluster_queues, plan.cohorts, resources)
    ledger = Accounts(plan, tree, {}, {}, {})
    for queue in plan.cluster_queues:
        path = origins["cluster queue", queue.name]
        for index, (flavor, quota) in enumerate(accelerator_quotas(queue, resources)):
            claim = Claim(queue, index, flavor, quota, path)
            ledger.of_queue.setdefault(queue.name, []).append(claim)
            ledger.of_flavor.setdefault(flavor, []).append(claim)
            ledger.of_tree.setdefault((tree.root(queue.cohort), flavor), []).append(claim)
    return ledger
