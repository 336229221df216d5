"""What a change does to workers: which come and go, what each holds, and its shares of what queues are guaranteed."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from berth.diff.entitlements import Step
from berth.diff.pools import ADDED, CHANGED, LEFT
from berth.diff.resources import DELETED, REPLACED
from berth.plan.fleet import FleetPlan, WorkerPlan
from berth.planner.queueing.quota_tree import accelerator_quotas


class WorkerFlavor(Struct, frozen=True):
    """What a worker holds of a flavor at the most (`capacity`), and its share of what is `guaranteed`."""

    flavor: str
    noun: str
    capacity: Step
    guaranteed: Step


class QueueShare(Struct, frozen=True):
    """A worker's share of what a queue is guaranteed of a flavor."""

    queue: str
    flavor: str
    noun: str
    guaranteed: Step


class WorkerChange(Struct, frozen=True):
    """A worker that is added, changed, replaced (by another cluster), deleted, or left (to who made it).

    `flavors` and `shares` are those that change, by name.
    """

    worker: str
    what: str
    flavors: tuple[WorkerFlavor, ...]
    shares: tuple[QueueShare, ...]


def compare_workers(old: FleetPlan, new: FleetPlan) -> tuple[WorkerChange, ...]:
    """Every worker whose machines or shares are not left as they are, by name."""
    before, after = ({worker.name: worker for worker in plan.workers} for plan in (old, new))
    found: list[WorkerChange] = []
    for name in sorted(before.keys() | after.keys()):
        one, other = before.get(name), after.get(name)
        plans = one and one.plan, other and other.plan
        change = WorkerChange(name, _what(one, other), tuple(_flavors(*plans)), tuple(_shares(*plans)))
        if change.what != CHANGED or change.flavors or change.shares:
            found.append(change)
    return tuple(found)


def _what(old: WorkerPlan | None, new: WorkerPlan | None) -> str:
    if old is None:
        return ADDED
    if new is None:
        return DELETED if old.made_here else LEFT
    return CHANGED if old.way == new.way else REPLACED


def _flavors(old: FleetPlan | None, new: FleetPlan | None) -> Iterator[WorkerFlavor]:
    before, after = (
        {(f.name, f.noun): (f.capacity.max, f.promised) for f in plan.flavors} if plan else {} for plan in (old, new)
    )
    for key in sorted(before.keys() | after.keys()):
        one, other = before.get(key, (0, 0)), after.get(key, (0, 0))
        if one != other:
            yield WorkerFlavor(*key, Step(one[0], other[0]), Step(one[1], other[1]))


def _shares(old: FleetPlan | None, new: FleetPlan | None) -> Iterator[QueueShare]:
    before, after = (_guarantees(plan) if plan else {} for plan in (old, new))
    for key in sorted(before.keys() | after.keys()):
        step = Step(before.get(key, 0), after.get(key, 0))
        if step.gain:
            yield QueueShare(*key, step)


def _guarantees(plan: FleetPlan) -> dict[tuple[str, str, str], int]:
    """By queue, flavor and the noun of its accelerators."""
    resources = {flavor.name: flavor.resource for flavor in plan.flavors}
    nouns = {flavor.name: flavor.noun for flavor in plan.flavors}
    return {
        (queue.name, flavor, nouns[flavor]): quota.nominal
        for queue in plan.cluster_queues
        for flavor, quota in accelerator_quotas(queue, resources)
    }
