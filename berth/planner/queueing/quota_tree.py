"""The most that anybody can ever use: what is guaranteed, and what the cohorts above can lend, under every limit.

Quota is a tree for each flavor: cohorts below cohorts, and cluster queues as leaves. What a node does not lend is kept
to itself; what it uses beyond that comes out of its parent, up to its borrowing limit; a root holds what all below it
lend. This is Kueue's reckoning (pkg/cache, resource_node.go), with nothing else in use.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from berth.plan.kueue import ClusterQueuePlan, CohortPlan, QuotaPlan

if TYPE_CHECKING:  # one kind of fleet does not load the other's plan
    from berth.plan.ack import AckFleetPlan
    from berth.plan.fleet import FleetPlan


def accelerator_quotas(
    owner: ClusterQueuePlan | CohortPlan, resource_of: Mapping[str, str]
) -> Iterator[tuple[str, QuotaPlan]]:
    """Each flavor of a queue or cohort with the quota of its own accelerator; `resource_of` maps flavor to resource."""
    for entry in owner.flavors:
        for quota in entry.quotas:
            if quota.resource == resource_of[entry.flavor]:
                yield entry.flavor, quota


def lendable(quota: QuotaPlan) -> int:
    """What the rest of a cohort may use of a queue's nominal quota."""
    return quota.nominal if quota.lending_limit is None else min(quota.lending_limit, quota.nominal)


class QuotaNode(Struct):
    """One flavor at one queue (a `leaf`) or cohort, in accelerators.

    `held` is its own quota and all that those below lend; `kept` what of it is not lent; `limit` how far beyond `held`
    it may go (None: as far as there is). `lent` is what the rest of the tree can lend it at the most, its own limit
    aside. `promised` is all that is nominal here and below, lent or not. `wanted` is what those below could use of it,
    and `private` what they could use of what they keep to themselves.
    """

    parent: QuotaNode | None
    leaf: bool
    depth: int
    borrowing_limit: int | None
    subtree_quota: int
    guaranteed: int
    local_quota: int = 0
    available_above: int = 0
    requested: int = 0
    local_use: int = 0

    @property
    def potential_available(self) -> int:
        """What could be used of this quota and beyond it if nothing else were."""
        return self.subtree_quota + (
            self.available_above if self.borrowing_limit is None else min(self.available_above, self.borrowing_limit)
        )

    @property
    def ceiling(self) -> int:
        """The most that all queues here and below can use at once."""
        return self.local_use + self.subtree_use

    @property
    def subtree_use(self) -> int:
        """What of its quota, and beyond it, the ceiling takes."""
        return self.potential_available if self.leaf else min(self.requested, self.potential_available)


class QuotaTree:
    """The quotas of a fleet: for each flavor a node at each queue with an entry for it, and at each cohort above."""

    def __init__(
        self, queues: Iterable[ClusterQueuePlan], cohorts: Iterable[CohortPlan], resource_of: Mapping[str, str]
    ) -> None:
        """Grow the tree; the parents of `cohorts` exist and form no circle."""
        self._cohorts = {cohort.name: cohort for cohort in cohorts}
        self._own_quotas = {c.name: dict(accelerator_quotas(c, resource_of)) for c in self._cohorts.values()}
        self._nodes_by_cohort: dict[str, dict[str, QuotaNode]] = {}
        self._nodes_by_queue: dict[str, dict[str, QuotaNode]] = {}
        lending_limits: list[tuple[QuotaNode, int | None]] = []
        for name, flavors in self._own_quotas.items():
            for flavor in flavors:
                self._cohort_node(name, flavor, lending_limits)
        for queue in queues:
            for flavor, quota in accelerator_quotas(queue, resource_of):
                node = _new_node(self._cohort_node(queue.cohort, flavor, lending_limits), quota, leaf=True)
                self._nodes_by_queue.setdefault(queue.name, {})[flavor] = node
                lending_limits.append((node, quota.lending_limit))
        _compute_quotas(lending_limits)

    @staticmethod
    def from_plan(plan: FleetPlan | AckFleetPlan) -> QuotaTree:
        """The tree of a finished plan. Whoever asks it several questions passes it on: building it costs a pass."""
        return QuotaTree(plan.cluster_queues, plan.cohorts, {f.name: f.resource for f in plan.flavors})

    def _cohort_node(
        self, cohort: str | None, flavor: str, lending_limits: list[tuple[QuotaNode, int | None]]
    ) -> QuotaNode | None:
        """The node of a cohort, with those above it; one without an entry of its own lets everything pass."""
        missing: list[str] = []
        while cohort is not None and flavor not in self._nodes_by_cohort.get(cohort, {}):
            missing.append(cohort)
            cohort = self._cohorts[cohort].parent if cohort in self._cohorts else None
        node = self._nodes_by_cohort[cohort][flavor] if cohort is not None else None
        for name in reversed(missing):
            quota = self._own_quotas.get(name, {}).get(flavor)
            node = self._nodes_by_cohort.setdefault(name, {})[flavor] = _new_node(node, quota)
            lending_limits.append((node, quota.lending_limit if quota else None))
        return node

    def queue_nodes(self, name: str) -> Mapping[str, QuotaNode]:
        """Flavor → node of a queue."""
        return self._nodes_by_queue.get(name, {})

    def cohort_nodes(self, name: str) -> Mapping[str, QuotaNode]:
        """Flavor → node of a cohort, for every flavor that it or somebody below it has an entry for."""
        return self._nodes_by_cohort.get(name, {})

    def root_cohort(self, cohort: str | None) -> str | None:
        """The cohort at the top of the tree that a cohort is in."""
        while cohort in self._cohorts and (parent := self._cohorts[cohort].parent) is not None:
            cohort = parent
        return cohort

    def ceilings(self, queues: Iterable[ClusterQueuePlan]) -> dict[str, int]:
        """Flavor → the most that `queues` together can use of it."""
        nodes_by_flavor: dict[str, list[QuotaNode]] = {}
        for queue in queues:
            for flavor, node in self.queue_nodes(queue.name).items():
                nodes_by_flavor.setdefault(flavor, []).append(node)
        return {flavor: ceiling_of_nodes(nodes_by_flavor[flavor]) for flavor in sorted(nodes_by_flavor)}


def largest_jobs(plan: FleetPlan) -> dict[str, int]:
    """Flavor → the most that one job of any queue can have of it in one cluster, under quotas and as machines go."""
    tree = QuotaTree.from_plan(plan)
    capacity = {flavor.name: flavor.capacity.max for flavor in plan.flavors}
    largest: dict[str, int] = {}
    for queue in plan.cluster_queues:
        for flavor, node in tree.queue_nodes(queue.name).items():
            largest[flavor] = max(largest.get(flavor, 0), min(node.potential_available, capacity[flavor]))
    return largest


def ceiling_of_nodes(nodes: Sequence[QuotaNode]) -> int:
    """The most that queues can use at once, by their nodes: each level keeps its own and asks above for the rest."""
    if len(nodes) == 1:  # every limit above is in it already
        return nodes[0].potential_available
    requests_by_depth: dict[int, dict[int, tuple[QuotaNode, int]]] = {}
    for node in nodes:
        requests_by_depth.setdefault(node.depth, {})[id(node)] = (node, node.potential_available)
    total = 0
    for depth in range(max(requests_by_depth, default=0), -1, -1):
        for node, requested in requests_by_depth.get(depth, {}).values():
            used = min(requested, node.potential_available)
            total += min(used, node.local_quota)
            if node.parent is not None and used > node.local_quota:
                requests_above = requests_by_depth.setdefault(depth - 1, {})
                _, sum_so_far = requests_above.get(id(node.parent), (node.parent, 0))
                requests_above[id(node.parent)] = (node.parent, sum_so_far + used - node.local_quota)
    return total


def _new_node(parent: QuotaNode | None, quota: QuotaPlan | None, *, leaf: bool = False) -> QuotaNode:
    depth = 0 if parent is None else parent.depth + 1
    guaranteed = quota.nominal if quota else 0
    return QuotaNode(
        parent, leaf, depth, quota.borrowing_limit if quota else None, subtree_quota=guaranteed, guaranteed=guaranteed
    )


def _compute_quotas(lending_limits: list[tuple[QuotaNode, int | None]]) -> None:
    """Sum up from the leaves what is held, then hand down from the roots what can be lent."""
    lending_limits.sort(key=lambda entry: entry[0].depth)
    for node, lending_limit in reversed(lending_limits):
        if node.parent is None:
            node.local_quota, node.borrowing_limit = (
                node.subtree_quota,
                0,
            )  # nobody is above: nothing is lent, nothing borrowed
        else:
            node.local_quota = 0 if lending_limit is None else max(0, node.subtree_quota - lending_limit)
            node.parent.subtree_quota += node.subtree_quota - node.local_quota
            node.parent.guaranteed += node.guaranteed
    for node, _ in lending_limits:
        if node.parent is not None:
            node.available_above = node.local_quota + node.parent.potential_available - node.subtree_quota
    for node, _ in reversed(lending_limits):
        if node.parent is not None:
            node.parent.requested += max(0, node.subtree_use - node.local_quota)
            node.parent.local_use += node.local_use + min(node.subtree_use, node.local_quota)
