"""Jobs that cannot be admitted while a quota is short: most pending jobs of a full fleet, at most times.

A quick test of what the search for flavors and victims would find. It says yes only where the result is certain, and
changes nothing but the job's place in line.
"""

from __future__ import annotations

from msgspec import Struct

from berth.simulator.scheduler.model import ANY, NEVER
from berth.simulator.scheduler.quota import QuotaState
from berth.simulator.scheduler.state import GroupRequest, SimulatedWorkload


class RequestedQuota(Struct, frozen=True, eq=False):
    """What a job needs of a quota; `beside_own` is that less all that it might preempt in its own queue."""

    quota_state: QuotaState
    amount: int
    beside_own: int

    def is_short(self) -> bool:
        """Return whether the quota is too small, whatever the job may preempt."""
        return self.beside_own > self.quota_state.available() and not self.may_reclaim()

    def may_reclaim(self) -> bool:
        """Return whether jobs of other queues may be preempted: the queue, or a cohort above it, has quota for it."""
        node, amount = self.quota_state, self.amount
        if node.parent is not None and node.usage < node.nominal:
            return True
        while node.parent is not None:
            if node.usage + amount <= node.subtree_quota:
                return True
            amount = max(0, amount - node.local_available())
            node = node.parent
        return False


def is_decided_by_quota(workload: SimulatedWorkload) -> bool:
    """Return whether a shortage of quota decides: no other job waits behind it, and it is not tried in another form."""
    policy = workload.queue_state.queue.preemption
    return (
        workload.search_progress is None
        and policy.reclaim_within_cohort == ANY
        and policy.borrow_within_cohort in (None, NEVER)
        and not workload.uncovered_resource
        and all(each.least is None for each in workload.job.pod_sets)
    )


def has_lasting_shortage(workload: SimulatedWorkload) -> bool:
    """Return whether some request of a job finds every flavor of its group too small."""
    return is_decided_by_quota(workload) and any(
        _is_short(workload, request) for requests in workload.group_requests for request in requests
    )


def _is_short(workload: SimulatedWorkload, request: GroupRequest) -> bool:
    for option in request.flavor_options:
        for resource, amount in request.amounts:
            quota_state = option.quota_states[resource]
            if amount > quota_state.available() and _need(workload, quota_state, amount).is_short():
                break
        else:
            return False
    return True


def find_needs(workload: SimulatedWorkload) -> tuple[RequestedQuota, ...]:
    """Return what a job needs of the first flavor of each group; empty if a shortage would not decide."""
    if not is_decided_by_quota(workload):
        return ()
    return tuple(
        _need(workload, request.flavor_options[0].quota_states[resource], amount)
        for requests in workload.group_requests
        for request in requests
        for resource, amount in request.amounts
    )


def _need(workload: SimulatedWorkload, quota_state: QuotaState, amount: int) -> RequestedQuota:
    rule = workload.queue_state.queue.preemption.within_cluster_queue
    own = workload.queue_state.preemptible_amount(workload.priority, rule, quota_state.flavor_resource)
    return RequestedQuota(quota_state, amount, amount - own)
