"""The simulation: jobs arrive and end, queues are held and resumed, and after each step everything comes to rest.

Between steps time passes: whoever was pushed out has given its quota back, and everybody was looked at again. Recorded
cases look sooner, at what is so while those pushed out still hold their quota: `lagging` is for them.
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
"""Seconds, more or less: Kueue looks again at those it set aside a second after something was given back."""


class Simulator:
    """Jobs in queues. Unknown names raise KeyError: whoever reads files knows them first."""

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
        """Return a job arrives."""
        tree = self.trees[job.queue]
        self._begin_step(tree)
        workload = self._add_workload(job)
        workload.queue_state.enqueue(workload)
        return self._settle_trees(tree)

    def finish(self, name: str) -> list[JobEvent]:
        """Return a job ends, or is deleted while it waits."""
        tree = self.trees[self.workloads[name].queue_state.queue.name]
        self._begin_step(tree)
        workload = self.workloads.pop(name)
        if workload.has_quota():
            self._release_quota(workload)
        else:
            workload.queue_state.dequeue(workload)
        workload.state, workload.cached_nomination = JobState.FINISHED, None
        self._trees_to_retry[tree] = None
        return self._settle_trees(tree)

    def hold(self, queue: str, drain: bool = False) -> list[JobEvent]:
        """Return a queue admits nobody any more; drained, those it admitted lose their place too."""
        tree = self.trees[queue]
        self._begin_step(tree)
        self._set_stop_policy(self.queue_states[queue], HOLD_AND_DRAIN if drain else HOLD)
        return self._settle_trees(tree)

    def resume(self, queue: str) -> list[JobEvent]:
        """Return a queue admits again."""
        tree = self.trees[queue]
        self._begin_step(tree)
        self._set_stop_policy(self.queue_states[queue], RUNNING)
        self._trees_to_retry[tree] = None
        return self._settle_trees(tree)

    def complete_checks(self, name: str) -> list[JobEvent]:
        """Return the checks that held a job are met."""
        workload = self.workloads[name]
        tree = self.trees[workload.queue_state.queue.name]
        self._begin_step(tree)
        if workload.state == JobState.RESERVED:
            workload.state = JobState.ADMITTED
            self.events.append(JobEvent(JobEventKind.ADMITTED, workload))
        return self._settle_trees(tree)

    def replace_setup(self, setup: SchedulerSetup) -> list[JobEvent]:
        """Queues and quotas become others; nobody loses a place by it, and all that wait are looked at again.

        A queue that is gone stays, held, for as long as jobs of it are left; its quota with it while it admitted any.
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

    # --- what is there before the first step --------------------------------------------------------------------------

    def add_pending(self, job: Job) -> None:
        """A job that is in line already; those that came first must be put there first."""
        workload = self._add_workload(job)
        workload.queue_state.enqueue(workload)

    def settle(self) -> list[JobEvent]:
        """Let what was put there come to rest."""
        self._begin_step(None)
        self._trees_to_retry = dict.fromkeys(self.trees.values())
        return self._settle_trees(None)

    def add_admitted(
        self, job: Job, flavors: tuple[dict[str, str], ...], reserved_at: int, is_admitted: bool = True
    ) -> SimulatedWorkload:
        """Return a job that holds a place already, whatever the limits say: flavors for each pod set, and since when (≤ 0)."""
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

    # --- coming to rest -----------------------------------------------------------------------------------------------

    def _begin_step(self, own_tree: CohortTree | None) -> None:
        """A step begins, in one tree or in all: those pushed out in the last one give back what they held.

        A tree that found no rest goes on only with a step of its own.
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
        """Cycle until nothing changes; what was set aside is looked at again once something was given back.

        Jobs may push one another out in a circle. A circle that closes only because time is even here is opened by
        letting one cycle more pass; one that closes all the same is left at that, and said.
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
        """Cycle until nothing changes any more but how far searches came, and that repeats."""
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
        result = SchedulingCycle(tree, self.setup.resource_flavors, self._admit).run()
        for victim, preemptor in result.preempted:
            self._evict(victim.workload, preempted_event(victim, preemptor))
        return result

    def _requeue_evicted(self, tree: CohortTree) -> None:
        """Those pushed out give back what they held and go back in line."""
        for workload in tree.evicted:
            self._release_quota(workload)
            workload.state, workload.is_evicted, workload.flavors, workload.usage, workload.search_progress = (
                JobState.PENDING,
                False,
                (),
                {},
                None,
            )
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
        """A job loses its place; what it holds it gives back later."""
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
        """Give a queue a stop policy; one that stops it takes the places that are not to be kept."""
        queue_state.stop_policy = policy
        self.trees[queue_state.queue.name].invalidate()
        for workload in list(queue_state.quota_holders.values()) if not queue_state.is_active() else ():
            if not workload.is_evicted and (policy == HOLD_AND_DRAIN or workload.state == JobState.RESERVED):
                self._evict(workload, JobEvent(JobEventKind.DRAINED, workload, reason=CLUSTER_QUEUE_STOPPED))

    def _move_to_new_setup(self, workload: SimulatedWorkload) -> None:
        """A job takes its place, or waits, in the line of its queue's new setup."""
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
