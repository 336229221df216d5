"""Compute ceilings: the most that a queue can use, from its guarantee and what its cohorts can lend under all limits.

For each flavor, quota is a tree of cohorts with cluster queues as leaves. A node keeps what it does not lend. It
borrows from its parent up to its borrowing limit. A root has what its members lend. The algorithm is Kueue's
(pkg/cache, resource_node.go), for a tree without usage.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from berth.plan.grouping import grouped
from berth.plan.kueue import ClusterQueuePlan, CohortPlan, QuotaPlan, root_of
from berth.plan.teams import QueueingPlan

if TYPE_CHECKING:  # a fleet on another cloud does not need it
    from berth.plan.fleet import FleetPlan


def accelerator_quotas(
    owner: ClusterQueuePlan | CohortPlan, resource_of: Mapping[str, str], *, in_milli: bool = False
) -> Iterator[tuple[str, QuotaPlan]]:
    """Yield each flavor of a queue or cohort with its accelerator's quota; `resource_of` maps flavor to resource.

    The quota of cpu is in cores, unless `in_milli`.
    """
    for entry in owner.flavors:
        for quota in entry.quotas:
            if quota.resource == resource_of[entry.flavor]:
                yield entry.flavor, quota if in_milli else quota.counted


def guaranteed_by_flavor(
    owners: Iterable[ClusterQueuePlan | CohortPlan], resource_of: Mapping[str, str]
) -> Counter[str]:
    """Return accelerators of each flavor that queues and cohorts are guaranteed together; 0 for any other flavor."""
    guaranteed = Counter[str]()
    for owner in owners:
        for flavor, quota in accelerator_quotas(owner, resource_of):
            guaranteed[flavor] += quota.nominal
    return guaranteed


def lendable(quota: QuotaPlan) -> int:
    """Return how much of a queue's nominal quota the rest of its cohort may use."""
    return quota.nominal if quota.lending_limit is None else min(quota.lending_limit, quota.nominal)


class QuotaNode(Struct):
    """The quota of one flavor at one queue (a `leaf`) or cohort, in accelerators.

    `subtree_quota` is its own quota plus what its members lend it, `local_quota` the part of it that is not lent, and
    `borrowing_limit` how much it may use beyond it (None: no limit). `available_above` is the most that the rest of the
    tree can lend it, before its own limit. `guaranteed` is all nominal quota here and below, lent or not. `requested`
    is what its members could use of it, and `local_use` what they could use of quota that they do not lend.
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
        """Amount available to this node, including borrowing, if nothing is in use."""
        return self.subtree_quota + (
            self.available_above if self.borrowing_limit is None else min(self.available_above, self.borrowing_limit)
        )

    @property
    def ceiling(self) -> int:
        """The most that this node's queues can use together."""
        return self.local_use + self.subtree_use

    @property
    def subtree_use(self) -> int:
        """Amount of the parent's quota that the ceiling uses."""
        return self.potential_available if self.leaf else min(self.requested, self.potential_available)


class QuotaTree:
    """The quotas of a fleet: per flavor a node for each queue with an entry, and for each cohort above it."""

    def __init__(
        self,
        queues: Iterable[ClusterQueuePlan],
        cohorts: Iterable[CohortPlan],
        resource_of: Mapping[str, str],
        *,
        in_milli: bool = False,
    ) -> None:
        """Build the tree; the parents of `cohorts` must exist and have no cycle."""
        self._cohorts = {cohort.name: cohort for cohort in cohorts}
        self._own_quotas = {
            c.name: dict(accelerator_quotas(c, resource_of, in_milli=in_milli)) for c in self._cohorts.values()
        }
        self._nodes_by_cohort: dict[str, dict[str, QuotaNode]] = {}
        self._nodes_by_queue: dict[str, dict[str, QuotaNode]] = {}
        lending_limits: list[tuple[QuotaNode, int | None]] = []
        for name, flavors in self._own_quotas.items():
            for flavor in flavors:
                self._cohort_node(name, flavor, lending_limits)
        for queue in queues:
            for flavor, quota in accelerator_quotas(queue, resource_of, in_milli=in_milli):
                node = _new_node(self._cohort_node(queue.cohort, flavor, lending_limits), quota, leaf=True)
                self._nodes_by_queue.setdefault(queue.name, {})[flavor] = node
                lending_limits.append((node, quota.lending_limit))
        _compute_quotas(lending_limits)

    @staticmethod
    def from_plan(plan: QueueingPlan) -> QuotaTree:
        """Return the tree of a finished plan."""
        return QuotaTree.shared(plan.cluster_queues, plan.cohorts, {f.name: f.resource for f in plan.flavors})

    @staticmethod
    def shared(
        queues: tuple[ClusterQueuePlan, ...], cohorts: tuple[CohortPlan, ...], resource_of: Mapping[str, str]
    ) -> QuotaTree:
        """Build the tree of a plan's queues and cohorts, or return it if these very tuples were among the last."""
        for known_queues, known_cohorts, resources, tree in _recent:
            if known_queues is queues and known_cohorts is cohorts and resources == resource_of:
                return tree
        tree = QuotaTree(queues, cohorts, resource_of)
        _recent.append((queues, cohorts, resource_of, tree))
        return tree

    def _cohort_node(
        self, cohort: str | None, flavor: str, lending_limits: list[tuple[QuotaNode, int | None]]
    ) -> QuotaNode | None:
        """Return the node of a cohort, creating those above it; a cohort without an entry has no limits."""
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
        """Return flavor → node of a queue."""
        return self._nodes_by_queue.get(name, {})

    def cohort_nodes(self, name: str) -> Mapping[str, QuotaNode]:
        """Return flavor → node of a cohort, for every flavor with an entry at the cohort or below."""
        return self._nodes_by_cohort.get(name, {})

    def root_cohort(self, cohort: str | None) -> str | None:
        """Return the root of the tree that a cohort is in."""
        return None if cohort is None else root_of(self._cohorts, cohort)

    def ceilings(self, queues: Iterable[ClusterQueuePlan]) -> dict[str, int]:
        """Return flavor → the most that `queues` together can use."""
        nodes_by_flavor = grouped(
            (flavor, node) for queue in queues for flavor, node in self.queue_nodes(queue.name).items()
        )
        return {flavor: ceiling_of_nodes(nodes_by_flavor[flavor]) for flavor in sorted(nodes_by_flavor)}


_recent: Final = deque[tuple[object, object, Mapping[str, str], QuotaTree]](maxlen=16)
"""The last trees with what they were built from: the planner, the checks and a diff need that of one plan."""


def largest_jobs(plan: FleetPlan) -> dict[str, int]:
    """Return flavor → the most that one job of any queue can use in one cluster, given quotas and machines."""
    tree = QuotaTree.from_plan(plan)
    capacity = {flavor.name: flavor.capacity.max for flavor in plan.flavors}
    largest: dict[str, int] = {}
    for queue in plan.cluster_queues:
        for flavor, node in tree.queue_nodes(queue.name).items():
            largest[flavor] = max(largest.get(flavor, 0), min(node.potential_available, capacity[flavor]))
    return largest


def ceiling_of_nodes(nodes: Sequence[QuotaNode]) -> int:
    """Return the most that the queues of `nodes` can use together: each level's own quota plus what is above."""
    if len(nodes) == 1:  # it already includes every limit above
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
    """Sum up quotas from the leaves to the roots, then compute what can be lent from the roots down."""
    lending_limits.sort(key=lambda entry: entry[0].depth)
    for node, lending_limit in reversed(lending_limits):
        if node.parent is None:
            node.local_quota, node.borrowing_limit = (
                node.subtree_quota,
                0,
            )  # a root has no parent to lend to or borrow from
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
