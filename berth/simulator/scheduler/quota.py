"""The tree of quotas: a root cohort, the cohorts below it, and cluster queues as leaves.

A node keeps part of its quota to itself (what its lending limit withholds) and lends the rest to its parent. Usage is
counted where it is met: first against what the node keeps, the remainder against the parent, and so on upwards.
The tree of one cell (a flavor and a resource) does not know of the others: `Stock` is one cell at one node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from berth.plan.kueue import QuotaLimits
from berth.simulator.scheduler.model import FlavorResource

_NO_QUOTA = QuotaLimits(nominal=0)


class QuotaState:
    """One cell at one node. `subtree` is the quota of the node and all that those below it lend, `kept` what of it the
    node does not lend, `most` what it could use at the very most, `limit` its borrowing limit (None: none).
    """

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
        # The way from the root's child down to here, along which room is found.
        self.path_from_root: tuple[QuotaState, ...] = () if parent is None else (*parent.path_from_root, self)
        self.root: QuotaState = self if parent is None else parent.root

    def is_borrowing_with(self, amount: int) -> bool:
        """Return whether `amount` more would be beyond the subtree's quota, that is borrowed."""
        return self.subtree_quota < self.usage + amount

    def local_available(self) -> int:
        """What is left of what the node keeps to itself."""
        return self.local_quota - self.usage if self.local_quota > self.usage else 0

    def available(self) -> int:
        """What the node may use beside what is used; never less than nothing."""
        amount = signed_available(self)
        return amount if amount > 0 else 0


class QuotaTreeNode:
    """A cohort or a cluster queue in the tree; `height` is 0 for a queue, else one more than the highest child's."""

    __slots__ = ("children", "height", "name", "parent", "quota_states", "quotas")

    def __init__(self, name: str, parent: QuotaTreeNode | None, quotas: Mapping[FlavorResource, QuotaLimits]) -> None:
        self.name = name
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
        """Return the stock of a cell; one that nobody has quota of is made, empty."""
        quota_state = self.quota_states.get(flavor_resource)
        if quota_state is None:
            parent = None if self.parent is None else self.parent.quota_state(flavor_resource)
            quota_state = self.quota_states[flavor_resource] = QuotaState(
                self, flavor_resource, parent, self.quotas.get(flavor_resource, _NO_QUOTA)
            )
        return quota_state

    def is_within_nominal(self, flavor_resources: Iterable[FlavorResource]) -> bool:
        """Return whether the node uses no more than its subtree's quota of each of `cells`."""
        for flavor_resource in flavor_resources:
            quota_state = self.quota_states.get(flavor_resource)
            if quota_state is not None and quota_state.subtree_quota < quota_state.usage:
                return False
        return True


def compute_quotas(root: QuotaTreeNode) -> None:
    """Make the stocks of a tree, and work out what each lends and keeps and the most it can use."""
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
    """What the node could use if nothing else were used; its parent's is known already."""
    if quota_state.parent is None:
        return quota_state.subtree_quota
    ceiling = quota_state.local_quota + quota_state.parent.ceiling
    return (
        ceiling
        if quota_state.borrowing_limit is None
        else min(ceiling, quota_state.subtree_quota + quota_state.borrowing_limit)
    )


def signed_available(quota_state: QuotaState) -> int:
    """What could be added to the node's usage now; negative where limits were lowered under what is used."""
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
    """Use `amount` more; what a node does not keep to itself counts at its parent too."""
    while quota_state is not None:
        local_available = quota_state.local_available()
        quota_state.usage += amount
        if amount <= local_available:
            return
        amount -= local_available
        quota_state = quota_state.parent


def remove_amount(quota_state: QuotaState | None, amount: int) -> None:
    """Give `amount` back."""
    while quota_state is not None:
        in_parent = quota_state.usage - quota_state.local_quota
        quota_state.usage -= amount
        if in_parent <= 0:
            return
        amount = min(amount, in_parent)
        quota_state = quota_state.parent


def find_borrowing_level(quota_state: QuotaState, amount: int) -> tuple[int, bool]:
    """How high one has to go for `amount` more: the height of the lowest subtree whose quota covers it.

    0 is the queue itself. The flag says whether something lies above that subtree, from which the queue may thus have
    the right to take back what others borrowed.
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
    """Count a usage."""
    for quota_state, amount in usage.items():
        add_amount(quota_state, amount)


def remove_usage(usage: Mapping[QuotaState, int]) -> None:
    """Take a usage off."""
    for quota_state, amount in usage.items():
        remove_amount(quota_state, amount)
