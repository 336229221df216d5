"""Quotas of a plan, indexed by queue, by flavor, and by cohort."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from berth.diagnostics import FieldPath
from berth.plan.capacity import TimedGuarantee
from berth.plan.fleet import FleetPlan
from berth.plan.kueue import ClusterQueuePlan, CohortPlan, FlavorPlan, QuotaPlan
from berth.plan.teams import TeamPlan
from berth.planner.queueing.queues import queue_display_name
from berth.planner.queueing.quota_tree import QuotaNode, QuotaTree, accelerator_quotas


class FleetQuotas(Protocol):
    """Flavors, cohorts, queues and teams of a fleet plan, whatever its backend."""

    @property
    def flavors(self) -> tuple[FlavorPlan, ...]: ...  # noqa: D102

    @property
    def cohorts(self) -> tuple[CohortPlan, ...]: ...  # noqa: D102

    @property
    def cluster_queues(self) -> tuple[ClusterQueuePlan, ...]: ...  # noqa: D102

    @property
    def teams(self) -> tuple[TeamPlan, ...]: ...  # noqa: D102

    @property
    def calendar(self) -> tuple[TimedGuarantee, ...]: ...  # noqa: D102


P = TypeVar("P", bound=FleetQuotas, covariant=True)


class QuotaClaim(Struct, frozen=True):
    """The quota of one cluster queue for one flavor, in accelerators; `index` is its position in the queue's list."""

    queue: ClusterQueuePlan
    index: int
    flavor: str
    quota: QuotaPlan
    path: FieldPath

    @property
    def label(self) -> str:
        """Name of the queue in messages: `team/queue`, or its own name if it is shared."""
        return queue_display_name(self.path, self.queue.name)


class QuotaClaims(Struct, Generic[P], frozen=True):
    """All claims of a plan, indexed by queue, by flavor, and by tree (its root cohort) and flavor."""

    plan: P
    tree: QuotaTree
    by_queue: dict[str, list[QuotaClaim]]
    by_flavor: dict[str, list[QuotaClaim]]
    by_tree: dict[tuple[str | None, str], list[QuotaClaim]]

    def competing_claims(self, claim: QuotaClaim) -> list[QuotaClaim]:
        """Return the claims on the same flavor by other queues of the cohort's tree; empty outside a cohort."""
        if claim.queue.cohort is None:
            return []
        return [c for c in self.by_tree[self.tree.root_cohort(claim.queue.cohort), claim.flavor] if c is not claim]

    def cohort_quotas(self, flavor: str) -> Iterator[tuple[str, int]]:
        """Yield the cohorts with their own quota of a flavor, and its amount in accelerators."""
        resources = {f.name: f.resource for f in self.plan.flavors}
        for cohort in self.plan.cohorts:
            amount = dict(accelerator_quotas(cohort, resources)).get(flavor)
            if amount and amount.nominal:
                yield cohort.name, amount.nominal

    def quota_node(self, claim: QuotaClaim) -> QuotaNode:
        """Return the node of a claim in the tree of quotas."""
        return self.tree.queue_nodes(claim.queue.name)[claim.flavor]


FleetQuotaClaims = QuotaClaims[FleetPlan]
"""Quota claims of a fleet on Google Cloud."""


def collect_claims(plan: P, origins: Mapping[tuple[str, str], FieldPath]) -> QuotaClaims[P]:
    """Collect the claims of a plan, in one pass over its queues; `origins` as in `Planned`."""
    resources = {f.name: f.resource for f in plan.flavors}
    tree = QuotaTree.shared(plan.cluster_queues, plan.cohorts, resources)
    claims = QuotaClaims(plan, tree, {}, {}, {})
    for queue in plan.cluster_queues:
        path = origins["cluster queue", queue.name]
        for index, (flavor, quota) in enumerate(accelerator_quotas(queue, resources)):
            claim = QuotaClaim(queue, index, flavor, quota, path)
            claims.by_queue.setdefault(queue.name, []).append(claim)
            claims.by_flavor.setdefault(flavor, []).append(claim)
            claims.by_tree.setdefault((tree.root_cohort(queue.cohort), flavor), []).append(claim)
    return claims
