"""The most that anybody can ever use: what is guaranteed, and what the cohorts above can lend, under every limit.

Quota is a tree for each flavor: cohorts below cohorts, and cluster queues as leaves. What a node does not lend is kept
to itself; what it uses beyond that comes out of its parent, up to its borrowing limit; a root holds what all below it
lend. This is Kueue's reckoning (pkg/cache, resource_node.go), with nothing else in use.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from berth.plan.kueue import ClusterQueuePlan, CohortPlan, QuotaPlan

if TYPE_CHECKING:  # one kind of fleet does not load the other's plan
    from berth.plan.ack import AckFleetPlan
    from berth.plan.fleet import FleetPlan


def accelerator_quotas(
    holder: ClusterQueuePlan | CohortPlan, resource_of: Mapping[str, str]
) -> Iterator[tuple[str, QuotaPlan]]:
    """Each flavor of a queue or cohort with the quota of its own accelerator; `resource_of` maps flavor to resource."""
    for entry in holder.flavors:
        for quota in entry.quotas:
            if quota.resource == resource_of[entry.flavor]:
                yield entry.flavor, quota


def lendable(quota: QuotaPlan) -> int:
    """What the rest of a cohort may use of a queue's nominal quota."""
    return quota.nominal if quota.lending_limit is None else min(quota.lending_limit, quota.nominal)


class Node(Struct):
    """One flavor at one queue (a `leaf`) or cohort, in accelerators.

    `held` is its own quota and all that those below lend; `kept` what of it is not lent; `limit` how far beyond `held`
    it may go (None: as far as there is). `lent` is what the rest of the tree can lend it at the most, its own limit
    aside. `promised` is all that is nominal here and below, lent or not. `wanted` is what those below could use of it,
    and `private` what they could use of what they keep to themselves.
    """

    parent: Node | None
    leaf: bool
    depth: int
    limit: int | None
    held: int
    promised: int
    kept: int = 0
    lent: int = 0
    wanted: int = 0
    private: int = 0

    @property
    def most(self) -> int:
        """What could be used of this quota and beyond it if nothing else were."""
        return self.held + (self.lent if self.limit is None else min(self.lent, self.limit))

    @property
    def ceiling(self) -> int:
        """The most that all queues here and below can use at once."""
        return self.private + self.used

    @property
    def used(self) -> int:
        """What of its quota, and beyond it, the ceiling takes."""
        return self.most if self.leaf else min(self.wanted, self.most)


class QuotaTree:
    """The quotas of a fleet: for each flavor a node at each queue with an entry for it, and at each cohort above."""

    def __init__(
        self, queues: Iterable[ClusterQueuePlan], cohorts: Iterable[CohortPlan], resource_of: Mapping[str, str]
    ) -> None:
        """Grow the tree; the parents of `cohorts` exist and form no circle."""
        self._cohorts = {cohort.name: cohort for cohort in cohorts}
        self._own = {c.name: dict(accelerator_quotas(c, resource_of)) for c in self._cohorts.values()}
        self._of_cohort: dict[str, dict[str, Node]] = {}
        self._of_queue: dict[str, dict[str, Node]] = {}
        lending: list[tuple[Node, int | None]] = []
        for name, flavors in self._own.items():
            for flavor in flavors:
                self._grown(name, flavor, lending)
        for queue in queues:
            for flavor, quota in accelerator_quotas(queue, resource_of):
                node = _node(self._grown(queue.cohort, flavor, lending), quota, leaf=True)
                self._of_queue.setdefault(queue.name, {})[flavor] = node
                lending.append((node, quota.lending_limit))
        _reckon(lending)

    @staticmethod
    def of(plan: FleetPlan | AckFleetPlan) -> QuotaTree:
        """The tree of a finished plan."""
        resource_of = {flavor.name: flavor.resource for flavor in plan.flavors}
        return quota_tree(plan.cluster_queues, plan.cohorts, resource_of)

    def _grown(self, cohort: str | None, flavor: str, lending: list[tuple[Node, int | None]]) -> Node | None:
        """The node of a cohort, with those above it; one without an entry of its own lets everything pass."""
        missing: list[str] = []
        while cohort is not None and flavor not in self._of_cohort.get(cohort, {}):
            missing.append(cohort)
            cohort = self._cohorts[cohort].parent if cohort in self._cohorts else None
        node = self._of_cohort[cohort][flavor] if cohort is not None else None
        for name in reversed(missing):
            quota = self._own.get(name, {}).get(flavor)
            node = self._of_cohort.setdefault(name, {})[flavor] = _node(node, quota)
            lending.append((node, quota.lending_limit if quota else None))
        return node

    def queue(self, name: str) -> Mapping[str, Node]:
        """Flavor → node of a queue."""
        return self._of_queue.get(name, {})

    def cohort(self, name: str) -> Mapping[str, Node]:
        """Flavor → node of a cohort, for every flavor that it or somebody below it has an entry for."""
        return self._of_cohort.get(name, {})

    def root(self, cohort: str | None) -> str | None:
        """The cohort at the top of the tree that a cohort is in."""
        while cohort in self._cohorts and (above := self._cohorts[cohort].parent) is not None:
            cohort = above
        return cohort

    def ceilings(self, queues: Iterable[ClusterQueuePlan]) -> dict[str, int]:
        """Flavor → the most that `queues` together can use of it."""
        own: dict[str, list[Node]] = {}
        for queue in queues:
            for flavor, node in self.queue(queue.name).items():
                own.setdefault(flavor, []).append(node)
        return {flavor: ceiling(own[flavor]) for flavor in sorted(own)}


_GROWN: deque[tuple[tuple[ClusterQueuePlan, ...], tuple[CohortPlan, ...], Mapping[str, str], QuotaTree]] = deque(
    maxlen=64
)
"""The last trees, for the planner, the proofs and whoever asks after them: more than a fleet has clusters."""


def quota_tree(
    queues: tuple[ClusterQueuePlan, ...], cohorts: tuple[CohortPlan, ...], resource_of: Mapping[str, str]
) -> QuotaTree:
    """The tree of these queues and cohorts, grown once: a plan never changes, and neither does its tree."""
    for of, below, resources, tree in _GROWN:
        if of is queues and below is cohorts and resources == resource_of:
            return tree
    tree = QuotaTree(queues, cohorts, resource_of)
    _GROWN.append((queues, cohorts, resource_of, tree))
    return tree


def largest_jobs(plan: FleetPlan) -> dict[str, int]:
    """Flavor → the most that one job of any queue can have of it in one cluster, under quotas and as machines go."""
    tree = QuotaTree.of(plan)
    held = {flavor.name: flavor.capacity.max for flavor in plan.flavors}
    found: dict[str, int] = {}
    for queue in plan.cluster_queues:
        for flavor, node in tree.queue(queue.name).items():
            found[flavor] = max(found.get(flavor, 0), min(node.most, held[flavor]))
    return found


def ceiling(nodes: Sequence[Node]) -> int:
    """The most that queues can use at once, by their nodes: each level keeps its own and asks above for the rest."""
    if len(nodes) == 1:  # every limit above is in it already
        return nodes[0].most
    asked: dict[int, dict[int, tuple[Node, int]]] = {}
    for node in nodes:
        asked.setdefault(node.depth, {})[id(node)] = (node, node.most)
    total = 0
    for depth in range(max(asked, default=0), -1, -1):
        for node, wanted in asked.get(depth, {}).values():
            used = min(wanted, node.most)
            total += min(used, node.kept)
            if node.parent is not None and used > node.kept:
                above = asked.setdefault(depth - 1, {})
                _, sum_so_far = above.get(id(node.parent), (node.parent, 0))
                above[id(node.parent)] = (node.parent, sum_so_far + used - node.kept)
    return total


def _node(parent: Node | None, quota: QuotaPlan | None, *, leaf: bool = False) -> Node:
    depth = 0 if parent is None else parent.depth + 1
    nominal = quota.nominal if quota else 0
    return Node(parent, leaf, depth, quota.borrowing_limit if quota else None, held=nominal, promised=nominal)


def _reckon(lending: list[tuple[Node, int | None]]) -> None:
    """Sum up from the leaves what is held, then hand down from the roots what can be lent."""
    lending.sort(key=lambda each: each[0].depth)
    for node, limit in reversed(lending):
        if node.parent is None:
            node.kept, node.limit = node.held, 0  # nobody is above: nothing is lent, nothing borrowed
        else:
            node.kept = 0 if limit is None else max(0, node.held - limit)
            node.parent.held += node.held - node.kept
            node.parent.promised += node.promised
    for node, _ in lending:
        if node.parent is not None:
            node.lent = node.kept + node.parent.most - node.held
    for node, _ in reversed(lending):
        if node.parent is not None:
            node.parent.wanted += max(0, node.used - node.kept)
            node.parent.private += node.private + min(node.used, node.kept)
