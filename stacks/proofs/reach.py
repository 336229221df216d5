"""What is allowed can be reached: limits that somebody can use, queues that can admit something."""

from __future__ import annotations

from stacks.planner.ceilings import Node
from stacks.problems import Path, Problems
from stacks.proofs.ledger import Accounts, Promises


def limits_can_be_reached(ledger: Accounts[Promises], found: Problems) -> None:
    """No borrowing limit is above what the rest of the tree lends, and no cohort's lending limit above what it has."""
    for claim in (c for claims in ledger.of_queue.values() for c in claims):
        path = (*claim.path, "flavors", claim.index, "borrow")
        _reachable(path, f"cohort '{claim.queue.cohort}'", claim.flavor, ledger.node(claim), found)
    for cohort in ledger.plan.cohorts:
        nodes = ledger.tree.cohort(cohort.name)
        flavors = [entry.flavor for group in cohort.resource_groups for entry in group.flavors]
        for index, flavor in enumerate(flavors):
            path = ("cohorts", cohort.name, "flavors", index, "borrow")
            _reachable(path, f"cohort '{cohort.parent}'", flavor, nodes[flavor], found)


def _reachable(path: Path, whence: str, flavor: str, node: Node, found: Problems) -> None:
    if node.limit and node.limit > node.lent:
        remedy = f"write {node.lent} or less" if node.lent else "leave borrow out"
        message = f"'{node.limit}' can never be reached: the rest of {whence} lends {node.lent} of '{flavor}'; {remedy}"
        found.fault("unreachable-limit", path, message)


def queues_can_admit(ledger: Accounts[Promises], found: Problems) -> None:
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
        elif not any(ledger.node(c).most for c in claims):
            message = "nothing is guaranteed and nothing can be borrowed: no job is ever admitted; write guaranteed"
            found.fault("empty-queue", path, message)
