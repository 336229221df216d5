"""Fair sharing: the share of a queue or cohort, and the order in which the heads of queues are considered.

A share is Kueue's dominant resource share: of each resource, what the node borrows over all flavors, as thousandths of
what its parent could use at most; the highest of them, divided by the node's weight.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec import Struct

from berth.simulator.scheduler.model import FlavorResource
from berth.simulator.scheduler.quota import QuotaState, QuotaTreeNode, add_usage, remove_usage

LESS_THAN_INITIAL_SHARE = "LessThanInitialShare"
FAIR_STRATEGIES = ("LessThanOrEqualToFinalShare", LESS_THAN_INITIAL_SHARE)
"""Preemption strategies, in Kueue's default order: compare with the share after the preemption, or before it."""

ShareRank = tuple[int, float]
"""A share as a comparable value; a node of weight 0 that borrows ranks above every other."""

LOWEST_RANK: ShareRank = (0, -1.0)
"""Below every share."""


class FairShare(Struct, frozen=True):
    """The share of a node, and the flavors and resources that it borrows."""

    rank: ShareRank
    borrowed: tuple[FlavorResource, ...] = ()


class Contender(Struct, eq=False):
    """The head of a queue: its flavors and amounts, its priority, and its place in the order of arrival."""

    node: QuotaTreeNode
    usage: dict[QuotaState, int]
    priority: int
    arrival_order: int


def compute_share(node: QuotaTreeNode) -> FairShare:
    """Return the share of a node; a root borrows nothing."""
    parent = node.parent
    if parent is None:
        return FairShare((0, 0.0))
    borrowed_amounts: dict[str, int] = {}
    borrowed: list[FlavorResource] = []
    for flavor_resource, quota_state in node.quota_states.items():
        amount = quota_state.usage - quota_state.subtree_quota
        if amount > 0:
            resource = flavor_resource[1]
            borrowed_amounts[resource] = borrowed_amounts.get(resource, 0) + amount
            borrowed.append(flavor_resource)
    if not borrowed:
        return FairShare((0, 0.0))
    lendable = parent.lendable_amounts()
    ratios = (amount * 1000 / lendable[resource] for resource, amount in borrowed_amounts.items() if lendable[resource])
    ratio = max(ratios, default=0.0)
    rank = (1, ratio) if ratio and not node.weight else (0, ratio / node.weight if ratio else 0.0)
    return FairShare(rank, tuple(borrowed))


class Tournament:
    """The next head to consider: in each cohort, the child with the lowest share after the admission of its head wins.

    A head whose child stays within its quota of the requested flavors comes before one whose child borrows them. Equal
    shares are ordered by priority, then by arrival.
    """

    def __init__(self, contenders: Collection[Contender]) -> None:
        self.shares = {(parent, each): share for each in contenders for parent, share in _shares_with(each).items()}
        self.by_node = {each.node: each for each in contenders}

    def winner(self, node: QuotaTreeNode) -> Contender | None:
        """Return the best head below a node, or its own; None if there is none."""
        own = self.by_node.get(node)
        candidates = [won for child in node.children if (won := self.winner(child)) is not None]
        return own or min(candidates, key=lambda each: self._key(node, each), default=None)

    def _key(self, cohort: QuotaTreeNode, contender: Contender) -> tuple[bool, ShareRank, int, int]:
        share = self.shares[cohort, contender]
        requested = {stock.flavor_resource for stock, amount in contender.usage.items() if amount > 0}
        is_borrowing = not requested.isdisjoint(share.borrowed)
        return is_borrowing, share.rank, -contender.priority, contender.arrival_order


def _shares_with(contender: Contender) -> Mapping[QuotaTreeNode, FairShare]:
    """Return the shares of the contender's queue and of the cohorts above with its head admitted, by their parent."""
    add_usage(contender.usage)
    shares = {
        node.parent: compute_share(node)
        for node in (contender.node, *contender.node.ancestors())
        if node.parent is not None
    }
    remove_usage(contender.usage)
    return shares
