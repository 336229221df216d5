"""What would let a pending job start: which jobs would have to end, and when they must, by simulating Kueue."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from berth.simulator.fleet import SimulatedFleet
from berth.simulator.live import ClusterState, RunningWorkload
from berth.simulator.scheduler.model import FlavorResource
from berth.simulator.scheduler.simulate import Simulator

MAX_TRIED = 24
"""Maximum number of jobs whose end is tried; more take long, and nobody reads them."""


class Holder(Struct, frozen=True):
    """A job that holds quota of a flavor: how much, and the latest time at which it ends if it has a limit."""

    job: str
    display_name: str
    queue: str
    amount: int
    ends: datetime | None = None


class Forecast(Struct, frozen=True):
    """What lets a pending job start.

    `free` is what its queue can use now of each flavor and resource, `ceilings` the most it ever can. `starts_now`: the
    simulation admits it in this state. `holders` hold the flavors that it lacks, the largest first. The end of each of
    `singles` is enough; `together`, without such a job, are some that suffice if they all end. `latest` is when enough
    of them must have ended; None if that is not known. `ahead` are jobs that Kueue tries first, and the end of
    `untried` holders was not tried.
    """

    free: Mapping[FlavorResource, int]
    ceilings: Mapping[FlavorResource, int]
    starts_now: bool
    holders: tuple[Holder, ...]
    singles: tuple[Holder, ...]
    together: tuple[Holder, ...]
    latest: datetime | None
    ahead: tuple[str, ...]
    untried: int


def forecast(
    fleet: SimulatedFleet,
    state: ClusterState,
    target: str,
    lacking: Collection[FlavorResource],
    ends: Mapping[str, datetime],
) -> Forecast:
    """Return what would let the pending job `target` start, which lacks quota of some flavors and resources.

    `ends` has the latest end of jobs with a limit of their run time. Jobs of other trees of cohorts change nothing, so
    they are left out. It is assumed that no job comes in the meantime.
    """
    empty = Simulator(fleet.setup)
    own = next(each for each in state.workloads if each.job.name == target)
    tree = empty.trees[own.job.queue]
    near = ClusterState(
        tuple(each for each in state.workloads if empty.trees[each.job.queue] is tree),
        {queue: policy for queue, policy in state.stop_policies.items() if empty.trees[queue] is tree},
    )
    near.populate(empty)
    stocks = empty.queue_states[own.job.queue].node.quota_states
    holders = sorted(
        (
            Holder(name, near_name, work.queue_state.queue.name, amount, ends.get(name))
            for name, near_name, work in (
                (each.job.name, each.display_name, empty.workloads[each.job.name]) for each in near.workloads
            )
            if (amount := sum(used for stock, used in work.usage.items() if stock.flavor_resource in lacking))
        ),
        key=lambda each: (-each.amount, each.job),
    )
    tried = holders[:MAX_TRIED]
    starts_now = _starts(fleet, near, target, ())
    singles = () if starts_now else tuple(each for each in tried if _starts(fleet, near, target, {each.job}))
    limited = sorted((each for each in holders if each.ends is not None), key=lambda each: str(each.ends))[:MAX_TRIED]
    last = None if starts_now else _first_enough(fleet, near, target, limited)
    return Forecast(
        free={stock: each.available() for stock, each in stocks.items()},
        ceilings={stock: each.ceiling for stock, each in stocks.items()},
        starts_now=starts_now,
        holders=tuple(holders),
        singles=singles,
        together=() if starts_now or singles else _first_enough(fleet, near, target, tried),
        latest=last[-1].ends if last else None,
        ahead=tuple(_ahead(own, near.workloads)),
        untried=len(holders) - len(tried),
    )


def _starts(fleet: SimulatedFleet, state: ClusterState, target: str, ended: Collection[str]) -> bool:
    """Return whether the job gets its quota once others have ended, and nothing else changes."""
    simulator = Simulator(fleet.setup)
    ClusterState(tuple(each for each in state.workloads if each.job.name not in ended), state.stop_policies).populate(
        simulator
    )
    simulator.settle()
    return simulator.workloads[target].has_quota()


def _first_enough(
    fleet: SimulatedFleet, state: ClusterState, target: str, in_order: Sequence[Holder]
) -> tuple[Holder, ...]:
    """Return the shortest start of a list of jobs whose end lets the job start; empty if all of them do not."""
    low, high = 0, len(in_order)
    if not high or not _starts(fleet, state, target, {each.job for each in in_order}):
        return ()
    while low < high - 1:
        middle = (low + high) // 2
        if _starts(fleet, state, target, {each.job for each in in_order[:middle]}):
            high = middle
        else:
            low = middle
    return tuple(in_order[:high])


def _ahead(own: RunningWorkload, workloads: Iterable[RunningWorkload]) -> list[str]:
    """Return the pending jobs of the same queue that Kueue tries first: by priority, then by age."""
    rank = (-own.job.priority, own.created_at)
    return [
        each.display_name
        for each in sorted(workloads, key=lambda other: (-other.job.priority, other.created_at))
        if each.job.queue == own.job.queue
        and each.reserved_at is None
        and each is not own
        and (-each.job.priority, each.created_at) < rank
    ]
