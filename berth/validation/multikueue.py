"""Workers: a job runs on one of them, so what many hold together is not for one job."""

from __future__ import annotations

from collections.abc import Mapping

from berth.diagnostics import Path, Problems, in_words
from berth.validation.quota_claims import Ledger


def one_job_runs_on_one_worker(ledger: Ledger, there: Mapping[str, Ledger], found: Problems) -> None:
    """A note where a queue is guaranteed more of a flavor than any worker lets it use for one job."""
    most = _most(there)
    for claim in (claim for claims in ledger.of_queue.values() for claim in claims):
        on = most.get((claim.queue.name, claim.flavor))
        if on and max(on.values()) < claim.quota.nominal:
            shares = in_words([f"{name} {amount}" for name, amount in on.items()])
            message = (
                f"'{claim.quota.nominal}' of '{claim.flavor}' in all; a job runs on one worker, and gets "
                f"{max(on.values())} at the most ({shares})"
            )
            found.note("one-worker-a-job", (*claim.path, "flavors", claim.index, "guaranteed"), message)


def _most(there: Mapping[str, Ledger]) -> dict[tuple[str, str], dict[str, int]]:
    """Queue and flavor to what one job can have on each worker, with nothing else running there."""
    found: dict[tuple[str, str], dict[str, int]] = {}
    for name, ledger in there.items():
        held = {flavor.name: flavor.capacity.max for flavor in ledger.plan.flavors}
        for claim in (claim for claims in ledger.of_queue.values() for claim in claims):
            if amount := min(ledger.node(claim).most, held[claim.flavor]):
                found.setdefault((claim.queue.name, claim.flavor), {})[name] = amount
    return found


def in_worker(path: Path) -> Path:
    """A path of a worker's pool, which a manager calls `worker/pool`, as the stack file has it."""
    if len(path) > 1 and path[0] == "pools" and "/" in str(path[1]):
        worker, _, pool = str(path[1]).partition("/")
        return ("workers", worker, "pools", pool, *path[2:])
    return path
