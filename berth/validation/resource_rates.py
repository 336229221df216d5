"""Accelerators come with cpu and memory: a ceiling of the one is none without the others."""

from __future__ import annotations

from collections.abc import Iterator

from berth.diagnostics import Problems
from berth.plan.kueue import QuotaPlan
from berth.planner.queueing.amounts import CPU, MEMORY
from berth.planner.queueing.quota_tree import quota_tree
from berth.validation.quota_claims import Accounts, Promises

Rate = tuple[int, int]
"""So much of a resource (rounded up) for so many accelerators."""


def what_comes_along_suffices(ledger: Accounts[Promises], found: Problems) -> None:
    """A warning where a queue could have more of a flavor than it could have cpu or memory for, at its own rate.

    So it is where rates (`perAccelerator`) differ: who lends 8 GPUs and 8 cpu lends no 8 GPUs to whom each has 26.
    """
    uneven = _uneven(ledger)
    nouns = {flavor.name: flavor.noun for flavor in ledger.plan.flavors if flavor.name in uneven}
    for resource in (CPU, MEMORY) if uneven else ():
        resource_of = {flavor.name: resource for flavor in ledger.plan.flavors}
        tree = quota_tree(ledger.plan.cluster_queues, ledger.plan.cohorts, resource_of)
        for claim in (claim for flavor in nouns for claim in ledger.of_flavor.get(flavor, [])):
            quota = next(q for q in claim.queue.flavors[claim.index].quotas if q.resource == resource)
            each, of = _rate(claim.quota, quota) or (0, 1)
            most, has = ledger.node(claim).most, tree.queue(claim.queue.name)[claim.flavor].most
            if (has + _rounded(ledger, claim.flavor)) * of < most * each:
                message = (
                    f"up to {most} {nouns[claim.flavor]} of '{claim.flavor}', and {resource} for {has * of // each} of "
                    "them: who lends, or a cohort above, counts less of it an accelerator; write one perAccelerator"
                )
                found.warning("uneven-rates", (*claim.path, "flavors", claim.index), message)


def _uneven(ledger: Accounts[Promises]) -> set[str]:
    """Flavors of which queues and cohorts count cpu or memory at different rates."""
    first: dict[tuple[str, str], Rate] = {}
    uneven: set[str] = set()
    for flavor, accelerators, quota in _entries(ledger):
        if (found := _rate(accelerators, quota)) is not None:
            (one, of_one), (other, of_other) = first.setdefault((flavor, quota.resource), found), found
            if abs(one * of_other - other * of_one) > of_one + of_other:  # more than rounding up makes of one rate
                uneven.add(flavor)
    return uneven


def _entries(ledger: Accounts[Promises]) -> Iterator[tuple[str, QuotaPlan, QuotaPlan]]:
    """Of every entry of a queue or cohort its flavor, the quota of accelerators, and those of cpu and memory.

    Once, where many have the very same quotas.
    """
    resources = {flavor.name: flavor.resource for flavor in ledger.plan.flavors}
    holders = (*ledger.plan.cluster_queues, *ledger.plan.cohorts)
    for entry in {(e.flavor, id(e.quotas)): e for holder in holders for e in holder.flavors}.values():
        accelerators = next(quota for quota in entry.quotas if quota.resource == resources[entry.flavor])
        yield from ((entry.flavor, accelerators, q) for q in entry.quotas if q.resource in (CPU, MEMORY))


def _rate(accelerators: QuotaPlan, quota: QuotaPlan) -> Rate | None:
    """What is counted of a resource for so many accelerators; None where no amount of them is said."""
    for field in ("nominal", "borrowing_limit", "lending_limit"):
        if amount := getattr(accelerators, field):
            return getattr(quota, field), amount
    return None


def _rounded(ledger: Accounts[Promises], flavor: str) -> int:
    """What rounding may take from a sum of quotas: less than one for each of them."""
    return len(ledger.of_flavor[flavor]) + len(ledger.plan.cohorts)
