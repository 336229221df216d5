"""Jobs that cannot be admitted while a quota is short, and which queues a release of quota concerns.

Most pending jobs of a full fleet are such jobs, at most times. A quick test says what the search for flavors and
victims would find: yes only where the result is certain, and it changes nothing but the job's place in line. Queues
whose jobs would only be set aside again stay out of the cycles. Of many queues whose next job needs the last free
quota, only the first can get it; the others rest as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from berth.placement.kueue import ResourceFlavor
from berth.simulator.scheduler.flavor_assignment import is_eligible
from berth.simulator.scheduler.model import ANY, NEVER
from berth.simulator.scheduler.quota import QuotaState, find_borrowing_level
from berth.simulator.scheduler.state import GroupRequest, QueueState, SimulatedWorkload
from berth.simulator.scheduler.tree import CohortTree


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


class RestingShape(Struct, frozen=True, eq=False):
    """A shape of which all jobs are set aside, by its first job, and what that needs.

    `claim` is its request as (quota of the root, amount), if it could only take free quota; else it is empty.
    """

    workload: SimulatedWorkload
    needs: tuple[RequestedQuota, ...]
    claim: tuple[tuple[QuotaState, int], ...]

    def is_short(self) -> bool:
        """Return whether a quota is too small, so that the job would be set aside again."""
        for need in self.needs:  # noqa: SIM110 - asked of every queue after every release, and any() takes twice as long
            if need.is_short():
                return True
        return False

    def takes_what_is_free(self) -> bool:
        """Return whether the job fits, and nothing but the free quota of the root decides whether it still does."""
        return bool(self.claim) and all(
            need.amount <= need.quota_state.available() == root.subtree_quota - root.usage and not need.may_reclaim()
            for need, (root, _) in zip(self.needs, self.claim, strict=True)
        )

    def place(self) -> tuple[int, int, int]:
        """Return the place of the job in its cycle: borrowing level, priority, arrival."""
        level = max(find_borrowing_level(need.quota_state, need.amount)[0] for need in self.needs)
        return level, -self.workload.priority, self.workload.arrival_order


class RestingShapes(Struct, frozen=True, eq=False):
    """The shapes of a queue's pending jobs, all set aside, in the order in which cycles try them."""

    shapes: tuple[RestingShape, ...]


_Claims = tuple[tuple[int, tuple[tuple[QuotaState, int], ...]], ...]
"""The claims of a queue's shapes that are not short, with their numbers in the order of all.

Queues with equal ones try them in the same cycles, while none is admitted."""


def find_waking(tree: CohortTree, resource_flavors: Mapping[str, ResourceFlavor]) -> Iterator[QueueState]:
    """Yield the queues of a tree whose inadmissible jobs must be tried again after a release of quota.

    Quota that a job takes in a cycle is not free again before jobs are evicted, and then this is asked once more.
    """
    claimants: dict[_Claims, list[tuple[QueueState, list[RestingShape]]]] = {}
    for queue_state in tree.queue_states:
        if not tree.may_rest or queue_state.line.ready_count or queue_state.preemptor or not queue_state.is_active():
            yield queue_state
            continue
        resting = queue_state.resting
        if not isinstance(resting, RestingShapes):
            set_aside = queue_state.line.firsts_set_aside()
            first = sorted(set_aside, key=lambda work: (-work.priority, work.arrival_order))
            resting = RestingShapes(tuple(_find_shape(work, resource_flavors) for work in first))
            queue_state.resting = resting
        waking: list[RestingShape] = []
        claims: list[tuple[int, tuple[tuple[QuotaState, int], ...]]] = []
        for index, shape in enumerate(resting.shapes):
            if not shape.is_short():
                waking.append(shape)
                claims.append((index, shape.claim))
        if not waking:
            continue
        if all(shape.takes_what_is_free() for shape in waking):
            claimants.setdefault(tuple(claims), []).append((queue_state, waking))
        else:
            yield queue_state
    for claims_of, queues in claimants.items():
        yield from _find_winners(claims_of, queues)


def _find_winners(claims: _Claims, queues: list[tuple[QueueState, list[RestingShape]]]) -> Iterator[QueueState]:
    """Yield the queues, of those with equal claims, that may get some of what is free.

    For each claim, as many come first as there is room for; if one of them gets none, no later one does.
    """
    rest = queues
    for number, (_, claim) in enumerate(claims):
        rest = sorted(rest, key=lambda each: each[1][number].place())
        room = min((root.subtree_quota - root.usage) // amount for root, amount in claim)
        yield from (queue_state for queue_state, _ in rest[:room])
        rest = rest[room:]


def _find_shape(workload: SimulatedWorkload, resource_flavors: Mapping[str, ResourceFlavor]) -> RestingShape:
    needs = find_needs(workload)
    groups = workload.queue_state.queue.resource_groups
    is_plain = len(workload.job.pod_sets) == 1 and all(
        need.amount == need.beside_own
        and need.amount > 0
        and is_eligible(workload.job, 0, need.quota_state.flavor_resource, groups, resource_flavors)
        for need in needs
    )
    return RestingShape(workload, needs, tuple((n.quota_state.root, n.amount) for n in needs) if is_plain else ())
