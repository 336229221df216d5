"""Comparison of workers: their capacity, and their shares of queues' guarantees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from berth.diff.entitlements import CountChange, QuotaKey, compare_counts
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
    """A worker that is added, changed, renamed, replaced by another cluster, deleted, or `left` (no longer managed).

    `flavors` and `shares` are the changed ones, by name. `renamed` is the old name of a renamed worker; for an added or
    removed one, the counterpart that is like it. `identifiers` are those before and after of a worker
    that is replaced by another cluster, which may be the same one.
    """

    worker: str
    what: ChangeKind
    flavors: tuple[WorkerFlavorChange, ...]
    shares: tuple[QueueShareChange, ...]
    renamed: str | None = None
    identifiers: tuple[str, str] | None = None


def compare_workers(old: FleetPlan, new: FleetPlan, former: Mapping[str, str]) -> Iterator[WorkerChange]:
    """Yield every worker whose machines, shares or name change, by name; `old` has the new names of `former` ones."""
    old_names = {new_name: old_name for old_name, new_name in former.items()}
    before, after = ({worker.name: worker for worker in plan.workers} for plan in (old, new))
    for name in sorted(before.keys() | after.keys()):
        sides = before.get(name), after.get(name)
        what = _kind_of_change(*sides)
        others = [each.cluster_identifier for each in sides if each is not None and not each.made_here]
        capacities = (  # and guarantees, by flavor and noun of the accelerators
            {
                (each.name, each.noun): (each.capacity.max, each.promised)
                for each in (worker.plan.flavors if worker else ())
            }
            for worker in sides
        )
        flavors = sorted(compare_counts(*capacities))
        shares = sorted(compare_counts(*map(_worker_guarantees, sides)))
        if what == ChangeKind.CHANGED and name in old_names:
            what = ChangeKind.RENAMED
        if what != ChangeKind.CHANGED or flavors or shares:
            yield WorkerChange(
                name,
                what,
                tuple(WorkerFlavorChange(*key, *counts) for key, counts in flavors),
                tuple(QueueShareChange(*key, *counts) for key, counts in shares),
                old_names.get(name) if what == ChangeKind.RENAMED else _counterpart(name, before, after),
                (others[0], others[1]) if what == ChangeKind.REPLACED and len(others) == 2 else None,
            )


def _kind_of_change(old: WorkerPlan | None, new: WorkerPlan | None) -> ChangeKind:
    if old is None:
        return ChangeKind.ADDED
    if new is None:
        return ChangeKind.DELETED if old.made_here else ChangeKind.UNMANAGED
    return ChangeKind.CHANGED if old.is_cluster_of(new) else ChangeKind.REPLACED


def _counterpart(name: str, before: Mapping[str, WorkerPlan], after: Mapping[str, WorkerPlan]) -> str | None:
    """Return the name on the other side of a worker that only one side has, if one there seems to be it."""
    own_side, other_side = (before, after) if name in before else (after, before)
    if name in other_side:
        return None
    worker = own_side[name]
    for other in (each for each in other_side.values() if each.name not in own_side):
        if worker.made_here and other.made_here:  # would they be created alike?
            places = ((each.plan.project, each.plan.region, _machines(each)) for each in (worker, other))
            is_one = next(places) == next(places)
        else:
            is_one = worker.made_here == other.made_here and worker.cluster_identifier == other.cluster_identifier
        if is_one:
            return other.name
    return None


def _machines(worker: WorkerPlan) -> list[tuple[str, str, int]]:
    return [(pool.name, pool.machine_type, pool.accelerators.max) for pool in worker.plan.own_pools]


def _worker_guarantees(worker: WorkerPlan | None) -> dict[QuotaKey, tuple[int]]:
    """Return the guarantees by queue, flavor and noun of the accelerators."""
    if worker is None:
        return {}
    resources = {flavor.name: flavor.resource for flavor in worker.plan.flavors}
    nouns = {flavor.name: flavor.noun for flavor in worker.plan.flavors}
    return {
        (queue.name, flavor, nouns[flavor]): (quota.nominal,)
        for queue in worker.plan.cluster_queues
        for flavor, quota in accelerator_quotas(queue, resources)
    }
