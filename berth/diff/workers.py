"""Comparison of workers: their capacity, and their shares of queues' guarantees."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from berth.diff.entitlements import CountChange
from berth.diff.kinds import ChangeKind
from berth.plan.fleet import FleetPlan, WorkerPlan
from berth.planner.queueing.quota_tree import accelerator_quotas


class WorkerFlavorChange(Struct, frozen=True):
    """A worker's maximum `capacity` of a flavor, and its share of the guarantees."""

    flavor: str
    noun: str
    capacity: CountChange
    guaranteed: CountChange


class QueueShareChange(Struct, frozen=True):
    """A worker's share of a queue's guarantee of a flavor."""

    queue: str
    flavor: str
    noun: str
    guaranteed: CountChange


class WorkerChange(Struct, frozen=True):
    """A worker that is added, changed, replaced by another cluster, deleted, or `left` (no longer managed).

    `flavors` and `shares` are the changed ones, by name.
    """

    worker: str
    what: ChangeKind
    flavors: tuple[WorkerFlavorChange, ...]
    shares: tuple[QueueShareChange, ...]


def compare_workers(old: FleetPlan, new: FleetPlan) -> tuple[WorkerChange, ...]:
    """Return every worker whose machines or shares change, by name."""
    before, after = ({worker.name: worker for worker in plan.workers} for plan in (old, new))
    changes: list[WorkerChange] = []
    for name in sorted(before.keys() | after.keys()):
        old_worker, new_worker = before.get(name), after.get(name)
        plans = old_worker and old_worker.plan, new_worker and new_worker.plan
        change = WorkerChange(
            name,
            _kind_of_change(old_worker, new_worker),
            tuple(_compare_flavors(*plans)),
            tuple(_compare_shares(*plans)),
        )
        if change.what != ChangeKind.CHANGED or change.flavors or change.shares:
            changes.append(change)
    return tuple(changes)


def _kind_of_change(old: WorkerPlan | None, new: WorkerPlan | None) -> ChangeKind:
    if old is None:
        return ChangeKind.ADDED
    if new is None:
        return ChangeKind.DELETED if old.made_here else ChangeKind.UNMANAGED
    return ChangeKind.CHANGED if old.way == new.way else ChangeKind.REPLACED


def _compare_flavors(old: FleetPlan | None, new: FleetPlan | None) -> Iterator[WorkerFlavorChange]:
    before, after = (
        {(f.name, f.noun): (f.capacity.max, f.promised) for f in plan.flavors} if plan else {} for plan in (old, new)
    )
    for key in sorted(before.keys() | after.keys()):
        old_counts, new_counts = before.get(key, (0, 0)), after.get(key, (0, 0))
        if old_counts != new_counts:
            yield WorkerFlavorChange(
                *key, CountChange(old_counts[0], new_counts[0]), CountChange(old_counts[1], new_counts[1])
            )


def _compare_shares(old: FleetPlan | None, new: FleetPlan | None) -> Iterator[QueueShareChange]:
    before, after = (_worker_guarantees(plan) if plan else {} for plan in (old, new))
    for key in sorted(before.keys() | after.keys()):
        step = CountChange(before.get(key, 0), after.get(key, 0))
        if step.delta:
            yield QueueShareChange(*key, step)


def _worker_guarantees(plan: FleetPlan) -> dict[tuple[str, str, str], int]:
    """Return the guarantees by queue, flavor and noun of the accelerators."""
    resources = {flavor.name: flavor.resource for flavor in plan.flavors}
    nouns = {flavor.name: flavor.noun for flavor in plan.flavors}
    return {
        (queue.name, flavor, nouns[flavor]): quota.nominal
        for queue in plan.cluster_queues
        for flavor, quota in accelerator_quotas(queue, resources)
    }
