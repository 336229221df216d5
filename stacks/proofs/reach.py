"""What is allowed can be reached: limits that somebody can use, queues that can admit something."""

from __future__ import annotations

from stacks.problems import Problems
from stacks.proofs.ledger import Ledger


def limits_can_be_reached(ledger: Ledger, found: Problems) -> None:
    """No borrowing limit is above what the rest of the cohort lends."""
    for claim in (c for claims in ledger.of_queue.values() for c in claims):
        limit, others = claim.quota.borrowing_limit, ledger.lent_to(claim)
        if limit and limit > others:
            remedy = f"write {others} or less" if others else "leave borrow out"
            message = (
                f"'{limit}' can never be reached: the rest of cohort '{claim.queue.cohort}' lends {others} of "
                f"'{claim.flavor}'; {remedy}"
            )
            found.fault("unreachable-limit", (*claim.path, "flavors", claim.index, "borrow"), message)


def queues_can_admit(ledger: Ledger, found: Problems) -> None:
    """Every queue has some flavor with nodes, and something guaranteed or to be borrowed.

    What is guaranteed without nodes to it is seen to elsewhere.
    """
    capacity = {f.name: f.capacity.max for f in ledger.plan.flavors}
    for claims in ledger.of_queue.values():
        path = (*claims[0].path, "flavors")
        if any(c.quota.nominal for c in claims):
            continue
        if not any(capacity[c.flavor] for c in claims):
            found.fault("no-nodes", path, "no flavor of this queue has any nodes; give one of its pools nodes")
        elif not any(c.quota.borrowing_limit != 0 and ledger.lent_to(c) for c in claims):
            message = "nothing is guaranteed and nothing can be borrowed: no job is ever admitted; write guaranteed"
            found.fault("empty-queue", path, message)
