"""Who can push out whom, as relations between queues that a person can read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from msgspec import Struct

from berth.diagnostics import in_words
from berth.plan.ack import QuotaNodePlan
from berth.plan.fleet import FleetPlan
from berth.plan.kueue import ClusterQueuePlan
from berth.planner.queueing.quota_tree import QuotaTree, accelerator_quotas, lendable
from berth.text import some

_WITHIN = {
    "LowerPriority": "lower-priority work of its own queue",
    "LowerOrNewerEqualPriority": "lower-priority work of its own queue, and newer work of its own priority",
}


class PushOut(Struct, frozen=True):
    """`queue` may push out `whom` (words that follow "▸"), by Kueue's rule `rule`, on `flavors` (empty: on any)."""

    queue: str
    rule: str
    whom: str
    flavors: tuple[str, ...] = ()


class Pair(Struct, frozen=True):
    """`queue` may push out work of `other`, itself included, by Kueue's rule `rule`, on `flavors` (empty: on any)."""

    queue: str
    other: str
    rule: str
    flavors: tuple[str, ...] = ()


def push_outs(plan: FleetPlan) -> tuple[PushOut, ...]:
    """Every relation, queue by queue; at most three a queue, so the whole grows with the queues and not their pairs."""
    resources = {f.name: f.resource for f in plan.flavors}
    tree = QuotaTree.of(plan)
    borrowers = _borrowers(plan, tree)
    return tuple(found for queue in plan.cluster_queues for found in _of_queue(queue, resources, tree, borrowers))


def taken_back(root: QuotaNodePlan) -> tuple[PushOut, ...]:
    """The relations of a tree of quotas on ACK: a leaf gets back what it is guaranteed and another has borrowed.

    Another can where a maximum is above its minimum on each level below the cohort that the two have in common.
    """
    return tuple(
        PushOut(name, "min", "whoever borrows its guarantee", resources)
        for name, resources in _owed(root, frozenset())
        if resources
    )


def _owed(node: QuotaNodePlan, borrowed: Collection[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Leaves below a node, each with what of its guarantee others may use: `borrowed` from outside, and within."""
    lent = {r for r in node.minimum if node.lend is None or node.lend.get(r, 1)}
    if node.namespaces:
        yield node.name, tuple(r for r, least in node.minimum.items() if least and r in lent & set(borrowed))
    by_child = [_borrowing(child) for child in node.children]
    borrowers = Counter(r for found in by_child for r in found)
    for child, own in zip(node.children, by_child, strict=True):
        beside = {r for r, number in borrowers.items() if number > (r in own)}
        yield from _owed(child, beside | (set(borrowed) & lent))


def _borrowing(node: QuotaNodePlan) -> set[str]:
    """Accelerators of which some leaf here may use more than this node is guaranteed."""
    own = {r for r, least in node.minimum.items() if node.maximum[r] > least and r not in ("cpu", "memory")}
    return own & {r for child in node.children for r in _borrowing(child)} if node.children else own


def pairs(plan: FleetPlan, among: Collection[str]) -> Iterator[Pair]:
    """The relations between the queues `among`, one by one: as many as these times themselves, at the most.

    Pushed out of another queue is only who borrows there.
    """
    resources = {f.name: f.resource for f in plan.flavors}
    tree = QuotaTree.of(plan)
    borrowers = _borrowers(plan, tree)
    for queue in (queue for queue in plan.cluster_queues if queue.name in among):
        for found in _of_queue(queue, resources, tree, borrowers):
            if found.rule == "withinClusterQueue":
                yield Pair(queue.name, queue.name, found.rule)
                continue
            others: dict[str, list[str]] = {}
            for flavor in found.flavors:
                for other in borrowers.get((tree.root(queue.cohort), flavor), set()) & set(among) - {queue.name}:
                    others.setdefault(other, []).append(flavor)
            yield from (Pair(queue.name, other, found.rule, tuple(others[other])) for other in sorted(others))


def sentences(found: Iterable[PushOut], queues: int) -> Iterator[str]:
    """Relations in words, those alike in one: `a and b ▸ whoever borrows its guarantee, on v5e`; of `queues` in all."""
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for one in found:
        groups.setdefault((one.whom, one.flavors), []).append(one.queue)
    for (whom, flavors), names in groups.items():
        who = "every queue" if len(names) == queues > 1 else some(names)
        yield f"{who} ▸ {whom}" + (f", on {in_words(list(flavors))}" if flavors else "")


def _borrowers(plan: FleetPlan, tree: QuotaTree) -> dict[tuple[str | None, str], set[str]]:
    """(root cohort, flavor) → the queues that may borrow there, from their cohort or from above it."""
    found: dict[tuple[str | None, str], set[str]] = {}
    for queue in plan.cluster_queues:
        if queue.cohort is not None:
            for flavor, node in tree.queue(queue.name).items():
                if node.limit != 0:
                    found.setdefault((tree.root(queue.cohort), flavor), set()).add(queue.name)
    return found


def _of_queue(
    queue: ClusterQueuePlan,
    resources: dict[str, str],
    tree: QuotaTree,
    borrowers: dict[tuple[str | None, str], set[str]],
) -> Iterator[PushOut]:
    rules = queue.preemption
    if rules.within_cluster_queue in _WITHIN:
        yield PushOut(queue.name, "withinClusterQueue", _WITHIN[rules.within_cluster_queue])
    if queue.cohort is None:
        return
    quotas = list(accelerator_quotas(queue, resources))
    root = tree.root(queue.cohort)
    owed = tuple(f for f, q in quotas if lendable(q) and borrowers.get((root, f), set()) - {queue.name})
    if rules.reclaim_within_cohort != "Never" and owed:
        who = "whoever borrows" if rules.reclaim_within_cohort == "Any" else "lower-priority work that borrows"
        yield PushOut(queue.name, "reclaimWithinCohort", f"{who} its guarantee", owed)
    borrowing = tuple(f for f, q in quotas if q.borrowing_limit != 0)
    if rules.borrow_within_cohort == "LowerPriority" and borrowing:
        limit = rules.max_priority_threshold
        below = "" if limit is None else f" of priority {limit} or less"
        yield PushOut(
            queue.name, "borrowWithinCohort", f"lower-priority work{below} of its cohort, to borrow", borrowing
        )
