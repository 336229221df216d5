"""A run over time: a heap of coming events drives the simulator, which decides at each moment as it does without time.

At one second, what ends comes before what arrives. An evicted job stops at once.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from enum import IntEnum

from berth.simulator.pending_reasons import PendingCode, PendingReason, find_pending_reason
from berth.simulator.scheduler.events import JobEvent, JobEventKind
from berth.simulator.scheduler.model import SchedulerSetup
from berth.simulator.scheduler.simulate import Simulator
from berth.simulator.scheduler.state import JobState
from berth.simulator.timed.machines import EVICTION_SECONDS, NODE_FAILED, MachinesInRun
from berth.simulator.timed.trace import LiveJob, Observer, RunEnd, RunStart, Stint, TimedJob, Timing

_BACKOFF_SECONDS = 60
_MAX_BACKOFF_SECONDS = 3600
"""Kueue's defaults for the pause after pods were not ready in time; it doubles with each."""


class _Kind(IntEnum):
    """What happens at a time; at one second in this order."""

    FINISHED = 0
    CHECKED = 1
    NOT_READY = 2
    RETURNS = 3
    REPAIRED = 4
    FAILED = 5


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
        self.machines = None if timing.outages is None else MachinesInRun(timing.outages)
        for number, outage in enumerate(timing.outages.outages if timing.outages else ()):
            heapq.heappush(self.coming, (outage.time, _Kind.FAILED, number, "", number))

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
            if workload.state == JobState.ADMITTED:  # it has quota, and its pods no machines
                reason = PendingReason(PendingCode.NO_ROOM_ON_NODES)
            else:
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
            if self.is_over(int(self.simulator.moment.now)):
                return True
            if self.turn_at is not None and self._has_turn(self.coming[0][0] if is_due else end):
                self.simulator.moment.now = self.turn_at
                if events := self.simulator.take_turns():
                    self.time = int(self.turn_at)  # a turn that changes nothing is no end of the run
                self._follow(events)
                continue
            time, kind, _, name, version = heapq.heappop(self.coming)
            live = self.live.get(name)
            if live is not None and live.version == version:
                self._set_time(time)
                self._happen(kind, live)
            elif kind in (_Kind.FAILED, _Kind.REPAIRED):
                self._change_machines(time, version, is_failure=kind is _Kind.FAILED)
        return self.is_over(self.time)

    def _set_time(self, time: int) -> None:
        self.time = time
        self.simulator.moment.now = time

    def _has_turn(self, until: int | None) -> bool:
        """Return whether local queues may take turns, as time passes, before something happens.

        At one second turns come first: after what happens in one tree, those of others would be taken as tried.
        """
        return until is not None and self.turn_at is not None and self.turn_at <= until

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
            case _:
                raise AssertionError(f"{kind.name} is of machines, not of a job")

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
        pods_ready = self.timing.pods_ready
        self._run_pods(live, admitted, None if pods_ready is None else admitted + pods_ready.timeout_seconds)

    def _run_pods(self, live: LiveJob, begin: int, deadline: int | None) -> None:
        """Plan the end of a job whose pods start at `begin`, or when they have machines; or its eviction.

        Kueue evicts it if the pods are not ready at the `deadline`.
        """
        if self.machines is not None and not self.machines.place(live, begin, deadline):
            if deadline is not None:
                self._plan(deadline, _Kind.NOT_READY, live)
        else:
            self._start_pods(live, begin, deadline)

    def _start_pods(self, live: LiveJob, begin: int, deadline: int | None) -> None:
        startup = live.timed.startup
        if startup is None:
            startup = max((self.timing.startup.get(use.flavor_resource[0], 0) for use in live.uses), default=0)
        live.ready_at = begin + startup
        if deadline is not None and live.ready_at > deadline:
            self._plan(deadline, _Kind.NOT_READY, live)
        else:
            self._plan(live.ready_at + live.remaining, _Kind.FINISHED, live)

    def _change_machines(self, time: int, number: int, *, is_failure: bool) -> None:
        """Machines fail: the jobs on them begin again at their last checkpoint, elsewhere or later. Or they return."""
        assert self.machines is not None
        if not is_failure:
            self.machines.repair(number)
        else:
            back = time + self.machines.outages[number].seconds
            heapq.heappush(self.coming, (back, _Kind.REPAIRED, number, "", number))
            for live in self.machines.fail(number):
                self._set_time(time)  # an outage that nobody notices is no end of the run
                self._restart(live)
        self._use_free_machines(time)

    def _restart(self, live: LiveJob) -> None:
        uses, ready = live.uses, self.timing.pods_ready
        self._give_back(live, NODE_FAILED)
        live.uses, live.held_since = uses, self.time
        self.observer.took_quota(self.time, live)
        limit = ready and (ready.timeout_seconds if ready.recovery_seconds is None else ready.recovery_seconds)
        self._run_pods(live, self.time + EVICTION_SECONDS, self.time + limit if limit else None)

    def _use_free_machines(self, time: int) -> None:
        """Start the pods that waited for machines and have them now."""
        for live, begin, deadline in self.machines.take_from_line() if self.machines is not None else ():
            self._set_time(time)
            live.version += 1
            self._start_pods(live, max(begin, time), deadline)

    def _give_back(self, live: LiveJob, reason: str) -> None:
        """Note that a job no longer has quota, and what it worked since its last checkpoint in vain."""
        if live.held_since is None:
            return
        ready_at = self.time if live.ready_at is None else min(live.ready_at, self.time)
        worked = self.time - ready_at
        kept, checkpoint = worked, live.timed.checkpoint
        if reason:  # what the last checkpoint holds; checkpoints count from the job's beginning
            done = live.timed.seconds - live.remaining
            kept = (done + worked) // checkpoint * checkpoint - done if checkpoint else 0
        self.observer.gave_quota_back(self.time, live, Stint(ready_at - live.held_since, kept, worked - kept, reason))
        live.remaining -= kept
        live.version += 1
        live.uses, live.held_since, live.ready_at = (), None, None
        if self.machines is not None:
            self.machines.release(live)
            if reason != NODE_FAILED:
                self._use_free_machines(self.time)
