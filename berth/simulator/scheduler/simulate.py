"""The steps of a simulation: jobs are submitted and finish, queues are held and resumed."""

from __future__ import annotations

from berth.simulator.scheduler.events import (
    CLUSTER_QUEUE_STOPPED,
    JobEvent,
    JobEventKind,
)
from berth.simulator.scheduler.model import (
    HOLD,
    HOLD_AND_DRAIN,
    RUNNING,
    Job,
    SchedulerSetup,
)
from berth.simulator.scheduler.pending_line import TakingTurns
from berth.simulator.scheduler.settling import SettlingQueues
from berth.simulator.scheduler.state import JobState, QueueState, SimulatedWorkload


class Simulator(SettlingQueues):
    """Simulates jobs in queues. Raises KeyError for unknown names, because callers validate names first."""

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
        if (ledger := workload.queue_state.ledger) is not None:
            ledger.release(workload, is_over=True)
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

    def suspend(self, name: str) -> list[JobEvent]:
        """Take the quota of a job, which stays out of line until it is resumed."""
        workload = self.workloads[name]
        tree = self.trees[workload.queue_state.queue.name]
        self._begin_step(tree)
        self._withdraw(workload)
        self._trees_to_retry[tree] = None
        return self._settle_trees(tree)

    def resume_job(self, name: str, *, as_new: bool) -> list[JobEvent]:
        """Put a suspended job back in line, at its old place or as the newest."""
        workload = self.workloads[name]
        tree = self.trees[workload.queue_state.queue.name]
        self._begin_step(tree)
        if as_new:
            workload.arrival_order = self._arrival_count
            self._arrival_count += 1
        workload.queue_state.enqueue(workload)
        return self._settle_trees(tree)

    def complete_checks(self, name: str) -> list[JobEvent]:
        """Complete the admission checks of a job."""
        workload = self.workloads[name]
        tree = self.trees[workload.queue_state.queue.name]
        self._begin_step(tree)
        if workload.state == JobState.RESERVED:
            workload.state = JobState.ADMITTED
            if (ledger := workload.queue_state.ledger) is not None:
                ledger.admit(workload)
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
        self._build_queues()
        for workload in self.workloads.values():
            self._move_to_new_setup(workload)
        for name, queue_state in self.queue_states.items():
            self._set_stop_policy(queue_state, stop_policies.get(name, queue_state.queue.stop_policy))
        self._trees_to_retry = dict.fromkeys(self.trees.values())
        return self._settle_trees(None)

    # --- time -------------------------------------------------------------------------------------------------------

    def next_turn(self) -> float | None:
        """Return when another local queue may come first in a StrictFIFO queue, though nothing happens; None: never.

        In other queues a job that cannot be admitted keeps no later one from being tried.
        """
        times: list[float] = []
        for line in self._tried:
            self._tried[line] = line.head()
            waiting = [job.local_queue for job in line.line.firsts()] if isinstance(line.line, TakingTurns) else []
            if line.ledger is not None and len(waiting) > 1 and line.is_active():
                times.append(line.ledger.next_sample(waiting))
        return min(times, default=None)

    def take_turns(self) -> list[JobEvent]:
        """Try the queues whose next job is another one than when `next_turn` was asked."""
        turned = [line for line, head in self._tried.items() if line.head() is not head]
        if not turned:
            return []
        self._begin_step(self.trees[turned[0].queue.name])
        for line in turned:
            self._settle_trees(self.trees[line.queue.name])
        return self.events

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
        if (ledger := workload.queue_state.ledger) is not None and is_admitted:
            ledger.admit(workload)
        return workload

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
            node = workload.queue_state.node
            workload.usage = {
                node.quota_state(stock.flavor_resource): amount
                for stock, amount in workload.usage.items()
                if stock.counts_quota
            }
            room, _ = self.trees[workload.queue_state.queue.name].rooms.find(
                node, workload.pod_sets, workload.flavors, empty=False
            )
            workload.usage |= dict.fromkeys(room, 1)
            workload.queue_state.hold_quota(workload)
            if (ledger := workload.queue_state.ledger) is not None and workload.state == JobState.ADMITTED:
                ledger.admit(workload)  # with new rules, it begins to count
        else:
            workload.queue_state.enqueue(workload)
