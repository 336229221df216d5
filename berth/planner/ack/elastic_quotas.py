"""Convert cohorts and queues into ACK's ElasticQuotaTree, and say which leaves reclaim their guarantee from others.

ACK requires that the root's minimum equals its maximum, that the minimums of children add up to their parent's, and
that no maximum is above the parent's (ACK docs: capacity scheduling). Kueue's trees differ in two ways. They may have
several roots; here they get a common root. And a cohort may have its own guarantee; here it becomes a leaf without
namespaces, whose quota is free for all to borrow. Quotas count resources, not flavors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec import Struct, field

from berth.plan.ack import QuotaNodePlan
from berth.plan.grouping import grouped
from berth.plan.kueue import ClusterQueuePlan, CohortPlan, FlavorQuotasPlan, QuotaPlan
from berth.planner.queueing.preemption import PreemptionRule

ROOT_NAME = "root"
SHARED_SUFFIX = "-shared"
"""Suffix of the leaf that holds a cohort's own guarantee."""

ResourceAmounts = dict[str, int]
"""Resource → amount, in the units of QuotaPlan."""


class _ElasticQuotaNode(Struct):
    """A node before its parent is known; borrowing and lending limits are None for a resource without one."""

    name: str
    minimum: ResourceAmounts
    borrowing_limits: Mapping[str, int | None]
    lending_limits: Mapping[str, int | None]
    flavors: set[str]
    namespaces: tuple[str, ...] = ()
    max_jobs: int | None = None
    children: list[_ElasticQuotaNode] = field(default_factory=list["_ElasticQuotaNode"])


def elastic_quota_tree(queues: Iterable[ClusterQueuePlan], cohorts: Iterable[CohortPlan]) -> QuotaNodePlan:
    """Return the root of the tree. The parents of `cohorts` must exist and have no cycle."""
    queues, cohorts = tuple(queues), tuple(cohorts)
    cohort_names = {cohort.name for cohort in cohorts}
    children_by_cohort: dict[str | None, list[ClusterQueuePlan | CohortPlan]] = {}
    for member in (*queues, *cohorts):
        parent = member.cohort if isinstance(member, ClusterQueuePlan) else member.parent
        children_by_cohort.setdefault(parent if parent in cohort_names else None, []).append(member)
    resources = {r for q in queues for r in q.covered_resources}
    resources |= {r for c in cohorts for group in c.resource_groups for r in group.covered_resources}
    resource_order = tuple(sorted(resources, key=lambda r: (r not in ("cpu", "memory"), r)))
    roots = [
        _quota_node(each, children_by_cohort, resource_order)
        for each in _sorted_by_name(children_by_cohort.get(None, ()))
    ]
    total = _sum_amounts(resource_order, (root.minimum for root in roots))
    return QuotaNodePlan(
        name=ROOT_NAME, minimum=total, maximum=total, children=tuple(_node_plan(top, total) for top in roots)
    )


def node_names(queues: Iterable[ClusterQueuePlan], cohorts: Iterable[CohortPlan]) -> Iterator[tuple[str, str, str]]:
    """Yield each name in the tree, with kind and name of its queue or cohort; ACK requires unique names."""
    for queue in queues:
        yield queue.name, "cluster queue", queue.name
    for cohort in cohorts:
        yield cohort.name, "cohort", cohort.name
        if any(quota.nominal for entry in cohort.flavors for quota in entry.quotas):
            yield cohort.name + SHARED_SUFFIX, "cohort", cohort.name


def _sorted_by_name(members: Iterable[ClusterQueuePlan | CohortPlan]) -> list[ClusterQueuePlan | CohortPlan]:
    return sorted(members, key=lambda each: each.name)


def _quota_node(
    member: ClusterQueuePlan | CohortPlan,
    children_by_cohort: Mapping[str | None, list[ClusterQueuePlan | CohortPlan]],
    resource_order: tuple[str, ...],
) -> _ElasticQuotaNode:
    if isinstance(member, ClusterQueuePlan):
        return _queue_node(member, resource_order)
    children = [
        _quota_node(child, children_by_cohort, resource_order)
        for child in _sorted_by_name(children_by_cohort.get(member.name, ()))
    ]
    return _cohort_node(member, children, resource_order)


def _queue_node(queue: ClusterQueuePlan, resource_order: tuple[str, ...]) -> _ElasticQuotaNode:
    own_quotas = _quotas_by_resource(queue.flavors)
    has_no_cohort = queue.cohort is None
    return _ElasticQuotaNode(
        name=queue.name,
        minimum={r: sum(q.nominal for q in own_quotas.get(r, ())) for r in resource_order},
        borrowing_limits={
            r: 0 if has_no_cohort else _sum_limits(q.borrowing_limit for q in own_quotas.get(r, ()))
            for r in resource_order
        },
        lending_limits=dict.fromkeys(resource_order)
        if has_no_cohort
        else {r: _sum_limits(q.lending_limit for q in own_quotas.get(r, ())) for r in resource_order},
        flavors={entry.flavor for entry in queue.flavors},
        namespaces=tuple(sorted({local_queue.namespace for local_queue in queue.local_queues})),
        max_jobs=queue.max_jobs,
    )


def _cohort_node(
    cohort: CohortPlan, children: list[_ElasticQuotaNode], resource_order: tuple[str, ...]
) -> _ElasticQuotaNode:
    entries = cohort.flavors
    own_quotas = _quotas_by_resource(entries)
    own_flavors = {entry.flavor for entry in entries}
    flavors = own_flavors.union(*(child.flavors for child in children))
    passes_freely = bool(flavors - own_flavors)  # a flavor without an entry has no limits
    own_guarantees = {r: sum(q.nominal for q in own_quotas.get(r, ())) for r in resource_order}
    if any(own_guarantees.values()):
        no_borrowing = dict.fromkeys(resource_order, 0)
        children = [
            *children,
            _ElasticQuotaNode(
                cohort.name + SHARED_SUFFIX, own_guarantees, no_borrowing, dict.fromkeys(resource_order), own_flavors
            ),
        ]
    is_root = cohort.parent is None

    def limits(field_name: str) -> dict[str, int | None]:
        return {
            r: None if passes_freely else _sum_limits(getattr(q, field_name) for q in own_quotas.get(r, ()))
            for r in resource_order
        }

    return _ElasticQuotaNode(
        name=cohort.name,
        minimum=_sum_amounts(resource_order, (child.minimum for child in children)),
        borrowing_limits=dict.fromkeys(resource_order, 0) if is_root else limits("borrowing_limit"),
        lending_limits=dict.fromkeys(resource_order) if is_root else limits("lending_limit"),
        flavors=flavors,
        children=children,
    )


def _node_plan(node: _ElasticQuotaNode, parent_maximum: Mapping[str, int]) -> QuotaNodePlan:
    """Return the plan of a node whose parent has this maximum."""
    maximum = {r: _maximum(parent_maximum[r], amount, node.borrowing_limits[r]) for r, amount in node.minimum.items()}
    lend = {r: limit for r, limit in node.lending_limits.items() if limit is not None and limit < node.minimum[r]}
    return QuotaNodePlan(
        name=node.name,
        minimum=node.minimum,
        maximum=maximum,
        namespaces=node.namespaces,
        lend=lend or None,
        max_jobs=node.max_jobs,
        children=tuple(_node_plan(child, maximum) for child in node.children),
    )


def _maximum(parent_maximum: int, minimum: int, borrowing_limit: int | None) -> int:
    return parent_maximum if borrowing_limit is None else min(parent_maximum, minimum + borrowing_limit)


def _sum_limits(limits: Iterable[int | None]) -> int | None:
    """Return the sum of limits; None (unlimited) if one of them is None."""
    known_limits = list(limits)
    return None if None in known_limits else sum(limit or 0 for limit in known_limits)


def _sum_amounts(resource_order: tuple[str, ...], amounts: Iterable[Mapping[str, int]]) -> ResourceAmounts:
    total = dict.fromkeys(resource_order, 0)
    for resource_amounts in amounts:
        for resource, amount in resource_amounts.items():
            total[resource] += amount
    return total


def _quotas_by_resource(entries: Iterable[FlavorQuotasPlan]) -> dict[str, list[QuotaPlan]]:
    """Return resource → its quotas on all flavors."""
    return grouped((quota.resource, quota) for entry in entries for quota in entry.quotas)


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
