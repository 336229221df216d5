"""Workers: a job runs on one of them, so what many hold together is not for one job."""

from __future__ import annotations

from collections.abc import Mapping

from stacks.problems import Path, Problems, in_words
from stacks.proofs.ledger import Ledger


def one_job_runs_on_one_worker(ledger: Ledger, there: Mapping[str, Ledger], found: Problems) -> None:
    """A note where a queue is guaranteed more of a flavor than any worker lets it use for one job."""
    for claims in ledger.of_queue.values():
        for claim in claims:
            most = {name: _most(on, claim.queue.name, claim.flavor) for name, on in there.items()}
            most = {name: amount for name, amount in most.items() if amount}
            if most and max(most.values()) < claim.quota.nominal:
                shares = in_words([f"{name} {amount}" for name, amount in most.items()])
                message = (
                    f"'{claim.quota.nominal}' of '{claim.flavor}' in all; a job runs on one worker, and gets "
                    f"{max(most.values())} at the most ({shares})"
                )
                found.note("one-worker-a-job", (*claim.path, "flavors", claim.index, "guaranteed"), message)


def _most(ledger: Ledger, queue: str, flavor: str) -> int:
    """What one job of a queue can have of a flavor on a worker, with nothing else running there."""
    node = ledger.tree.queue(queue).get(flavor)
    held = next((f.capacity.max for f in ledger.plan.flavors if f.name == flavor), 0)
    return min(node.most, held) if node else 0


def in_worker(path: Path) -> Path:
    """A path of a worker's pool, which a manager calls `worker/pool`, as the stack file has it."""
    if len(path) > 1 and path[0] == "pools" and "/" in str(path[1]):
        worker, _, pool = str(path[1]).partition("/")
        return ("workers", worker, "pools", pool, *path[2:])
    return path
