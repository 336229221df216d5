"""The tree of quotas as ACK's one ElasticQuotaTree: what Kueue says of cohorts and queues, in minimum and maximum.

ACK wants a root whose minimum is its maximum, children whose minimums add up to their parent's, and no maximum above
the parent's (ACK docs: capacity scheduling). Kueue's trees differ in two things: several roots, which here get one
above them, and guarantees of a cohort's own, which become a leaf without namespaces: nobody asks for it, so all may
borrow it. Quotas count resources here, whatever the flavor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct, field

from berth.plan.ack import QuotaNodePlan
from berth.plan.kueue import ClusterQueuePlan, CohortPlan, FlavorQuotasPlan, QuotaPlan

ROOT = "root"
SHARED = "-shared"
"""How the name of a leaf ends that holds what is a cohort's own."""

Amounts = dict[str, int]
"""By resource, in the units of QuotaPlan."""


class _Node(Struct):
    """A node before its parent is known. `beyond` and `lend` are None of a resource without such a limit."""

    name: str
    minimum: Amounts
    beyond: Mapping[str, int | None]
    lend: Mapping[str, int | None]
    flavors: set[str]
    namespaces: tuple[str, ...] = ()
    max_jobs: int | None = None
    children: list[_Node] = field(default_factory=list["_Node"])


def elastic_quota_tree(queues: Iterable[ClusterQueuePlan], cohorts: Iterable[CohortPlan]) -> QuotaNodePlan:
    """The root of the tree. The parents of `cohorts` exist and form no circle."""
    queues, cohorts = tuple(queues), tuple(cohorts)
    known = {cohort.name for cohort in cohorts}
    below: dict[str | None, list[ClusterQueuePlan | CohortPlan]] = {}
    for each in (*queues, *cohorts):
        above = each.cohort if isinstance(each, ClusterQueuePlan) else each.parent
        below.setdefault(above if above in known else None, []).append(each)
    resources = {r for q in queues for r in q.covered_resources}
    resources |= {r for c in cohorts for group in c.resource_groups for r in group.covered_resources}
    order = tuple(sorted(resources, key=lambda r: (r not in ("cpu", "memory"), r)))
    tops = [_grown(each, below, order) for each in _by_name(below.get(None, ()))]
    total = _sum(order, (top.minimum for top in tops))
    return QuotaNodePlan(name=ROOT, minimum=total, maximum=total, children=tuple(_planned(top, total) for top in tops))


def node_names(queues: Iterable[ClusterQueuePlan], cohorts: Iterable[CohortPlan]) -> Iterator[tuple[str, str, str]]:
    """Name in the tree, and kind and name of the queue or cohort that it is of: a tree takes each name once."""
    for queue in queues:
        yield queue.name, "cluster queue", queue.name
    for cohort in cohorts:
        yield cohort.name, "cohort", cohort.name
        if any(quota.nominal for entry in cohort.flavors for quota in entry.quotas):
            yield cohort.name + SHARED, "cohort", cohort.name


def _by_name(found: Iterable[ClusterQueuePlan | CohortPlan]) -> list[ClusterQueuePlan | CohortPlan]:
    return sorted(found, key=lambda each: each.name)


def _grown(
    each: ClusterQueuePlan | CohortPlan,
    below: Mapping[str | None, list[ClusterQueuePlan | CohortPlan]],
    order: tuple[str, ...],
) -> _Node:
    if isinstance(each, ClusterQueuePlan):
        return _leaf(each, order)
    children = [_grown(child, below, order) for child in _by_name(below.get(each.name, ()))]
    return _inner(each, children, order)


def _leaf(queue: ClusterQueuePlan, order: tuple[str, ...]) -> _Node:
    own = _quotas(queue.flavors)
    alone = queue.cohort is None
    return _Node(
        name=queue.name,
        minimum={r: sum(q.nominal for q in own.get(r, ())) for r in order},
        beyond={r: 0 if alone else _limited(q.borrowing_limit for q in own.get(r, ())) for r in order},
        lend=dict.fromkeys(order) if alone else {r: _limited(q.lending_limit for q in own.get(r, ())) for r in order},
        flavors={entry.flavor for entry in queue.flavors},
        namespaces=tuple(sorted({door.namespace for door in queue.local_queues})),
        max_jobs=queue.max_jobs,
    )


def _inner(cohort: CohortPlan, children: list[_Node], order: tuple[str, ...]) -> _Node:
    entries = cohort.flavors
    own = _quotas(entries)
    said = {entry.flavor for entry in entries}
    flavors = said.union(*(child.flavors for child in children))
    free = bool(flavors - said)  # a flavor without an entry passes freely
    extra = {r: sum(q.nominal for q in own.get(r, ())) for r in order}
    if any(extra.values()):
        none = dict.fromkeys(order, 0)
        children = [*children, _Node(cohort.name + SHARED, extra, none, dict.fromkeys(order), said)]
    top = cohort.parent is None

    def limits(key: str) -> dict[str, int | None]:
        return {r: None if free else _limited(getattr(q, key) for q in own.get(r, ())) for r in order}

    return _Node(
        name=cohort.name,
        minimum=_sum(order, (child.minimum for child in children)),
        beyond=dict.fromkeys(order, 0) if top else limits("borrowing_limit"),
        lend=dict.fromkeys(order) if top else limits("lending_limit"),
        flavors=flavors,
        children=children,
    )


def _planned(node: _Node, most: Mapping[str, int]) -> QuotaNodePlan:
    """The node below a parent with this maximum."""
    maximum = {r: _least(most[r], amount, node.beyond[r]) for r, amount in node.minimum.items()}
    lend = {r: limit for r, limit in node.lend.items() if limit is not None and limit < node.minimum[r]}
    return QuotaNodePlan(
        name=node.name,
        minimum=node.minimum,
        maximum=maximum,
        namespaces=node.namespaces,
        lend=lend or None,
        max_jobs=node.max_jobs,
        children=tuple(_planned(child, maximum) for child in node.children),
    )


def _least(most: int, amount: int, beyond: int | None) -> int:
    return most if beyond is None else min(most, amount + beyond)


def _limited(limits: Iterable[int | None]) -> int | None:
    """The sum of limits, or None where one of them is none."""
    found = list(limits)
    return None if None in found else sum(limit or 0 for limit in found)


def _sum(order: tuple[str, ...], amounts: Iterable[Mapping[str, int]]) -> Amounts:
    total = dict.fromkeys(order, 0)
    for each in amounts:
        for resource, amount in each.items():
            total[resource] += amount
    return total


def _quotas(entries: Iterable[FlavorQuotasPlan]) -> dict[str, list[QuotaPlan]]:
    """Resource → its quota on every flavor."""
    found: dict[str, list[QuotaPlan]] = {}
    for entry in entries:
        for quota in entry.quotas:
            found.setdefault(quota.resource, []).append(quota)
    return found
