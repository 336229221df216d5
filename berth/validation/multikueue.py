"""Check workers: a job runs on one of them, so it cannot use the total of several."""

from __future__ import annotations

from collections.abc import Mapping

from berth.diagnostics import FieldPath, Problems, join_words
from berth.validation.quota_claims import FleetQuotaClaims


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
