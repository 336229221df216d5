"""A run over time: a heap of coming events drives the simulator, which decides at each moment as it does without time.

At one second, what ends comes before what arrives. An evicted job stops at once.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from typing import Protocol

from msgspec import Struct, field

from berth.simulator.lenders import QuotaUse
from berth.simulator.pending_reasons import PendingReason, find_pending_reason
from berth.simulator.scheduler.events import JobEvent, JobEventKind
from berth.simulator.scheduler.model import SchedulerSetup
from berth.simulator.scheduler.simulate import Simulator
from berth.simulator.timed.trace import TimedJob, Timing

_BACKOFF_SECONDS = 60
_MAX_BACKOFF_SECONDS = 3600
"""Kueue's defaults for the pause after pods were not ready in time; it doubles with each."""


class _Kind(IntEnum):
    """What happens at a time; at one second in this order."""

    FINISHED = 0
    CHECKED = 1
    NOT_READY = 2
    RETURNS = 3


class Hold(Struct, frozen=True, kw_only=True):
    """The quota that a job has had for some seconds: the flavors of each pod set, and whether its checks are done."""

    flavors: tuple[dict[str, str], ...]
    seconds: int
    is_admitted: bool = True


class LiveJob(Struct, eq=False):
    """An unfinished job.

    `version` increases with each admission and eviction, so that events planned before are void. `remaining` are the
    seconds that it still has to work. `held_since` is when it got its quota, `ready_at` when its pods work, None while
    it has neither.
    """

    timed: TimedJob
    remaining: int
    version: int = 0
    uses: tuple[QuotaUse, ...] = ()
    held_since: int | None = None
    ready_at: int | None = None
    first_admitted: int | None = None
    timeouts: int = 0

    def hold(self, time: int) -> Hold | None:
        """Return the quota that it has at a time."""
        if self.held_since is None:
            return None
        of = {use.flavor_resource[1]: use.flavor_resource[0] for use in self.uses}
        pod_sets = self.timed.job.pod_sets
        flavors = tuple({name: of[name] for name in each.requests if name in of} for each in pod_sets)
        return Hold(flavors=flavors, seconds=time - self.held_since, is_admitted=self.ready_at is not None)


class RunStart(Struct, frozen=True, kw_only=True):
    """What is there in the first second: jobs in the order of arrival, and queues that are stopped (→ stop policy)."""

    jobs: tuple[tuple[TimedJob, Hold | None], ...]
    stop_policies: Mapping[str, str] = field(default_factory=dict[str, str])


class Stint(Struct, frozen=True):
    """The time in which a job held quota, in seconds: `warming` before its pods worked, `kept` and `lost` work.

    `reason` is Kueue's reason of its eviction, "" if it finished.
    """

    warming: int
    kept: int
    lost: int
    reason: str


class Observer(Protocol):
    """Follows a run. Times are seconds, and never decrease."""

    def submitted(self, time: int, live: LiveJob) -> None:
        """A job is submitted."""

    def took_quota(self, time: int, live: LiveJob) -> None:
        """A job has the quota `live.uses` from now on."""

    def gave_quota_back(self, time: int, live: LiveJob, stint: Stint) -> None:
        """A job no longer has `live.uses`: it is finished or evicted."""


class RunEnd(Struct, frozen=True):
    """The end of a run: its last second, and the jobs that did not finish, each with why, as they were submitted.

    `deactivated` are those whose pods were not ready too often. `looping` preempted each other without end.
    """

    time: int
    unfinished: tuple[tuple[LiveJob, PendingReason], ...] = ()
    deactivated: frozenset[str] = frozenset()
    looping: frozenset[str] = frozenset()


def run_trace(
    setup: SchedulerSetup,
    jobs: Iterable[TimedJob],
    timing: Timing,
    observer: Observer,
    start: RunStart | None = None,
    is_over: Callable[[int], bool] = lambda time: False,
) -> RunEnd:
    """Run a trace, whose jobs come in the order of their submission, until nothing more happens or `is_over`.

    It begins with empty queues, or in second 0 with what is there at `start`, of which the observer is not told.
    """
    return _TimedRun(setup, timing, observer, is_over).run(jobs, start)


class _TimedRun:
    def __init__(
        self, setup: SchedulerSetup, timing: Timing, observer: Observer, is_over: Callable[[int], bool]
    ) -> None:
        self.simulator = Simulator(setup)
        self.simulator.moment.has_clock = True
        self.turn_at: float | None = None
        self.timing = timing
        self.observer = observer
        self.is_over = is_over
        self.live: dict[str, LiveJob] = {}
        self.coming: list[tuple[int, _Kind, int, str, int]] = []
        self.planned = 0
        self.time = 0
        self.deactivated: set[str] = set()
        self.looping: set[str] = set()

    def run(self, jobs: Iterable[TimedJob], start: RunStart | None) -> RunEnd:
        """Run the jobs."""
        if start is not None:
            self._begin(start)
        for timed in jobs:
            if self._run_until(timed.submitted):
                return RunEnd(self.time)
            self._set_time(timed.submitted)
            live = self.live[timed.job.name] = LiveJob(timed, timed.seconds)
            self.observer.submitted(self.time, live)
            self._follow(self.simulator.submit(timed.job))
        if self._run_until(None):
            return RunEnd(self.time)
        simulator, unfinished = self.simulator, list[tuple[LiveJob, PendingReason]]()
        for name, live in self.live.items():
            workload = simulator.workloads[name]
            tree = simulator.trees[workload.queue_state.queue.name]
            reason = find_pending_reason(tree, workload, simulator.setup.resource_flavors)
            unfinished.append((live, reason))
        return RunEnd(self.time, tuple(unfinished), frozenset(self.deactivated), frozenset(self.looping))

    def _begin(self, start: RunStart) -> None:
        """Fill the queues with what is there, and admit what can start at once."""
        for timed, hold in start.jobs:
            live = self.live[timed.job.name] = LiveJob(timed, timed.seconds)
            if hold is None:
                self.simulator.add_pending(timed.job)
                continue
            self.simulator.add_admitted(timed.job, hold.flavors, -1 - hold.seconds, hold.is_admitted)
            live.held_since = -hold.seconds
            if hold.is_admitted:
                self._start(live, -hold.seconds)
            else:
                self._plan_checks(live, {flavor for flavors in hold.flavors for flavor in flavors.values()})
        for queue, stop_policy in start.stop_policies.items():
            self.simulator.queue_states[queue].stop_policy = stop_policy
        self._follow(self.simulator.settle())

    def _run_until(self, end: int | None) -> bool:
        """Process everything that comes, up to and including the second `end`; return whether the run is over."""
        while (is_due := bool(self.coming) and (end is None or self.coming[0][0] <= end)) or self._has_turn(end):
            if self.is_over(self.time):
                return True
            if self.turn_at is not None and self._has_turn(self.coming[0][0] if is_due else end):
                self._set_time(int(self.turn_at))
                self._follow(self.simulator.take_turns())
                continue
            time, kind, _, name, version = heapq.heappop(self.coming)
            live = self.live.get(name)
            if live is not None and live.version == version:
                self._set_time(time)
                self._happen(kind, live)
        return self.is_over(self.time)

    def _set_time(self, time: int) -> None:
        self.time = time
        self.simulator.moment.now = time

    def _has_turn(self, before: int | None) -> bool:
        """Return whether local queues may take turns, as time passes, before something happens."""
        return before is not None and self.turn_at is not None and self.turn_at < before

    def _happen(self, kind: _Kind, live: LiveJob) -> None:
        name = live.timed.job.name
        match kind:
            case _Kind.FINISHED:
                self._give_back(live, "")
                del self.live[name]
                self._follow(self.simulator.finish(name))
            case _Kind.CHECKED:
                self._follow(self.simulator.complete_checks(name))
            case _Kind.NOT_READY:
                self._give_back(live, "PodsReadyTimeout")
                self._plan_return(live)
                self._follow(self.simulator.suspend(name))
            case _Kind.RETURNS:
                requeuing = self.timing.pods_ready.requeuing if self.timing.pods_ready else None
                as_new = requeuing is None or requeuing.timestamp != "Creation"
                self._follow(self.simulator.resume_job(name, as_new=as_new))

    def _plan(self, time: int, kind: _Kind, live: LiveJob) -> None:
        self.planned += 1
        heapq.heappush(self.coming, (time, kind, self.planned, live.timed.job.name, live.version))

    def _plan_return(self, live: LiveJob) -> None:
        """Plan when a job whose pods were not ready returns; after too many times it does not."""
        assert self.timing.pods_ready is not None
        requeuing = self.timing.pods_ready.requeuing
        live.timeouts += 1
        if requeuing.limit_count is not None and live.timeouts > requeuing.limit_count:
            self.deactivated.add(live.timed.job.name)
            return
        base = _BACKOFF_SECONDS if requeuing.base_seconds is None else requeuing.base_seconds
        longest = _MAX_BACKOFF_SECONDS if requeuing.max_seconds is None else requeuing.max_seconds
        self._plan(self.time + min(base << min(live.timeouts - 1, 20), longest), _Kind.RETURNS, live)

    def _follow(self, events: list[JobEvent]) -> None:
        """Follow what a step of the simulator did."""
        self.turn_at = self.simulator.next_turn()
        for event in events:
            live = self.live[event.workload.job.name]
            match event.kind:
                case JobEventKind.RESERVED:
                    self._take(live, event)
                    self._plan_checks(live, {use.flavor_resource[0] for use in live.uses})
                case JobEventKind.ADMITTED:
                    if live.held_since is None:
                        self._take(live, event)
                    self._start(live, self.time)
                case JobEventKind.PREEMPTED | JobEventKind.DRAINED:
                    self._give_back(live, event.reason)
                case JobEventKind.PREEMPTION_LOOP:
                    self.looping.add(live.timed.job.name)

    def _take(self, live: LiveJob, event: JobEvent) -> None:
        live.version += 1
        live.uses, live.held_since = event.quota_uses, self.time
        self.observer.took_quota(self.time, live)

    def _plan_checks(self, live: LiveJob, flavors: Iterable[str]) -> None:
        delays = (self.timing.provisioning.get(flavor, 0) for flavor in flavors)
        self._plan(self.time + max(delays, default=0), _Kind.CHECKED, live)

    def _start(self, live: LiveJob, admitted: int) -> None:
        """Plan the end of a job that is admitted at a time, or its eviction if its pods are not ready in time."""
        live.first_admitted = admitted if live.first_admitted is None else live.first_admitted
        startup, pods_ready = live.timed.startup, self.timing.pods_ready
        if startup is None:
            startup = max((self.timing.startup.get(use.flavor_resource[0], 0) for use in live.uses), default=0)
        live.ready_at = admitted + startup
        if pods_ready is not None and startup > pods_ready.timeout_seconds:
            self._plan(admitted + pods_ready.timeout_seconds, _Kind.NOT_READY, live)
        else:
            self._plan(live.ready_at + live.remaining, _Kind.FINISHED, live)

    def _give_back(self, live: LiveJob, reason: str) -> None:
        """Note that a job no longer has quota, and what it worked since its last checkpoint in vain."""
        if live.held_since is None:
            return
        ready_at = self.time if live.ready_at is None else min(live.ready_at, self.time)
        worked = self.time - ready_at
        kept = _kept(live, worked) if reason else worked
        self.observer.gave_quota_back(self.time, live, Stint(ready_at - live.held_since, kept, worked - kept, reason))
        live.remaining -= kept
        live.version += 1
        live.uses, live.held_since, live.ready_at = (), None, None


def _kept(live: LiveJob, worked: int) -> int:
    """Return how much of the work of this run the last checkpoint holds; checkpoints count from the job's beginning."""
    checkpoint, done = live.timed.checkpoint, live.timed.seconds - live.remaining
    return (done + worked) // checkpoint * checkpoint - done if checkpoint else 0
