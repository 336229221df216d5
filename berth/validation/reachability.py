"""Check that limits can be reached and that every queue can admit a job."""

from __future__ import annotations

from collections.abc import Mapping

from berth.diagnostics import FieldPath, Problems
from berth.planner.queueing.quota_tree import QuotaNode, accelerator_quotas
from berth.validation.quota_claims import FleetQuotas, QuotaClaims


def check_limits_reachable(claims: QuotaClaims[FleetQuotas], problems: Problems) -> None:
    """Warn of borrowing limits above what the rest of the tree lends; reject lending limits above what a cohort has.

    A borrowing limit is not a fault, because what others lend may change without this queue. A cohort cannot lend what
    its queues do not lend, although that is part of the cohort's guarantees. A lending limit above the guarantees is
    reported by the planner.
    """
    nouns = {flavor.name: flavor.noun for flavor in claims.plan.flavors}
    for claim in (c for queue_claims in claims.by_queue.values() for c in queue_claims):
        path = (*claim.path, "flavors", claim.index, "borrow")
        _check_borrowing_limit(
            path, f"cohort '{claim.queue.cohort}'", claim.flavor, nouns, claims.quota_node(claim), problems
        )
    resources = {flavor.name: flavor.resource for flavor in claims.plan.flavors}
    for cohort in claims.plan.cohorts:
        nodes = claims.tree.cohort_nodes(cohort.name)
        quotas = accelerator_quotas(cohort, resources)
        for index, (flavor, quota) in enumerate(quotas):
            path = ("cohorts", cohort.name, "flavors", index)
            _check_borrowing_limit(
                (*path, "borrow"), f"cohort '{cohort.parent}'", flavor, nouns, nodes[flavor], problems
            )
            lending_limit, available = quota.lending_limit, nodes[flavor].subtree_quota
            if lending_limit is not None and available < lending_limit <= nodes[flavor].guaranteed:
                reason = f"the cohort and its members lend only {available} of '{flavor}'"
                message = f"'{lending_limit}' {nouns[flavor]} can never be lent: {reason}; write lend: {available}"
                problems.fault("unreachable-limit", (*path, "lend"), message)


def _check_borrowing_limit(
    path: FieldPath, lender: str, flavor: str, nouns: Mapping[str, str], node: QuotaNode, problems: Problems
) -> None:
    if node.borrowing_limit and node.borrowing_limit > node.available_above:
        remedy = f"write {node.available_above} or less" if node.available_above else "remove borrow"
        amount = f"{node.borrowing_limit} {nouns[flavor]}"
        lent = f"lends at most {node.available_above}" if node.available_above else "lends none"
        message = f"'borrow' is {amount} of '{flavor}', but the rest of {lender} {lent}; {remedy}"
        problems.warning("borrow-limit", path, message)


def check_queues_can_admit(claims: QuotaClaims[FleetQuotas], problems: Problems) -> None:
    """Report queues without a flavor that has nodes, and queues with nothing guaranteed and nothing to borrow.

    Guarantees without nodes are reported by `berth.validation.capacity`.
    """
    capacity = {f.name: f.capacity.max for f in claims.plan.flavors}
    for queue_claims in claims.by_queue.values():
        path = (*queue_claims[0].path, "flavors")
        if any(c.quota.nominal for c in queue_claims):
            continue
        if not any(capacity[c.flavor] for c in queue_claims):
            problems.fault(
                "no-nodes", path, "no flavor of this queue has nodes; write a size above 0 in one of its pools"
            )
        elif not any(claims.quota_node(c).potential_available for c in queue_claims):
            message = "nothing is guaranteed and nothing can be borrowed: no job is ever admitted; write guaranteed"
            problems.fault("empty-queue", path, message)
