"""The quota that a job uses: its queue's own part, and the lenders of the borrowed part."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from berth.simulator.scheduler.model import FlavorResource
from berth.simulator.scheduler.quota import QuotaState, QuotaTreeNode


class QuotaUse(Struct, frozen=True):
    """An amount of one flavor and resource: `guaranteed` is within the queue's nominal quota, the rest is borrowed.

    `lenders` are queues, or cohorts with quota of their own, with idle quota: nearest first, as many as needed.
    """

    flavor_resource: FlavorResource
    amount: int
    guaranteed: int
    lenders: tuple[str, ...] = ()

    @property
    def borrowed(self) -> int:
        """The amount above the queue's nominal quota."""
        return self.amount - self.guaranteed


def quota_uses(usage: dict[QuotaState, int]) -> tuple[QuotaUse, ...]:
    """Return the quota that a job will use; `usage` is not counted yet."""
    return tuple(_quota_use(stock, amount) for stock, amount in usage.items() if amount and stock.counts_quota)


def _quota_use(quota_state: QuotaState, amount: int) -> QuotaUse:
    guaranteed = max(0, min(amount, quota_state.nominal - quota_state.usage))
    return QuotaUse(
        quota_state.flavor_resource,
        amount,
        guaranteed,
        tuple(_find_lenders(quota_state, amount - guaranteed)) if guaranteed < amount else (),
    )


def _find_lenders(quota_state: QuotaState, needed: int) -> Iterator[str]:
    branch = quota_state.node
    for cohort in branch.ancestors():
        for lender, idle in _idle_quota(cohort, branch, quota_state.flavor_resource):
            if needed <= 0:
                return
            needed -= idle
            yield lender
        branch = cohort


def _idle_quota(
    cohort: QuotaTreeNode, branch: QuotaTreeNode, flavor_resource: FlavorResource
) -> Iterator[tuple[str, int]]:
    """Yield the owners of idle quota under a cohort, outside the branch `below`, with the amount that can be lent."""
    for child in cohort.children:
        quota_state = child.quota_states.get(flavor_resource)
        if child is branch or quota_state is None:
            continue
        if child.children:
            yield from _idle_quota(child, branch, flavor_resource)
        elif (
            idle := min(
                quota_state.subtree_quota - quota_state.local_quota, quota_state.subtree_quota - quota_state.usage
            )
        ) > 0:
            yield child.name, idle
    if (cohort_nominal := cohort.quota_state(flavor_resource).nominal) > 0:
        yield cohort.name, cohort_nominal
