"""Until when a workload stays as it is: a time that the state of the cluster has, or which jobs would have to end."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from berth.jobs.values import get_nested, read_time
from berth.simulator.fleet import SimulatedFleet
from berth.simulator.live import ClusterState, RunningWorkload
from berth.simulator.scheduler.model import FlavorResource
from berth.simulator.scheduler.simulate import Simulator
from berth.text import pluralize
from berth.why.cluster import LiveWorkload, SeenCluster, later
from berth.why.words import Reading

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


class Until(Struct, frozen=True):
    """Until when it stays so: `at` is a time that is known, `text` says what happens then, or why none is known."""

    text: str
    at: datetime | None = None


def latest_end(workload: LiveWorkload) -> datetime | None:
    """Return the latest time at which a running workload ends; None without a limit."""
    admitted, longest = workload.condition("Admitted"), workload.run_seconds
    if admitted is None or admitted[0] != "True" or admitted[3] is None or longest is None:
        return None
    return later(admitted[3], longest)


def until_when(
    cluster: SeenCluster, workload: LiveWorkload, obstacles: Sequence[Reading], guess: Forecast | None
) -> Until:
    """Return until when the first obstacle lasts."""
    kinds = [each.words.until for each in obstacles]
    if kinds and all(kind == "never" for kind in kinds):
        return Until("it does not end by itself")
    waits = _requeue_time(workload)
    if waits is not None:
        return Until(f"Kueue tries it again at {_clock(waits)}", waits)
    if "ready" in kinds:
        return _ready_limit(cluster, workload)
    if "soon" in kinds:
        longest = {team.isolation.max_grace for team in cluster.plan.teams if team.isolation}
        seconds = max((each for each in longest if each is not None), default=None)
        limit = "" if seconds is None or None in longest else f", each at most {seconds} s after its signal to end"
        return Until(f"the pods of the preempted jobs have ended{limit}; when that is, the state does not say")
    if guess is not None and (not kinds or "holders" in kinds):
        if guess.latest is not None:
            what = "enough of the jobs that hold the quota have reached their maximum run time"
            return Until(
                f"{_clock(guess.latest)} at the latest, when {what}; sooner if they end, later if another "
                "job comes first",
                guess.latest,
            )
        endless = sum(holder.ends is None for holder in guess.holders)
        if endless:
            return Until(
                f"unknown: {endless} of {pluralize(len(guess.holders), 'job')} that hold the quota have no "
                "limit of their run time"
            )
    return Until("unknown: nothing in the cluster's state says it")


def _requeue_time(workload: LiveWorkload) -> datetime | None:
    """Return when Kueue tries it again, if that is set."""
    times = [read_time(get_nested(workload.value, "status", "requeueState", "requeueAt"))]
    for check in workload.checks:
        since, seconds = read_time(check.get("lastTransitionTime")), check.get("requeueAfterSeconds")
        if check.get("state") == "Retry" and since is not None and isinstance(seconds, int):
            times.append(later(since, seconds))
    return max((each for each in times if each is not None), default=None)


def _ready_limit(cluster: SeenCluster, workload: LiveWorkload) -> Until:
    """Return when Kueue takes back the quota of a workload whose pods are not ready."""
    settings = cluster.plan.kueue
    ready, admitted = workload.condition("PodsReady"), workload.condition("Admitted")
    is_lost = ready is not None and ready[1] == "WaitForRecovery"
    start = (ready if is_lost else admitted)[3] if ready and admitted else None
    if settings is None or start is None:
        return Until("unknown: the stack file does not configure this Kueue, so its timeout is not known")
    seconds = settings.pods_ready.timeout_seconds
    if is_lost and settings.pods_ready.recovery_seconds is not None:
        seconds = settings.pods_ready.recovery_seconds
    if not seconds:
        return Until("unknown: Kueue waits for lost pods without a limit here")
    at = start + timedelta(seconds=seconds)
    return Until(
        f"its pods are ready, which nobody knows; at {_clock(at)} Kueue takes its quota back and queues it "
        f"again (waitForPodsReady)",
        at,
    )


def _clock(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M UTC")
