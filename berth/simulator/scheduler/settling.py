"""The queues of a simulation and its jobs, which cycles run until nothing changes.

Between steps, preempted jobs release their quota, and all pending jobs are tried again. Recorded cases read the state
earlier, while preempted jobs still hold their quota; `delay_release` is for them.
"""

from __future__ import annotations

from berth.simulator.lenders import quota_uses
from berth.simulator.local_usage import SimulatedClock
from berth.simulator.scheduler.build_queues import build_queues
from berth.simulator.scheduler.cycle import CycleResult, SchedulingCycle
from berth.simulator.scheduler.events import (
    JobEvent,
    JobEventKind,
    preempted_event,
    required_checks,
)
from berth.simulator.scheduler.model import (
    Job,
    SchedulerSetup,
    SchedulingShape,
    scheduling_shape,
)
from berth.simulator.scheduler.nomination import Entry
from berth.simulator.scheduler.resting import find_waking
from berth.simulator.scheduler.state import JobState, QueueState, SimulatedWorkload
from berth.simulator.scheduler.tree import CohortTree

_RETRY_SECONDS = 1
_STEP_SECONDS = 10
"""Kueue tries inadmissible jobs again about one second after quota is released; a step is assumed to take longer."""


class SettlingQueues:
    """Queues with jobs; a step changes them, and then settles the trees that it touches."""

    def __init__(self, setup: SchedulerSetup, delay_release: bool = False) -> None:
        self.setup = setup
        self.delay_release = delay_release
        self.clock = 0
        self.workloads: dict[str, SimulatedWorkload] = {}
        self.events: list[JobEvent] = []
        self._arrival_count = 0
        self._shapes: dict[SchedulingShape, int] = {}
        self._evicting_trees: dict[CohortTree, None] = {}
        self._trees_to_retry: dict[CohortTree, None] = {}
        self.moment = SimulatedClock()
        self.queue_states: dict[str, QueueState] = {}
        # StrictFIFO queues whose local queues take turns, and the head of each when it was last tried.
        self._tried: dict[QueueState, SimulatedWorkload | None] = {}
        self._build_queues()

    def _build_queues(self) -> None:
        self.queue_states, self.trees = build_queues(self.setup, self.moment, self.queue_states)
        lines = self.queue_states.values()
        self._tried = {each: None for each in lines if each.ledger is not None and each.queue.is_strict_fifo}

    # --- cycles -------------------------------------------------------------------------------------------------------

    def _begin_step(self, own_tree: CohortTree | None) -> None:
        """Begin a step, in one tree or in all: jobs preempted in the last step release their quota.

        A tree with a preemption loop continues only with a step of its own.
        """
        self.clock += _STEP_SECONDS
        self.events = []
        for tree in list(self._evicting_trees):
            if self.delay_release or own_tree in (None, tree):
                self._requeue_evicted(tree)
                self._run_cycles(tree)

    def _settle_trees(self, tree: CohortTree | None) -> list[JobEvent]:
        if tree is not None:
            self._settle_tree(tree)
        while self._trees_to_retry:
            self._settle_tree(next(iter(self._trees_to_retry)))
        return self.events

    def _settle_tree(self, tree: CohortTree) -> None:
        """Run cycles until nothing changes; inadmissible jobs are tried again when quota is released.

        Jobs may preempt each other in a loop. A loop that exists only because all cycles take equal time is broken by
        one additional cycle; any other loop ends the step, and is reported.
        """
        seen: set[object] = set()
        extra_cycle_run = False
        while True:
            self._run_cycles(tree)
            if tree.evicted and not self.delay_release:
                state = tree.usage_key()
                if state in seen and extra_cycle_run:
                    self.events.extend(JobEvent(JobEventKind.PREEMPTION_LOOP, work) for work in tree.evicted)
                    self._trees_to_retry.pop(tree, None)
                    return
                if state in seen:
                    seen, extra_cycle_run = set[object](), True
                    self._run_cycle(tree)
                seen.add(state)
                self._requeue_evicted(tree)
            elif tree in self._trees_to_retry:
                del self._trees_to_retry[tree]
                self.clock += _RETRY_SECONDS
                for queue_state in list(find_waking(tree, self.setup.resource_flavors)):
                    queue_state.requeue_inadmissible()
            else:
                return

    def _run_cycles(self, tree: CohortTree) -> None:
        """Run cycles until only the progress of searches changes, and repeats."""
        seen: set[object] = set()
        while tree.has_pending():
            result = self._run_cycle(tree)
            if result.made_progress():
                seen = set()
            elif result.search_state is None or result.search_state in seen:
                return
            else:
                seen.add(result.search_state)

    def _run_cycle(self, tree: CohortTree) -> CycleResult:
        result = SchedulingCycle(tree, self.setup, self._admit).run()
        for victim, preemptor in result.preempted:
            self._evict(victim.workload, preempted_event(victim, preemptor))
        return result

    def _requeue_evicted(self, tree: CohortTree) -> None:
        """Release the quota of preempted jobs, and put them back in line."""
        for workload in tree.evicted:
            self._withdraw(workload)
            workload.queue_state.enqueue(workload)
        tree.evicted = []
        self._evicting_trees.pop(tree, None)
        self._trees_to_retry[tree] = None

    # --- jobs ---------------------------------------------------------------------------------------------------------

    def _add_workload(self, job: Job) -> SimulatedWorkload:
        queue_state = self.queue_states[job.queue]
        workload = SimulatedWorkload(
            job,
            self._arrival_count,
            queue_state,
            *queue_state.build_requests(job),
            self._shapes.setdefault(scheduling_shape(job), len(self._shapes)),
            job.priority,
        )
        self._arrival_count += 1
        self.workloads[job.name] = workload
        return workload

    def _admit(self, entry: Entry) -> None:
        workload = entry.workload
        quota_uses_taken = quota_uses(entry.assignment.usage)
        workload.queue_state.dequeue(workload)
        workload.reserved_at, workload.search_progress = self.clock, None
        workload.flavors, workload.usage = tuple(entry.assignment.flavors), entry.assignment.usage
        workload.counts = entry.assignment.counts
        workload.state = JobState.RESERVED if any(True for _ in required_checks(workload)) else JobState.ADMITTED
        workload.queue_state.hold_quota(workload)
        if (ledger := workload.queue_state.ledger) is not None:
            ledger.reserve(workload, is_admitted=workload.state == JobState.ADMITTED)
        self.trees[workload.queue_state.queue.name].invalidate(workload.flavor_resources)
        self.events.append(
            JobEvent(
                JobEventKind.ADMITTED if workload.state == JobState.ADMITTED else JobEventKind.RESERVED,
                workload,
                quota_uses_taken,
            )
        )

    def _evict(self, workload: SimulatedWorkload, event: JobEvent) -> None:
        """Evict a job; it releases its quota later."""
        workload.is_evicted = True
        workload.eviction_count += 1
        workload.eviction_reason = event.reason
        tree = self.trees[workload.queue_state.queue.name]
        tree.evicted.append(workload)
        tree.invalidate(workload.flavor_resources)
        self._evicting_trees[tree] = None
        self.events.append(event)

    def _release_quota(self, workload: SimulatedWorkload) -> None:
        workload.queue_state.release_quota(workload)
        workload.queue_state.generation += 1
        self.trees[workload.queue_state.queue.name].invalidate(workload.flavor_resources)

    def _withdraw(self, workload: SimulatedWorkload) -> None:
        """Release the quota of a job that is pending again."""
        self._release_quota(workload)
        if (ledger := workload.queue_state.ledger) is not None:
            ledger.release(workload, is_over=False)
        workload.state, workload.is_evicted, workload.search_progress = JobState.PENDING, False, None
        workload.flavors, workload.usage, workload.counts = (), {}, ()
