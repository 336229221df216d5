"""Check that a queue can get cpu and memory for every accelerator up to its ceiling."""

from __future__ import annotations

from collections.abc import Iterator

from berth.diagnostics import Problems
from berth.plan.kueue import QuotaPlan
from berth.planner.queueing.amounts import CPU, MEMORY
from berth.planner.queueing.quota_tree import QuotaTree
from berth.validation.quota_claims import FleetQuotas, QuotaClaims

ResourceRate = tuple[int, int]
"""Amount of a resource (rounded up) per number of accelerators."""


def check_resource_rates(claims: QuotaClaims[FleetQuotas], problems: Problems) -> None:
    """Warn of queues whose ceiling of accelerators is above their ceiling of cpu or memory, at their own rate.

    This happens if rates (`perAccelerator`) differ: a queue that lends 8 GPUs with 8 cpu lends no usable GPU to a queue
    that counts 26 cpu per GPU.
    """
    uneven = _uneven_flavors(claims)
    nouns = {flavor.name: flavor.noun for flavor in claims.plan.flavors if flavor.name in uneven}
    for resource in (CPU, MEMORY) if uneven else ():
        resource_of = {flavor.name: resource for flavor in claims.plan.flavors}
        tree = QuotaTree(claims.plan.cluster_queues, claims.plan.cohorts, resource_of, in_milli=True)
        for claim in (claim for flavor in nouns for claim in claims.by_flavor.get(flavor, [])):
            quota = next(q for q in claim.queue.flavors[claim.index].quotas if q.resource == resource)
            amount, accelerators = _rate(claim.quota, quota) or (0, 1)
            max_accelerators, available = (
                claims.quota_node(claim).potential_available,
                tree.queue_nodes(claim.queue.name)[claim.flavor].potential_available,
            )
            # Each quota of a sum is rounded by less than 1.
            rounding_error = len(claims.by_flavor[claim.flavor]) + len(claims.plan.cohorts)
            if (available + rounding_error) * accelerators < max_accelerators * amount:
                message = (
                    f"can have up to {max_accelerators} {nouns[claim.flavor]} of '{claim.flavor}', but {resource} for "
                    f"only {available * accelerators // amount}, because a queue or cohort that lends has less "
                    f"{resource} per accelerator; write the same perAccelerator in all of them"
                )
                problems.warning("uneven-rates", (*claim.path, "flavors", claim.index), message)


def _uneven_flavors(claims: QuotaClaims[FleetQuotas]) -> set[str]:
    """Return the flavors whose cpu or memory queues and cohorts count at different rates."""
    first_rates: dict[tuple[str, str], ResourceRate] = {}
    uneven: set[str] = set()
    for flavor, accelerators, quota in _accelerator_entries(claims):
        if (rate := _rate(accelerators, quota)) is not None:
            (first_amount, first_count), (amount, count) = first_rates.setdefault((flavor, quota.resource), rate), rate
            if (
                abs(first_amount * count - amount * first_count) > first_count + count
            ):  # a larger difference than rounding causes
                uneven.add(flavor)
    return uneven


def _accelerator_entries(claims: QuotaClaims[FleetQuotas]) -> Iterator[tuple[str, QuotaPlan, QuotaPlan]]:
    """Yield the flavor, accelerator quota and each cpu or memory quota of every entry of a queue or cohort.

    Equal entries are yielded once.
    """
    resources = {flavor.name: flavor.resource for flavor in claims.plan.flavors}
    owners = (*claims.plan.cluster_queues, *claims.plan.cohorts)
    for entry in {(e.flavor, e.quotas): e for owner in owners for e in owner.flavors}.values():
        accelerators = next(quota for quota in entry.quotas if quota.resource == resources[entry.flavor])
        yield from ((entry.flavor, accelerators, q) for q in entry.quotas if q.resource in (CPU, MEMORY))


def _rate(accelerators: QuotaPlan, quota: QuotaPlan) -> ResourceRate | None:
    """Return how much of a resource is counted per accelerator; None without an amount of accelerators."""
    for field in ("nominal", "borrowing_limit", "lending_limit"):
        if amount := getattr(accelerators, field):
            return getattr(quota, field), amount
    return None
