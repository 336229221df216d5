"""Check that limits can be reached and that every queue can admit a job; on workers, on one of them."""

from __future__ import annotations

from collections.abc import Mapping

from berth.diagnostics import FieldPath, Problems, join_words
from berth.planner.queueing.quota_tree import QuotaNode, accelerator_quotas
from berth.validation.quota_claims import FleetQuotaClaims, FleetQuotas, QuotaClaims


def check_limits_reachable(claims: QuotaClaims[FleetQuotas], problems: Problems) -> None:
    """Warn of borrowing limits above what the rest of the tree lends; reject lending limits above what a cohort has.

    A borrowing limit is not a fault, because what others lend may change without this queue. A cohort cannot lend what
    its queues do not lend, although that is part of the cohort's guarantees. A lending limit above the guarantees is
    reported by the planner.
    """
    nouns = {flavor.name: flavor.noun for flavor in claims.plan.flavors}
    unpromised = {flavor.name for flavor in claims.plan.flavors if not flavor.promised}
    for claim in (c for queue_claims in claims.by_queue.values() for c in queue_claims):
        path = (*claim.path, "flavors", claim.index, "borrow")
        pot = cohort_quota(claim.queue.cohort, claim.flavor) if claim.flavor in unpromised else ""
        _check_borrowing_limit(
            path, f"cohort '{claim.queue.cohort}'", claim.flavor, nouns, claims.quota_node(claim), problems, pot
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
    path: FieldPath,
    lender: str,
    flavor: str,
    nouns: Mapping[str, str],
    node: QuotaNode,
    problems: Problems,
    pot: str = "",
) -> None:
    """Warn if more may be borrowed than others lend; `pot` is what to write for a flavor that nobody is guaranteed."""
    if node.borrowing_limit and node.borrowing_limit > node.available_above:
        remedy = f"write {node.available_above} or less" if node.available_above else pot or "remove borrow"
        amount = f"{node.borrowing_limit} {nouns[flavor]}"
        lent = f"lends at most {node.available_above}" if node.available_above else "lends none"
        message = f"'borrow' is {amount} of '{flavor}', but the rest of {lender} {lent}; {remedy}"
        problems.warning("borrow-limit", path, message)


def cohort_quota(cohort: str | None, flavor: str) -> str:
    """Return what to write so that the queues of a cohort share a flavor that none of them is guaranteed."""
    return (
        f"write cohorts: {{{cohort}: {{flavors: [{{flavor: {flavor}, guaranteed: all}}]}}}}, which gives it to the "
        "cohort as a whole (docs/how-to/reserved-then-spot.md)"
    )


def check_queues_can_admit(claims: QuotaClaims[FleetQuotas], problems: Problems) -> None:
    """Report queues without a flavor that has nodes, and queues with nothing guaranteed and nothing to borrow.

    The latter is a warning for a queue with windows, which has a guarantee at another time. Guarantees without nodes
    are reported by `berth.validation.capacity`.
    """
    capacity = {f.name: f.capacity.max for f in claims.plan.flavors}
    unpromised = {flavor.name for flavor in claims.plan.flavors if not flavor.promised}
    in_time = {each.holder for each in claims.plan.calendar}
    for queue_claims in claims.by_queue.values():
        path = (*queue_claims[0].path, "flavors")
        if any(c.quota.nominal for c in queue_claims):
            continue
        if not any(capacity[c.flavor] for c in queue_claims):
            problems.fault(
                "no-nodes", path, "no flavor of this queue has nodes; write a size above 0 in one of its pools"
            )
        elif any(claims.quota_node(c).potential_available for c in queue_claims):
            continue
        elif queue_claims[0].label in in_time:
            message = (
                "nothing is guaranteed and nothing can be borrowed: no job is admitted; write borrow to let it wait"
            )
            problems.warning("window-empty", path, f"{message} for idle machines")
        else:
            first = next((c for c in queue_claims if c.flavor in unpromised and c.queue.cohort), None)
            remedy = cohort_quota(first.queue.cohort, first.flavor) if first else "write guaranteed"
            message = f"nothing is guaranteed and nothing can be borrowed: no job is ever admitted; {remedy}"
            problems.fault("empty-queue", path, message)


def note_one_worker_per_job(
    claims: FleetQuotaClaims, worker_claims: Mapping[str, FleetQuotaClaims], problems: Problems
) -> None:
    """Note each queue that is guaranteed more of a flavor than any worker lets one job use."""
    max_by_worker = _max_job_by_worker(worker_claims)
    for claim in (claim for queue_claims in claims.by_queue.values() for claim in queue_claims):
        amounts = max_by_worker.get((claim.queue.name, claim.flavor))
        if amounts and max(amounts.values()) < claim.quota.nominal:
            shares = join_words([f"{name} {amount}" for name, amount in amounts.items()])
            message = (
                f"'{claim.quota.nominal}' of '{claim.flavor}' is the total of all workers; a job runs on one worker "
                "and gets "
                f"at most {max(amounts.values())} ({shares})"
            )
            problems.note("one-worker-a-job", (*claim.path, "flavors", claim.index, "guaranteed"), message)


def _max_job_by_worker(worker_claims: Mapping[str, FleetQuotaClaims]) -> dict[tuple[str, str], dict[str, int]]:
    """Return queue and flavor → worker → the most that one job can use there, if nothing else runs."""
    result: dict[tuple[str, str], dict[str, int]] = {}
    for name, claims in worker_claims.items():
        capacity = {flavor.name: flavor.capacity.max for flavor in claims.plan.flavors}
        for claim in (claim for queue_claims in claims.by_queue.values() for claim in queue_claims):
            if amount := min(claims.quota_node(claim).potential_available, capacity[claim.flavor]):
                result.setdefault((claim.queue.name, claim.flavor), {})[name] = amount
    return result


def worker_path(path: FieldPath) -> FieldPath:
    """Return the stack file's path of a worker's pool, which a manager calls `worker/pool`."""
    if len(path) > 1 and path[0] == "pools" and "/" in str(path[1]):
        worker, _, pool = str(path[1]).partition("/")
        return ("workers", worker, "pools", pool, *path[2:])
    return path
