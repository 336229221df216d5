"""Which queues a release of quota concerns: those whose jobs would only be set aside again stay out of the cycles.

Of many queues whose next job needs the last free quota, only the first can get it; the others rest as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from berth.placement.kueue import ResourceFlavor
from berth.simulator.scheduler.flavor_assignment import is_eligible
from berth.simulator.scheduler.lasting_shortage import RequestedQuota, find_needs
from berth.simulator.scheduler.quota import QuotaState, find_borrowing_level
from berth.simulator.scheduler.state import QueueState, SimulatedWorkload
from berth.simulator.scheduler.tree import CohortTree


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
