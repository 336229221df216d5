"""Comparison of priorities, stop policies, keys of queues, and of whether queues can reclaim their guarantee."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from msgspec import Struct

from berth.diff.kinds import ChangeKind
from berth.plan.kueue import PriorityPlan
from berth.plan.teams import QueueingPlan
from berth.planner.queueing.quota_tree import accelerator_quotas


class PriorityChange(Struct, frozen=True):
    """A priority whose `value` (None: it does not exist), preemption or default changes.

    `above` are the priorities that it is newly above, `below` those that it is newly below. `preempts` (its jobs
    preempt others) and `default` (for jobs without a priority) are before and after.
    """

    priority: str
    value: tuple[int | None, int | None]
    above: tuple[str, ...]
    below: tuple[str, ...]
    preempts: tuple[bool, bool]
    default: tuple[bool, bool]


class StopChange(Struct, frozen=True):
    """A queue that is `held`, `drained` or `resumed`, other than by the state of its team."""

    queue: str
    what: ChangeKind


class ReclaimChange(Struct, frozen=True):
    """Whether a queue `can` now reclaim its guarantee of `flavors` from its cohort."""

    queue: str
    teams: tuple[str, ...]
    flavors: tuple[str, ...]
    can: bool


def compare_priorities(old: QueueingPlan, new: QueueingPlan) -> Iterator[PriorityChange]:
    """Compare priorities by name."""
    before, after = ({each.name: each for each in plan.priorities} for plan in (old, new))
    for name in sorted(before.keys() | after.keys()):
        old_priority, new_priority = before.get(name), after.get(name)
        if old_priority != new_priority:
            lower, higher = zip(*(_priorities_around(name, side) for side in (before, after)), strict=True)
            yield PriorityChange(
                priority=name,
                value=(old_priority and old_priority.value, new_priority and new_priority.value),
                above=tuple(sorted(lower[1] - lower[0])),
                below=tuple(sorted(higher[1] - higher[0])),
                preempts=(bool(old_priority and old_priority.preempts), bool(new_priority and new_priority.preempts)),
                default=(bool(old_priority and old_priority.default), bool(new_priority and new_priority.default)),
            )


def _priorities_around(name: str, known: Mapping[str, PriorityPlan]) -> tuple[set[str], set[str]]:
    """Return the priorities below and above one; none if it does not exist."""
    if name not in known:
        return set(), set()
    value = known[name].value
    below = {each.name for each in known.values() if each.value < value}
    return below, {each.name for each in known.values() if each.value > value}


def priority_order(old: QueueingPlan, new: QueueingPlan) -> tuple[tuple[str, ...], ...]:
    """Return the priorities of both plans, highest first, before and after; empty if the order does not change."""
    kept = {each.name for each in old.priorities} & {each.name for each in new.priorities}
    before, after = (
        tuple(p.name for p in sorted(plan.priorities, key=lambda p: (-p.value, p.name)) if p.name in kept)
        for plan in (old, new)
    )
    return (before, after) if before != after else ()


def compare_reclaim(old: QueueingPlan, new: QueueingPlan) -> Iterator[ReclaimChange]:
    """Yield the queues that can no longer reclaim their guarantee from borrowers, or can again."""
    before = {queue.name: queue for queue in old.cluster_queues}
    resources = {flavor.name: flavor.resource for flavor in new.flavors}
    for queue in new.cluster_queues:
        old_queue = before.get(queue.name)
        if old_queue is None or queue.cohort is None:
            continue
        could, can = (each.preemption.reclaim_within_cohort != "Never" for each in (old_queue, queue))
        if could == can:
            continue
        flavors = tuple(flavor for flavor, quota in accelerator_quotas(queue, resources) if quota.nominal)
        if flavors:
            yield ReclaimChange(queue.name, queue.teams, flavors, can)


_STOPS = {
    None: ChangeKind.RESUMED,
    "None": ChangeKind.RESUMED,
    "Hold": ChangeKind.HELD,
    "HoldAndDrain": ChangeKind.DRAINED,
}


def compare_stops(old: QueueingPlan, new: QueueingPlan, teams: Collection[str]) -> Iterator[StopChange]:
    """Compare the stop policies of queues, except those of `teams`, whose change of state is reported instead."""
    before = {queue.name: queue for queue in old.cluster_queues}
    for queue in new.cluster_queues:
        old_queue = before.get(queue.name)
        if old_queue is None or set(queue.teams) & set(teams):
            continue
        what = _STOPS[queue.stop_policy]
        if what != _STOPS.get(old_queue.stop_policy):
            yield StopChange(queue.name, what)


class QueueRename(Struct, frozen=True):
    """A new `queue` with the teams and quotas of the queue `former`, which is gone; `hint` keeps that one's name."""

    queue: str
    former: str
    hint: str


def find_likely_renames(old: QueueingPlan, new: QueueingPlan) -> Iterator[QueueRename]:
    """Queues that are deleted and created with the same teams, cohort and quotas: their key changed."""
    kept = {queue.name for queue in old.cluster_queues} & {queue.name for queue in new.cluster_queues}
    removed = [queue for queue in old.cluster_queues if queue.name not in kept]
    for queue in (queue for queue in new.cluster_queues if queue.name not in kept):
        quota = queue.teams, queue.cohort, queue.flavors
        match = next((each for each in removed if (each.teams, each.cohort, each.flavors) == quota), None)
        if match is not None:
            removed.remove(match)
            prefix = f"{match.teams[0]}-" if match.teams else ""
            key = match.name.removeprefix(prefix)
            is_named = prefix and key == match.name
            yield QueueRename(queue.name, match.name, f"name: {match.name}" if is_named else f"formerly: {key}")
