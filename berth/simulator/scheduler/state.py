"""The mutable state of a simulation: jobs and queues."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum

from msgspec import Struct, field
from msgspec.structs import replace

from berth.jobs.pod_set import PodSet
from berth.plan.kueue import PODS
from berth.simulator.local_usage import UsageLedger
from berth.simulator.scheduler.model import (
    ANY,
    LOWER_OR_NEWER_EQUAL,
    NEVER,
    RUNNING,
    ClusterQueue,
    FlavorResource,
    Job,
)
from berth.simulator.scheduler.pending_line import PendingLine, TakingTurns
from berth.simulator.scheduler.quota import QuotaState, QuotaTreeNode, add_usage, remove_usage


class JobState(IntEnum):
    """The state of a job."""

    PENDING = 0
    RESERVED = 1
    ADMITTED = 2
    FINISHED = 3


class SearchProgress(Struct):
    """The progress of a flavor search: for each pod set, resource → index of the last flavor tried, -1 for all.

    `cycle` is the cycle of the search, `generation` the queue's generation at that time. An older search is valid only
    if no quota has been released in the queue since.
    """

    last_tried: list[dict[str, int]]
    cycle: int
    generation: int

    def as_key(self) -> object:
        """Return the progress as a comparable value."""
        return tuple(tuple(tried.items()) for tried in self.last_tried)

    def has_untried(self) -> bool:
        """Return whether some flavor was not tried."""
        return any(index != -1 for tried in self.last_tried for index in tried.values())


class FlavorOption(Struct, frozen=True):
    """A flavor of a queue, and its quota of each resource."""

    flavor: str
    quota_states: dict[str, QuotaState]


class GroupRequest(Struct, frozen=True, eq=False):
    """The request of a pod set for the resources of one group; the first resource identifies the group in a search."""

    flavor_options: tuple[FlavorOption, ...]
    amounts: tuple[tuple[str, int], ...]


class SimulatedWorkload(Struct, eq=False):
    """A job in the simulation.

    `group_requests` are the requests of each pod set by resource group, `uncovered_resource` a resource without quota
    ("" if there is none), `shape` the number of its shape in this simulation. While it holds quota it also keeps its
    usage, its rank among preemption candidates (lowest priority first, then last admitted), its pods (`counts`) if they
    are fewer than the job's, and the cached result of the last cycle.
    """

    job: Job
    arrival_order: int
    queue_state: QueueState
    group_requests: tuple[tuple[GroupRequest, ...], ...]
    uncovered_resource: str
    shape: int
    priority: int
    state: JobState = JobState.PENDING
    flavors: tuple[dict[str, str], ...] = ()
    usage: dict[QuotaState, int] = field(default_factory=dict[QuotaState, int])
    reserved_at: int = 0
    is_evicted: bool = False
    eviction_count: int = 0
    eviction_reason: str = ""
    search_progress: SearchProgress | None = None
    flavor_resources: frozenset[FlavorResource] = frozenset()
    preemption_order: tuple[int, int, int] = (0, 0, 0)
    cached_nomination: object = None
    counts: tuple[int, ...] = ()

    @property
    def local_queue(self) -> str:
        """The local queue to which it was submitted, "" if that is not known."""
        return self.job.local_queue

    @property
    def pod_sets(self) -> tuple[PodSet, ...]:
        """The pods that are admitted, or wait."""
        if not self.counts:
            return self.job.pod_sets
        return tuple(each.with_count(count) for each, count in zip(self.job.pod_sets, self.counts, strict=True))

    def with_counts(self, counts: tuple[int, ...]) -> SimulatedWorkload:
        """Return the workload as if its job had other numbers of pods."""
        if not counts:
            return self
        job = replace(self.job, pod_sets=replace(self, counts=counts).pod_sets)
        requests, uncovered = self.queue_state.build_requests(job)
        return replace(self, job=job, group_requests=requests, uncovered_resource=uncovered)

    def has_quota(self) -> bool:
        """Return whether the job holds quota."""
        return self.state in (JobState.RESERVED, JobState.ADMITTED)


class QueueState:
    """A cluster queue in the simulation: jobs in line, inadmissible jobs, and jobs that hold quota.

    A removed queue is no longer in the setup, but still has jobs. The queues of a tree share a set of those with jobs
    in line. `line` has the pending jobs; local queues take turns by `ledger`, None: only priority and arrival count.
    """

    __slots__ = (
        "_holders_by_priority",
        "_request_cache",
        "_usage_by_priority",
        "_usage_key",
        "active_queues",
        "flavor_options",
        "flavors",
        "generation",
        "is_removed",
        "ledger",
        "line",
        "node",
        "preemptor",
        "preempts_while_borrowing",
        "queue",
        "quota_holders",
        "resting",
        "stop_policy",
    )

    def __init__(
        self, queue: ClusterQueue, node: QuotaTreeNode, is_removed: bool = False, ledger: UsageLedger | None = None
    ) -> None:
        self.queue = queue
        self.node = node
        self.is_removed = is_removed
        self.stop_policy = queue.stop_policy
        self.flavor_options = tuple(
            tuple(FlavorOption(f, {r: node.quota_state((f, r)) for r in group.resources}) for f in group.flavors)
            for group in queue.resource_groups
        )
        self.flavors = tuple(dict.fromkeys(flavor for group in queue.resource_groups for flavor in group.flavors))
        self._request_cache: dict[object, GroupRequest] = {}
        self.active_queues: dict[QueueState, None] = {}
        self.preempts_while_borrowing = queue.preemption.borrow_within_cohort not in (None, NEVER)
        self.ledger = ledger
        self.line = PendingLine[SimulatedWorkload]() if ledger is None else TakingTurns[SimulatedWorkload](ledger.usage)
        self.quota_holders: dict[int, SimulatedWorkload] = {}
        # Jobs that hold quota by priority, and the usage of each priority by flavor and resource.
        self._holders_by_priority: dict[int, dict[int, SimulatedWorkload]] = {}
        self._usage_by_priority: dict[int, dict[FlavorResource, int]] = {}
        self.preemptor: SimulatedWorkload | None = None
        # What pending jobs need while all are set aside; None when jobs came or went since it was computed.
        self.resting: object = None
        self._usage_key: frozenset[object] | None = None
        self.generation = 1

    def build_requests(self, job: Job) -> tuple[tuple[tuple[GroupRequest, ...], ...], str]:
        """Return the requests of each pod set, and a resource for which the queue has no quota ("" for none)."""
        requests: list[tuple[GroupRequest, ...]] = []
        covered = {resource for group in self.queue.resource_groups for resource in group.resources}
        for pod_set in job.pod_sets:
            totals = {resource: amount * pod_set.count for resource, amount in pod_set.requests.items()}
            if PODS in covered:
                totals[PODS] = pod_set.count
            requests.append(tuple(self._group_requests(totals)))
            missing = [resource for resource, amount in totals.items() if amount and resource not in covered]
            if missing:
                return tuple(requests), missing[0]
        return tuple(requests), ""

    def _group_requests(self, totals: dict[str, int]) -> Iterator[GroupRequest]:
        """Yield the request for each resource group; equal requests share one object, the key of caches."""
        for group, options in zip(self.queue.resource_groups, self.flavor_options, strict=True):
            amounts = tuple((resource, totals[resource]) for resource in group.resources if resource in totals)
            if amounts:
                request = self._request_cache.get(amounts)
                if request is None:
                    request = self._request_cache[amounts] = GroupRequest(options, amounts)
                yield request

    def enqueue(self, workload: SimulatedWorkload) -> None:
        """Add a pending job; it is in line unless jobs of its shape are known to be inadmissible."""
        self.line.add(workload)
        self.resting = None
        self._note_activity()

    def head(self) -> SimulatedWorkload | None:
        """Return the next job; in a BestEffortFIFO queue, one that waits for its victims comes first, in its turn."""
        preemptor = self.preemptor
        is_preferred = preemptor is not None and not self.queue.is_strict_fifo and self.line.contains(preemptor)
        if isinstance(self.line, TakingTurns):
            return self.line.first(preemptor if is_preferred else None)
        return preemptor if is_preferred else self.line.first()

    def set_inadmissible(self, workload: SimulatedWorkload) -> None:
        """Set aside all jobs of a shape, in a BestEffortFIFO queue, until something changes."""
        self.line.set_aside(workload)
        self._note_activity()

    def requeue_inadmissible(self) -> None:
        """Put all inadmissible jobs back in line."""
        self.line.restore()
        self._note_activity()

    def dequeue(self, workload: SimulatedWorkload) -> None:
        """Remove a pending job."""
        self.line.remove(workload)
        self.resting = None
        self._note_activity()
        if self.preemptor is workload:
            self.preemptor = None

    def _note_activity(self) -> None:
        if self.line.ready_count:
            self.active_queues[self] = None
        else:
            self.active_queues.pop(self, None)

    def hold_quota(self, workload: SimulatedWorkload) -> None:
        """Add the quota of a job to the usage."""
        workload.flavor_resources = frozenset(stock.flavor_resource for stock in workload.usage)
        workload.preemption_order = (workload.priority, -workload.reserved_at, workload.arrival_order)
        self.resting = self._usage_key = None
        self.quota_holders[workload.arrival_order] = workload
        self._holders_by_priority.setdefault(workload.priority, {})[workload.arrival_order] = workload
        amounts = self._usage_by_priority.setdefault(workload.priority, {})
        for quota_state, amount in workload.usage.items():
            amounts[quota_state.flavor_resource] = amounts.get(quota_state.flavor_resource, 0) + amount
        add_usage(workload.usage)

    def release_quota(self, workload: SimulatedWorkload) -> None:
        """Subtract the quota of a job from the usage."""
        del self.quota_holders[workload.arrival_order]
        self.resting = self._usage_key = None
        same_priority, amounts = (
            self._holders_by_priority[workload.priority],
            self._usage_by_priority[workload.priority],
        )
        del same_priority[workload.arrival_order]
        for quota_state, amount in workload.usage.items():
            amounts[quota_state.flavor_resource] -= amount
        if not same_priority:
            del self._holders_by_priority[workload.priority], self._usage_by_priority[workload.priority]
        remove_usage(workload.usage)

    def usage_key(self) -> frozenset[object]:
        """Return which jobs hold which quota, as a comparable value."""
        if self._usage_key is None:
            holders = self.quota_holders.values()
            self._usage_key = frozenset((w.arrival_order, tuple(s.as_key() for s in w.usage)) for w in holders)
        return self._usage_key

    def preemptible_workloads(self, workload: SimulatedWorkload, rule: str) -> Iterator[SimulatedWorkload]:
        """Yield the jobs that hold quota and that a job can preempt by `rule`, which is not Never."""
        for priority, same_priority in self._holders_by_priority.items():
            if priority < workload.priority or rule == ANY:
                yield from same_priority.values()
            elif priority == workload.priority and rule == LOWER_OR_NEWER_EQUAL:
                yield from (other for other in same_priority.values() if workload.arrival_order < other.arrival_order)

    def preemptible_amount(self, priority: int, rule: str, flavor_resource: FlavorResource) -> int:
        """Return an upper bound of the usage of jobs that `rule` allows to preempt."""
        if rule == NEVER:
            return 0
        total = 0
        for other_priority, amounts in self._usage_by_priority.items():
            if (
                other_priority < priority
                or rule == ANY
                or (other_priority == priority and rule == LOWER_OR_NEWER_EQUAL)
            ):
                total += amounts.get(flavor_resource, 0)
        return total

    def is_active(self) -> bool:
        """Return whether the queue admits jobs."""
        return self.stop_policy == RUNNING
