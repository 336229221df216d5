"""What is allowed can be reached: limits that somebody can use, queues that can admit something."""

from __future__ import annotations

from collections.abc import Mapping

from berth.diagnostics import Path, Problems
from berth.planner.queueing.quota_tree import Node, accelerator_quotas
from berth.validation.quota_claims import Accounts, Promises


def limits_can_be_reached(ledger: Accounts[Promises], found: Problems) -> None:
    """No borrowing limit is above what the rest of the tree lends, and no cohort's lending limit above what it has.

    What a queue keeps to itself its cohort has not, though it is guaranteed it. More than that is seen to elsewhere.
    """
    nouns = {flavor.name: flavor.noun for flavor in ledger.plan.flavors}
    for claim in (c for claims in ledger.of_queue.values() for c in claims):
        path = (*claim.path, "flavors", claim.index, "borrow")
        _reachable(path, f"cohort '{claim.queue.cohort}'", claim.flavor, nouns, ledger.node(claim), found)
    resources = {flavor.name: flavor.resource for flavor in ledger.plan.flavors}
    for cohort in ledger.plan.cohorts:
        nodes = ledger.tree.cohort(cohort.name)
        quotas = accelerator_quotas(cohort, resources)
        for index, (flavor, quota) in enumerate(quotas):
            path = ("cohorts", cohort.name, "flavors", index)
            _reachable((*path, "borrow"), f"cohort '{cohort.parent}'", flavor, nouns, nodes[flavor], found)
            lend, held = quota.lending_limit, nodes[flavor].held
            if lend is not None and held < lend <= nodes[flavor].promised:
                has = f"those below lend {held} of '{flavor}', the cohort's own included"
                message = f"{lend} {nouns[flavor]} can never be reached: {has}; write lend: {held}"
                found.fault("unreachable-limit", (*path, "lend"), message)


def _reachable(path: Path, whence: str, flavor: str, nouns: Mapping[str, str], node: Node, found: Problems) -> None:
    if node.limit and node.limit > node.lent:
        remedy = f"write {node.lent} or less" if node.lent else "leave borrow out"
        asked = f"{node.limit} {nouns[flavor]}"
        message = f"{asked} can never be reached: the rest of {whence} lends {node.lent} of '{flavor}'; {remedy}"
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
