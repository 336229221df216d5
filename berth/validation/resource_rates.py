"""Accelerators come with cpu and memory: a ceiling of the one is none without the others."""

from __future__ import annotations

from collections.abc import Iterator

from berth.diagnostics import Problems
from berth.plan.kueue import QuotaPlan
from berth.planner.queueing.amounts import CPU, MEMORY
from berth.planner.queueing.quota_tree import QuotaTree
from berth.validation.quota_claims import FleetQuotas, QuotaClaims

ResourceRate = tuple[int, int]
"""So much of a resource (rounded up) for so many accelerators."""


def check_resource_rates(claims: QuotaClaims[FleetQuotas], problems: Problems) -> None:
    """A warning where a queue could have more of a flavor than it could have cpu or memory for, at its own rate.

    So it is where rates (`perAccelerator`) differ: who lends 8 GPUs and 8 cpu lends no 8 GPUs to whom each has 26.
    """
    uneven = _uneven_flavors(claims)
    nouns = {flavor.name: flavor.noun for flavor in claims.plan.flavors if flavor.name in uneven}
    for resource in (CPU, MEMORY) if uneven else ():
        resource_of = {flavor.name: resource for flavor in claims.plan.flavors}
        tree = QuotaTree(claims.plan.cluster_queues, claims.plan.cohorts, resource_of)
        for claim in (claim for flavor in nouns for claim in claims.by_flavor.get(flavor, [])):
            quota = next(q for q in claim.queue.flavors[claim.index].quotas if q.resource == resource)
            amount, accelerators = _rate(claim.quota, quota) or (0, 1)
            max_accelerators, available = (
                claims.quota_node(claim).potential_available,
                tree.queue_nodes(claim.queue.name)[claim.flavor].potential_available,
            )
            if (available + _rounding_error(claims, claim.flavor)) * accelerators < max_accelerators * amount:
                message = (
                    f"up to {max_accelerators} {nouns[claim.flavor]} of '{claim.flavor}', "
                    f"and {resource} for {available * accelerators // amount} of "
                    "them: who lends, or a cohort above, counts less of it an accelerator; write one perAccelerator"
                )
                problems.warning("uneven-rates", (*claim.path, "flavors", claim.index), message)


def _uneven_flavors(claims: QuotaClaims[FleetQuotas]) -> set[str]:
    """Flavors of which queues and cohorts count cpu or memory at different rates."""
    first_rates: dict[tuple[str, str], ResourceRate] = {}
    uneven: set[str] = set()
    for flavor, accelerators, quota in _accelerator_entries(claims):
        if (rate := _rate(accelerators, quota)) is not None:
            (first_amount, first_count), (amount, count) = first_rates.setdefault((flavor, quota.resource), rate), rate
            if (
                abs(first_amount * count - amount * first_count) > first_count + count
            ):  # more than rounding up makes of one rate
                uneven.add(flavor)
    return uneven


def _accelerator_entries(claims: QuotaClaims[FleetQuotas]) -> Iterator[tuple[str, QuotaPlan, QuotaPlan]]:
    """Of every entry of a queue or cohort its flavor, the quota of accelerators, and those of cpu and memory.

    Once, where many have the very same quotas.
    """
    resources = {flavor.name: flavor.resource for flavor in claims.plan.flavors}
    owners = (*claims.plan.cluster_queues, *claims.plan.cohorts)
    for entry in {(e.flavor, e.quotas): e for owner in owners for e in owner.flavors}.values():
        accelerators = next(quota for quota in entry.quotas if quota.resource == resources[entry.flavor])
        yield from ((entry.flavor, accelerators, q) for q in entry.quotas if q.resource in (CPU, MEMORY))


def _rate(accelerators: QuotaPlan, quota: QuotaPlan) -> ResourceRate | None:
    """What is counted of a resource for so many accelerators; None where no amount of them is said."""
    for field in ("nominal", "borrowing_limit", "lending_limit"):
        if amount := getattr(accelerators, field):
            return getattr(quota, field), amount
    return None


def _rounding_error(claims: QuotaClaims[FleetQuotas], flavor: str) -> int:
    """What rounding may take from a sum of quotas: less than one for each of them."""
    return len(claims.by_flavor[flavor]) + len(claims.plan.cohorts)
