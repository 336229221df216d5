"""Which leaves of a quota tree reclaim their guarantee from others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from berth.plan.ack import QuotaNodePlan
from berth.planner.queueing.preemption import PreemptionRule


def reclaim_rules(root: QuotaNodePlan) -> tuple[PreemptionRule, ...]:
    """Return the relations of a quota tree: a leaf reclaims its guarantee from leaves that borrow it.

    A leaf can borrow it if on each level below their common cohort a maximum is above its minimum.
    """
    return tuple(
        PreemptionRule(name, "min", "borrowers", resources)
        for name, resources in _reclaimable(root, frozenset())
        if resources
    )


def _reclaimable(node: QuotaNodePlan, borrowed: Collection[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each leaf below a node with the accelerators of its guarantee that other leaves may use."""
    lendable_resources = {r for r in node.minimum if node.lend is None or node.lend.get(r, 1)}
    if node.namespaces:
        yield (
            node.name,
            tuple(r for r, minimum in node.minimum.items() if minimum and r in lendable_resources & set(borrowed)),
        )
    by_child = [_borrowable(child) for child in node.children]
    borrowers = Counter(r for child_borrowing in by_child for r in child_borrowing)
    for child, child_resources in zip(node.children, by_child, strict=True):
        sibling_borrowed = {r for r, borrower_count in borrowers.items() if borrower_count > (r in child_resources)}
        yield from _reclaimable(child, sibling_borrowed | (set(borrowed) & lendable_resources))


def _borrowable(node: QuotaNodePlan) -> set[str]:
    """Return the accelerators of which a leaf below may use more than this node's guarantee."""
    above_minimum = {
        r for r, minimum in node.minimum.items() if node.maximum[r] > minimum and r not in ("cpu", "memory")
    }
    return (
        above_minimum & {r for child in node.children for r in _borrowable(child)} if node.children else above_minimum
    )
