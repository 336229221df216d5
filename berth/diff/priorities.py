"""Who outranks whom, and whose guarantee can be taken back from those who borrowed it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from msgspec import Struct

from berth.diff.kinds import ChangeKind
from berth.plan.ack import AckFleetPlan
from berth.plan.fleet import FleetPlan
from berth.plan.kueue import PriorityPlan
from berth.planner.queueing.quota_tree import accelerator_quotas

QueueingPlan = FleetPlan | AckFleetPlan


class PriorityChange(Struct, frozen=True):
    """A priority whose `value` changes (None: it is not there), or what its jobs may do.

    `above` are the priorities that it is above now and was not before, `below` those that it is below now and was not,
    `preempts` whether its jobs push others out, `default` whether jobs that name none have it; both before and after.
    """

    priority: str
    value: tuple[int | None, int | None]
    above: tuple[str, ...]
    below: tuple[str, ...]
    preempts: tuple[bool, bool]
    default: tuple[bool, bool]


class StopChange(Struct, frozen=True):
    """A queue that is `held`, `drained` or `resumed`, while its teams are not as a whole."""

    queue: str
    what: ChangeKind


class ReclaimChange(Struct, frozen=True):
    """Whether a queue `can` now reclaim, from its cohort, what it is guaranteed of `flavors`."""

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
            yield PriorityChange(
                priority=name,
                value=(old_priority and old_priority.value, new_priority and new_priority.value),
                above=tuple(sorted(_lower_priorities(name, after) - _lower_priorities(name, before))),
                below=tuple(sorted(_higher_priorities(name, after) - _higher_priorities(name, before))),
                preempts=(bool(old_priority and old_priority.preempts), bool(new_priority and new_priority.preempts)),
                default=(bool(old_priority and old_priority.default), bool(new_priority and new_priority.default)),
            )


def _lower_priorities(name: str, known: Mapping[str, PriorityPlan]) -> set[str]:
    return {each.name for each in known.values() if name in known and each.value < known[name].value}


def _higher_priorities(name: str, known: Mapping[str, PriorityPlan]) -> set[str]:
    return {each.name for each in known.values() if name in known and each.value > known[name].value}


def priority_order(old: QueueingPlan, new: QueueingPlan) -> tuple[tuple[str, ...], ...]:
    """Priorities of both plans, the highest first, before and after; empty where the order stays."""
    kept = {each.name for each in old.priorities} & {each.name for each in new.priorities}
    before, after = (
        tuple(p.name for p in sorted(plan.priorities, key=lambda p: (-p.value, p.name)) if p.name in kept)
        for plan in (old, new)
    )
    return (before, after) if before != after else ()


def compare_reclaim(old: QueueingPlan, new: QueueingPlan) -> Iterator[ReclaimChange]:
    """Queues that can no longer take back what others borrowed of their guarantee, or can again."""
    before = {queue.name: queue for queue in old.cluster_queues}
    resources = {flavor.name: flavor.resource for flavor in new.flavors}
    for queue in new.cluster_queues:
        old_queue = before.get(queue.name)
        if old_queue is None or queue.cohort is None:
            continue
        could, can = (each.preemption.reclaim_within_cohort != "Never" for each in (old_queue, queue))
        flavors = tuple(flavor for flavor, quota in accelerator_quotas(queue, resources) if quota.nominal)
        if could != can and flavors:
            yield ReclaimChange(queue.name, queue.teams, flavors, can)


_STOPS = {
    None: ChangeKind.RESUMED,
    "None": ChangeKind.RESUMED,
    "Hold": ChangeKind.HELD,
    "HoldAndDrain": ChangeKind.DRAINED,
}


def compare_stops(old: QueueingPlan, new: QueueingPlan, teams: Collection[str]) -> Iterator[StopChange]:
    """Compare the stop policies of queues, but for those of `teams`, whose change of state says it."""
    before = {queue.name: queue for queue in old.cluster_queues}
    for queue in new.cluster_queues:
        old_queue = before.get(queue.name)
        if old_queue is None or set(queue.teams) & set(teams):
            continue
        what = _STOPS[queue.stop_policy]
        if what != _STOPS.get(old_queue.stop_policy):
            yield StopChange(queue.name, what)
