"""The quota tree: a root cohort, the cohorts below it, and cluster queues as leaves.

A node keeps part of its quota (what its lending limit withholds) and lends the rest to its parent. Usage counts first
against the kept part, the remainder against the parent, and so on upwards. Flavors and resources are independent:
`QuotaState` is one flavor and resource at one node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from berth.plan.kueue import QuotaLimits
from berth.simulator.scheduler.model import FlavorResource

_NO_QUOTA = QuotaLimits(nominal=0)


class QuotaState:
    """The quota of one flavor and resource at one node.


    `subtree_quota` is its own quota and what its children lend, `local_quota` the part that it does not lend, `ceiling`
    the most it can use, `borrowing_limit` None means unlimited.
    """

    counts_quota = True
    """Whether it stands for quota; the room that placed pods take is counted like it."""

    __slots__ = (
        "borrowing_limit",
        "ceiling",
        "flavor_resource",
        "local_quota",
        "node",
        "nominal",
        "parent",
        "path_from_root",
        "root",
        "subtree_quota",
        "usage",
    )

    def __init__(
        self, node: QuotaTreeNode, flavor_resource: FlavorResource, parent: QuotaState | None, quota: QuotaLimits
    ) -> None:
        self.node = node
        self.flavor_resource = flavor_resource
        self.parent = parent
        self.nominal = quota.nominal
        self.borrowing_limit = quota.borrowing_limit if parent is not None else None
        self.subtree_quota = quota.nominal
        self.local_quota = 0
        self.ceiling = 0
        self.usage = 0
        # Nodes from the root's child down to this one, in the order in which available quota is computed.
        self.path_from_root: tuple[QuotaState, ...] = () if parent is None else (*parent.path_from_root, self)
        self.root: QuotaState = self if parent is None else parent.root

    def as_key(self) -> object:
        """Return what it is of, as a comparable value."""
        return self

    def is_borrowing_with(self, amount: int) -> bool:
        """Return whether `amount` more would exceed the subtree's quota, so that it is borrowed."""
        return self.subtree_quota < self.usage + amount

    def local_available(self) -> int:
        """Return the unused part of the quota that the node does not lend."""
        return self.local_quota - self.usage if self.local_quota > self.usage else 0

    def available(self) -> int:
        """Return the quota that the node can still use; at least 0."""
        amount = signed_available(self)
        return amount if amount > 0 else 0


class QuotaTreeNode:
    """A cohort or a cluster queue in the tree; `height` is 0 for a queue, else one more than its highest child.

    `weight` is that of fair sharing among the children of its parent.
    """

    __slots__ = ("_lendable_amounts", "children", "height", "name", "parent", "quota_states", "quotas", "weight")

    def __init__(
        self,
        name: str,
        parent: QuotaTreeNode | None,
        quotas: Mapping[FlavorResource, QuotaLimits],
        weight: float = 1.0,
    ) -> None:
        self.name = name
        self.weight = weight
        self._lendable_amounts: dict[str, int] | None = None
        self.parent = parent
        self.quotas = quotas
        self.quota_states: dict[FlavorResource, QuotaState] = {}
        self.children: list[QuotaTreeNode] = []
        self.height = 0
        if parent is not None:
            parent.children.append(self)

    def ancestors(self) -> Iterator[QuotaTreeNode]:
        """Yield the cohorts above, nearest first."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def root(self) -> QuotaTreeNode:
        """Return the top of the tree."""
        return [self, *self.ancestors()][-1]

    def quota_state(self, flavor_resource: FlavorResource) -> QuotaState:
        """Return the quota of a flavor and resource; creates an empty one if there is none."""
        quota_state = self.quota_states.get(flavor_resource)
        if quota_state is None:
            parent = None if self.parent is None else self.parent.quota_state(flavor_resource)
            quota_state = self.quota_states[flavor_resource] = QuotaState(
                self, flavor_resource, parent, self.quotas.get(flavor_resource, _NO_QUOTA)
            )
        return quota_state

    def lendable_amounts(self) -> Mapping[str, int]:
        """Return what the node could use at most of each resource, over all flavors of the tree."""
        if self._lendable_amounts is None:
            amounts: dict[str, int] = {}
            for flavor, resource in self.root().quota_states:
                nodes = (self, *self.ancestors())
                ceilings = (at.ceiling for n in nodes if (at := n.quota_states.get((flavor, resource))) is not None)
                amounts[resource] = amounts.get(resource, 0) + next(ceilings)
            self._lendable_amounts = amounts
        return self._lendable_amounts

    def is_within_nominal(self, flavor_resources: Iterable[FlavorResource]) -> bool:
        """Return whether the node's usage is within its subtree's quota for each of `flavor_resources`."""
        for flavor_resource in flavor_resources:
            quota_state = self.quota_states.get(flavor_resource)
            if quota_state is not None and quota_state.subtree_quota < quota_state.usage:
                return False
        return True


def compute_quotas(root: QuotaTreeNode) -> None:
    """Create the quotas of a tree: what each node lends and keeps, and its ceiling."""
    for node in _walk_subtree(root):
        for flavor_resource in node.quotas:
            node.quota_state(flavor_resource)
    _accumulate_quotas(root)
    for node in _walk_subtree(root):
        for quota_state in node.quota_states.values():
            quota_state.ceiling = _ceiling(quota_state)


def _walk_subtree(node: QuotaTreeNode) -> Iterator[QuotaTreeNode]:
    """Yield the node and all below it, parents first."""
    yield node
    for child in node.children:
        yield from _walk_subtree(child)


def _accumulate_quotas(node: QuotaTreeNode) -> None:
    for child in node.children:
        _accumulate_quotas(child)
        node.height = max(node.height, child.height + 1)
        for flavor_resource, quota_state in child.quota_states.items():
            node.quota_state(flavor_resource).subtree_quota += quota_state.subtree_quota - quota_state.local_quota
    for flavor_resource, quota in node.quotas.items():
        if quota.lending_limit is not None:
            quota_state = node.quota_states[flavor_resource]
            quota_state.local_quota = max(0, quota_state.subtree_quota - quota.lending_limit)


def _ceiling(quota_state: QuotaState) -> int:
    """Return what the node could use if nothing else were used; its parent's ceiling must be set."""
    if quota_state.parent is None:
        return quota_state.subtree_quota
    ceiling = quota_state.local_quota + quota_state.parent.ceiling
    return (
        ceiling
        if quota_state.borrowing_limit is None
        else min(ceiling, quota_state.subtree_quota + quota_state.borrowing_limit)
    )


def signed_available(quota_state: QuotaState) -> int:
    """Return how much the node's usage can grow; negative if limits were lowered below usage."""
    root = quota_state.root
    amount = root.subtree_quota - root.usage
    for ancestor in quota_state.path_from_root:
        local_quota, usage = ancestor.local_quota, ancestor.usage
        if ancestor.borrowing_limit is not None:
            borrowable = ancestor.subtree_quota - local_quota + ancestor.borrowing_limit
            if usage > local_quota:
                borrowable -= usage - local_quota
            if borrowable < amount:
                amount = borrowable
        if local_quota > usage:
            amount += local_quota - usage
    return amount


def add_amount(quota_state: QuotaState | None, amount: int) -> None:
    """Add `amount` to the usage; the part above what the node keeps also counts at its parent."""
    while quota_state is not None:
        local_available = quota_state.local_available()
        quota_state.usage += amount
        if amount <= local_available:
            return
        amount -= local_available
        quota_state = quota_state.parent


def remove_amount(quota_state: QuotaState | None, amount: int) -> None:
    """Subtract `amount` from the usage."""
    while quota_state is not None:
        in_parent = quota_state.usage - quota_state.local_quota
        quota_state.usage -= amount
        if in_parent <= 0:
            return
        amount = min(amount, in_parent)
        quota_state = quota_state.parent


def find_borrowing_level(quota_state: QuotaState, amount: int) -> tuple[int, bool]:
    """Return the borrowing level of `amount` more: the height of the lowest subtree whose quota covers it.

    0 is the queue itself. The flag is whether that subtree has a parent, so that the queue may reclaim what others
    borrowed from it.
    """
    ancestor = quota_state.parent
    if ancestor is None or not quota_state.is_borrowing_with(amount):
        return 0, ancestor is not None
    amount -= quota_state.local_available()
    while ancestor.is_borrowing_with(amount) and ancestor.parent is not None:
        amount -= ancestor.local_available()
        ancestor = ancestor.parent
    return ancestor.node.height, ancestor.parent is not None and not ancestor.is_borrowing_with(amount)


def add_usage(usage: Mapping[QuotaState, int]) -> None:
    """Add usage to each quota."""
    for quota_state, amount in usage.items():
        add_amount(quota_state, amount)


def remove_usage(usage: Mapping[QuotaState, int]) -> None:
    """Subtract usage from each quota."""
    for quota_state, amount in usage.items():
        remove_amount(quota_state, amount)


def split_by_quota(requests: dict[QuotaState, int]) -> tuple[bool, dict[QuotaState, int]]:
    """Return whether the node's quota covers `requests` beside its usage, and the rest for its parent."""
    fits = not any(stock.is_borrowing_with(amount) for stock, amount in requests.items())
    return fits, {
        s.parent: max(0, amount - s.local_available()) for s, amount in requests.items() if s.parent is not None
    }
