"""Preemption relations between queues, in a form for people: which jobs a queue can preempt."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from msgspec import Struct

from berth.diagnostics import join_words
from berth.plan.fleet import FleetPlan
from berth.plan.grouping import grouped
from berth.plan.kueue import ClusterQueuePlan
from berth.planner.queueing.quota_tree import QuotaTree, accelerator_quotas, lendable
from berth.text import abbreviate_names

_WITHIN = {
    "LowerPriority": "lower-priority jobs in the same queue",
    "LowerOrNewerEqualPriority": "jobs in the same queue with a lower priority, or newer ones with the same priority",
}
_RECLAIM = ("reclaimWithinCohort", "min")
"""Rules by which a queue gets back its own guarantee."""


class PreemptionRule(Struct, frozen=True):
    """`queue` can preempt `whom` (a noun phrase) by Kueue's rule `rule`, on `flavors` (empty: on any)."""

    queue: str
    rule: str
    whom: str
    flavors: tuple[str, ...] = ()


class PreemptionPair(Struct, frozen=True):
    """`queue` can preempt jobs of `other` (or its own) by Kueue's rule `rule`, on `flavors` (empty: on any)."""

    queue: str
    target_queue: str
    rule: str
    flavors: tuple[str, ...] = ()


def preemption_rules(plan: FleetPlan, tree: QuotaTree | None = None) -> tuple[PreemptionRule, ...]:
    """Return every relation, queue by queue, with at most three per queue; `tree` is the plan's, if it is built."""
    resources = {f.name: f.resource for f in plan.flavors}
    tree = tree or QuotaTree.from_plan(plan)
    borrowers = _borrowers_by_flavor(plan, tree)
    return tuple(
        preemption_rule
        for queue in plan.cluster_queues
        for preemption_rule in _queue_rules(queue, resources, tree, borrowers)
    )


def preemption_pairs(plan: FleetPlan, tree: QuotaTree, queue_names: Collection[str]) -> Iterator[PreemptionPair]:
    """Yield the relations between the queues `queue_names`, pair by pair.

    In another queue, only jobs that borrow can be preempted.
    """
    resources = {f.name: f.resource for f in plan.flavors}
    borrowers = _borrowers_by_flavor(plan, tree)
    for queue in (queue for queue in plan.cluster_queues if queue.name in queue_names):
        for preemption_rule in _queue_rules(queue, resources, tree, borrowers):
            if preemption_rule.rule == "withinClusterQueue":
                yield PreemptionPair(queue.name, queue.name, preemption_rule.rule)
                continue
            flavors_by_queue = grouped(
                (other, flavor)
                for flavor in preemption_rule.flavors
                for other in borrowers.get((tree.root_cohort(queue.cohort), flavor), set())
                & set(queue_names) - {queue.name}
            )
            yield from (
                PreemptionPair(queue.name, other, preemption_rule.rule, tuple(flavors_by_queue[other]))
                for other in sorted(flavors_by_queue)
            )


def describe_rules(preemption_rules: Iterable[PreemptionRule], queues: int | None = None) -> Iterator[str]:
    """Yield a sentence for each group of equal rules: `a and b can reclaim their guarantee from borrowers, on v5e`.

    A rule that all `queues` have begins with `every queue`.
    """
    groups = grouped(((each.rule, each.whom, each.flavors), each.queue) for each in preemption_rules)
    for (rule, whom, flavors), names in groups.items():
        subject = "every queue" if len(names) == queues and len(names) > 1 else abbreviate_names(names)
        pronoun = "its" if len(names) == 1 or len(names) == queues else "their"
        verb = f"reclaim {pronoun} guarantee from" if rule in _RECLAIM else "preempt"
        yield f"{subject} can {verb} {whom}" + (f", on {join_words(list(flavors))}" if flavors else "")


def _borrowers_by_flavor(plan: FleetPlan, tree: QuotaTree) -> dict[tuple[str | None, str], set[str]]:
    """Return (root cohort, flavor) → queues that may borrow it from their cohort or above."""
    borrowers: dict[tuple[str | None, str], set[str]] = {}
    for queue in plan.cluster_queues:
        if queue.cohort is not None:
            for flavor, node in tree.queue_nodes(queue.name).items():
                if node.borrowing_limit != 0:
                    borrowers.setdefault((tree.root_cohort(queue.cohort), flavor), set()).add(queue.name)
    return borrowers


def _queue_rules(
    queue: ClusterQueuePlan,
    resources: dict[str, str],
    tree: QuotaTree,
    borrowers: dict[tuple[str | None, str], set[str]],
) -> Iterator[PreemptionRule]:
    policies = queue.preemption
    if policies.within_cluster_queue in _WITHIN:
        yield PreemptionRule(queue.name, "withinClusterQueue", _WITHIN[policies.within_cluster_queue])
    if queue.cohort is None:
        return
    quotas = list(accelerator_quotas(queue, resources))
    root = tree.root_cohort(queue.cohort)
    reclaimable_flavors = tuple(f for f, q in quotas if lendable(q) and borrowers.get((root, f), set()) - {queue.name})
    if policies.reclaim_within_cohort != "Never" and reclaimable_flavors:
        whom = "borrowers" if policies.reclaim_within_cohort == "Any" else "lower-priority borrowers"
        yield PreemptionRule(queue.name, "reclaimWithinCohort", whom, reclaimable_flavors)
    borrowable_flavors = tuple(f for f, q in quotas if q.borrowing_limit != 0)
    if policies.borrow_within_cohort == "LowerPriority" and borrowable_flavors:
        limit = policies.max_priority_threshold
        priority_text = "" if limit is None else f" with priority {limit} or less"
        yield PreemptionRule(
            queue.name,
            "borrowWithinCohort",
            f"lower-priority jobs{priority_text} in the same cohort to borrow quota",
            borrowable_flavors,
        )
