"""The simulator: jobs are submitted and finish, queues are held and resumed, and each step runs until nothing changes.

Between steps, preempted jobs release their quota, and all pending jobs are tried again. Recorded cases read the state
earlier, while preempted jobs still hold their quota; `delay_release` is for them.
"""

from __future__ import annotations

from berth.simulator.lenders import quota_uses
from berth.simulator.scheduler.build_queues import build_queues
from berth.simulator.scheduler.cycle import CycleResult, SchedulingCycle
from berth.simulator.scheduler.events import (
    CLUSTER_QUEUE_STOPPED,
    JobEvent,
    JobEventKind,
    preempted_event,
    required_checks,
)
from berth.simulator.scheduler.model import HOLD, HOLD_AND_DRAIN, RUNNING, Job, SchedulerSetup, scheduling_shape
from berth.simulator.scheduler.nomination import Entry
from berth.simulator.scheduler.state import JobState, QueueState, SimulatedWorkload
from berth.simulator.scheduler.tree import CohortTree

_RETRY_SECONDS = 1
_STEP_SECONDS = 10
"""Kueue tries inadmissible jobs again about one second after quota is released; a step is assumed to take longer."""


class Simulator:
    """Simulates jobs in queues. Raises KeyError for unknown names, because callers validate names first."""

    def __init__(self, setup: SchedulerSetup, delay_release: bool = False) -> None:
        self.setup = setup
        self.delay_release = delay_release
        self.clock = 0
        self.workloads: dict[str, SimulatedWorkload] = {}
        self.events: list[JobEvent] = []
        self._arrival_count = 0
        self._evicting_trees: dict[CohortTree, None] = {}
        self._trees_to_retry: dict[CohortTree, None] = {}
        self.queue_states, self.trees = build_queues(setup)

    # --- steps --------------------------------------------------------------------------------------------------------

    def submit(self, job: Job) -> list[JobEvent]:
        """Submit a job."""
        tree = self.trees[job.queue]
        self._begin_step(tree)
        workload = self._add_workload(job)
        workload.queue_state.enqueue(workload)
        return self._settle_trees(tree)

    def finish(self, name: str) -> list[JobEvent]:
        """Finish a job, or delete it while it is pending."""
        tree = self.trees[self.workloads[name].queue_state.queue.name]
        self._begin_step(tree)
        workload = self.workloads.pop(name)
        if workload.is_evicted:  # in a preemption loop: it releases its quota now, and must not do so once more
            tree.evicted.remove(workload)
        if workload.has_quota():
            self._release_quota(workload)
        else:
            workload.queue_state.dequeue(workload)
        workload.state, workload.cached_nomination = JobState.FINISHED, None
        self._trees_to_retry[tree] = None
        return self._settle_trees(tree)

    def hold(self, queue: str, drain: bool = False) -> list[JobEvent]:
        """Hold a queue; with `drain`, also evict its jobs."""
        tree = self.trees[queue]
        self._begin_step(tree)
        self._set_stop_policy(self.queue_states[queue], HOLD_AND_DRAIN if drain else HOLD)
        return self._settle_trees(tree)

    def resume(self, queue: str) -> list[JobEvent]:
        """Resume a queue."""
        tree = self.trees[queue]
        self._begin_step(tree)
        self._set_stop_policy(self.queue_states[queue], RUNNING)
        self._trees_to_retry[tree] = None
        return self._settle_trees(tree)

    def complete_checks(self, name: str) -> list[JobEvent]:
        """Complete the admission checks of a job."""
        workload = self.workloads[name]
        tree = self.trees[workload.queue_state.queue.name]
        self._begin_step(tree)
        if workload.state == JobState.RESERVED:
            workload.state = JobState.ADMITTED
            self.events.append(JobEvent(JobEventKind.ADMITTED, workload))
        return self._settle_trees(tree)

    def replace_setup(self, setup: SchedulerSetup) -> list[JobEvent]:
        """Replace queues and quotas; admitted jobs stay admitted, and all pending jobs are tried again.

        A removed queue is kept, held, while it has jobs, and keeps its quota while one of them is admitted.
        """
        self._begin_step(None)
        self.setup = setup
        stop_policies = {
            name: line.stop_policy
            for name, line in self.queue_states.items()
            if line.stop_policy != line.queue.stop_policy
        }
        removed = [line for name, line in self.queue_states.items() if name not in {q.name for q in setup.queues}]
        self.queue_states, self.trees = build_queues(setup, removed)
        for workload in self.workloads.values():
            self._move_to_new_setup(workload)
        for name, queue_state in self.queue_states.items():
            self._set_stop_policy(queue_state, stop_policies.get(name, queue_state.queue.stop_policy))
        self._trees_to_retry = dict.fromkeys(self.trees.values())
        return self._settle_trees(None)

    # --- initial state ------------------------------------------------------------------------------------------------

    def add_pending(self, job: Job) -> None:
        """Add a pending job; jobs must be added in the order of arrival."""
        workload = self._add_workload(job)
        workload.queue_state.enqueue(workload)

    def settle(self) -> list[JobEvent]:
        """Run cycles on the initial state until nothing changes."""
        self._begin_step(None)
        self._trees_to_retry = dict.fromkeys(self.trees.values())
        return self._settle_trees(None)

    def add_admitted(
        self, job: Job, flavors: tuple[dict[str, str], ...], reserved_at: int, is_admitted: bool = True
    ) -> SimulatedWorkload:
        """Add an admitted job, regardless of limits, with flavors for each pod set and its time of admission (≤ 0)."""
        workload = self._add_workload(job)
        workload.flavors, workload.reserved_at = flavors, reserved_at
        for pod_set, flavor_by_resource in zip(job.pod_sets, flavors, strict=True):
            for resource, flavor in flavor_by_resource.items():
                quota_state = workload.queue_state.node.quota_state((flavor, resource))
                workload.usage[quota_state] = workload.usage.get(quota_state, 0) + pod_set.count * pod_set.requests.get(
                    resource, 0
                )
        workload.state = JobState.ADMITTED if is_admitted else JobState.RESERVED
        workload.queue_state.hold_quota(workload)
        return workload

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
                for queue_state in tree.queue_states:
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
            self._release_quota(workload)
            workload.state, workload.is_evicted, workload.flavors, workload.usage, workload.search_progress = (
                JobState.PENDING,
                False,
                (),
                {},
                None,
            )
            workload.counts = ()
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
            scheduling_shape(job),
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

    def _set_stop_policy(self, queue_state: QueueState, policy: str) -> None:
        """Set the stop policy of a queue, and evict the jobs that the policy does not keep."""
        queue_state.stop_policy = policy
        self.trees[queue_state.queue.name].invalidate()
        for workload in list(queue_state.quota_holders.values()) if not queue_state.is_active() else ():
            if not workload.is_evicted and (policy == HOLD_AND_DRAIN or workload.state == JobState.RESERVED):
                self._evict(workload, JobEvent(JobEventKind.DRAINED, workload, reason=CLUSTER_QUEUE_STOPPED))

    def _move_to_new_setup(self, workload: SimulatedWorkload) -> None:
        """Move a job to its queue in the new setup, admitted or pending as before."""
        workload.queue_state, workload.search_progress, workload.cached_nomination = (
            self.queue_states[workload.queue_state.queue.name],
            None,
            None,
        )
        workload.group_requests, workload.uncovered_resource = workload.queue_state.build_requests(workload.job)
        if workload.has_quota():
            workload.usage = {
                workload.queue_state.node.quota_state(stock.flavor_resource): amount
                for stock, amount in workload.usage.items()
            }
            workload.queue_state.hold_quota(workload)
        else:
            workload.queue_state.enqueue(workload)
