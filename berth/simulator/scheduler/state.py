"""What changes while a simulation runs: jobs and where they stand, queues and who waits in them."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from enum import IntEnum

from msgspec import Struct, field

from berth.simulator.scheduler.model import (
    ANY,
    LOWER_OR_NEWER_EQUAL,
    NEVER,
    RUNNING,
    ClusterQueue,
    FlavorResource,
    Job,
    ResourceGroup,
    SchedulingShape,
)
from berth.simulator.scheduler.quota import QuotaState, QuotaTreeNode, add_usage, remove_usage


class JobState(IntEnum):
    """Where a job stands."""

    PENDING = 0
    RESERVED = 1
    ADMITTED = 2
    FINISHED = 3


class SearchProgress(Struct):
    """How far the search through the flavors came: for each pod set, resource → index of the last one tried, -1 = all.

    `cycle` is the cycle that searched, `generation` the queue's at that time: what is older than a cycle counts only
    while nothing was given back in the queue since.
    """

    last_tried: list[dict[str, int]]
    cycle: int
    generation: int

    def as_key(self) -> object:
        """How far it came, as something to compare."""
        return tuple(tuple(tried.items()) for tried in self.last_tried)

    def has_untried(self) -> bool:
        """Return whether some flavor was not looked at."""
        return any(index != -1 for tried in self.last_tried for index in tried.values())


class FlavorOption(Struct, frozen=True):
    """A flavor of a queue, and the stock of each resource that comes with it."""

    flavor: str
    quota_states: dict[str, QuotaState]


class GroupRequest(Struct, frozen=True, eq=False):
    """What a pod set wants of the resources of one group (the first of them is named in the records of a search)."""

    flavor_options: tuple[FlavorOption, ...]
    amounts: tuple[tuple[str, int], ...]


class SimulatedWorkload(Struct, eq=False):
    """A job in the simulation. `order` is its place in the order of arrival, `since` when it got its place.

    `asks` are what each pod set wants of its queue, `uncovered` a resource that the queue has no quota of ("": none).
    Kept at hand while it holds quota: the `cells` it uses, and `turn`, its place among those who might be pushed out
    (the lowest priority first, then who got its place last). `known` is what a cycle found for it, and when.
    """

    job: Job
    arrival_order: int
    queue_state: QueueState
    group_requests: tuple[tuple[GroupRequest, ...], ...]
    uncovered_resource: str
    shape: SchedulingShape
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

    def has_quota(self) -> bool:
        """Return whether the job holds quota."""
        return self.state in (JobState.RESERVED, JobState.ADMITTED)


class QueueState:
    """A cluster queue in the simulation: those in line, those set aside until something changes, those who hold quota.

    `gone`: the setup has it no more, and only its jobs are left. `awake` is shared by the lines of a tree: those of
    them with somebody in line.
    """

    __slots__ = (
        "_by_shape",
        "_heap",
        "_heap_orders",
        "_holders_by_priority",
        "_request_cache",
        "_usage_by_priority",
        "active_queues",
        "flavor_options",
        "flavors",
        "generation",
        "inadmissible",
        "is_removed",
        "node",
        "preemptor",
        "queue",
        "quota_holders",
        "ready",
        "stop_policy",
        "unfit_shapes",
    )

    def __init__(self, queue: ClusterQueue, node: QuotaTreeNode, is_removed: bool = False) -> None:
        self.queue = queue
        self.node = node
        self.is_removed = is_removed
        self.stop_policy = queue.stop_policy
        self.flavor_options = tuple(_build_flavor_options(group, node) for group in queue.resource_groups)
        self.flavors = tuple(dict.fromkeys(flavor for group in queue.resource_groups for flavor in group.flavors))
        self._request_cache: dict[object, GroupRequest] = {}
        self.active_queues: dict[QueueState, None] = {}
        self.ready: dict[int, SimulatedWorkload] = {}
        self.inadmissible: dict[int, SimulatedWorkload] = {}
        self.unfit_shapes: set[SchedulingShape] = set()
        self.quota_holders: dict[int, SimulatedWorkload] = {}
        # The same by priority, and what those of each priority use of each cell.
        self._holders_by_priority: dict[int, dict[int, SimulatedWorkload]] = {}
        self._usage_by_priority: dict[int, dict[FlavorResource, int]] = {}
        self.preemptor: SimulatedWorkload | None = None
        self.generation = 1
        self._by_shape: dict[SchedulingShape, dict[int, SimulatedWorkload]] = {}
        # The heap may name jobs that have left; `_heaped` are those it names, so that none is named twice.
        self._heap: list[tuple[int, int]] = []
        self._heap_orders: set[int] = set()

    def build_requests(self, job: Job) -> tuple[tuple[tuple[GroupRequest, ...], ...], str]:
        """What each pod set of a job wants of the queue, and a resource that the queue has no quota of ("": none)."""
        requests: list[tuple[GroupRequest, ...]] = []
        covered = {resource for group in self.queue.resource_groups for resource in group.resources}
        for pod_set in job.pod_sets:
            totals = {resource: amount * pod_set.count for resource, amount in pod_set.requests.items()}
            requests.append(tuple(self._group_requests(totals)))
            missing = [resource for resource, amount in totals.items() if amount and resource not in covered]
            if missing:
                return tuple(requests), missing[0]
        return tuple(requests), ""

    def _group_requests(self, totals: dict[str, int]) -> Iterator[GroupRequest]:
        """What is asked of each group; who asks for the same gets the same object, by which things are remembered."""
        for group, options in zip(self.queue.resource_groups, self.flavor_options, strict=True):
            amounts = tuple((resource, totals[resource]) for resource in group.resources if resource in totals)
            if amounts:
                request = self._request_cache.get(amounts)
                if request is None:
                    request = self._request_cache[amounts] = GroupRequest(options, amounts)
                yield request

    def enqueue(self, workload: SimulatedWorkload) -> None:
        """Put a job in line, unless its shape was just found hopeless (which only a BestEffortFIFO queue remembers)."""
        if workload.shape in self.unfit_shapes:
            self.inadmissible[workload.arrival_order] = workload
        else:
            self.make_ready(workload)

    def make_ready(self, workload: SimulatedWorkload) -> None:
        """Put a job in line."""
        self.inadmissible.pop(workload.arrival_order, None)
        self.ready[workload.arrival_order] = workload
        self.active_queues[self] = None
        self._by_shape.setdefault(workload.shape, {})[workload.arrival_order] = workload
        if workload.arrival_order not in self._heap_orders:
            self._heap_orders.add(workload.arrival_order)
            heapq.heappush(self._heap, (-workload.priority, workload.arrival_order))

    def head(self) -> SimulatedWorkload | None:
        """Who is next: in a BestEffortFIFO queue one that waits for its victims goes before all others."""
        preemptor = self.preemptor
        if preemptor is not None and not self.queue.is_strict_fifo and preemptor.arrival_order in self.ready:
            return preemptor
        while self._heap:
            workload = self.ready.get(self._heap[0][1])
            if workload is not None:
                return workload
            self._heap_orders.discard(heapq.heappop(self._heap)[1])
        return None

    def set_inadmissible(self, workload: SimulatedWorkload, shape_cannot_fit: bool) -> None:
        """Let a job of a BestEffortFIFO queue wait until something changes; if it is hopeless, all of its shape too."""
        same_shape = {workload.arrival_order: workload}
        if shape_cannot_fit:
            self.unfit_shapes.add(workload.shape)
            same_shape = self._by_shape.get(workload.shape, same_shape)
        for other in list(same_shape.values()):
            self._remove_ready(other)
            self.inadmissible[other.arrival_order] = other

    def requeue_inadmissible(self) -> bool:
        """Bring back all that were set aside. Says whether there were any."""
        self.unfit_shapes.clear()
        retried = list(self.inadmissible.values())
        for workload in retried:
            self.make_ready(workload)
        return bool(retried)

    def dequeue(self, workload: SimulatedWorkload) -> None:
        """Forget a job that waits."""
        self.inadmissible.pop(workload.arrival_order, None)
        if workload.arrival_order in self.ready:
            self._remove_ready(workload)
        if self.preemptor is workload:
            self.preemptor = None

    def _remove_ready(self, workload: SimulatedWorkload) -> None:
        del self.ready[workload.arrival_order]
        same_shape = self._by_shape[workload.shape]
        del same_shape[workload.arrival_order]
        if not same_shape:
            del self._by_shape[workload.shape]
        if not self.ready:
            self.active_queues.pop(self, None)

    def hold_quota(self, workload: SimulatedWorkload) -> None:
        """Count what a job takes."""
        workload.flavor_resources = frozenset(stock.flavor_resource for stock in workload.usage)
        workload.preemption_order = (workload.priority, -workload.reserved_at, workload.arrival_order)
        self.quota_holders[workload.arrival_order] = workload
        self._holders_by_priority.setdefault(workload.priority, {})[workload.arrival_order] = workload
        amounts = self._usage_by_priority.setdefault(workload.priority, {})
        for quota_state, amount in workload.usage.items():
            amounts[quota_state.flavor_resource] = amounts.get(quota_state.flavor_resource, 0) + amount
        add_usage(workload.usage)

    def release_quota(self, workload: SimulatedWorkload) -> None:
        """Give back what a job took."""
        del self.quota_holders[workload.arrival_order]
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

    def preemptible_workloads(self, workload: SimulatedWorkload, rule: str) -> Iterator[SimulatedWorkload]:
        """Those who hold quota and whom `rule`, which is not Never, lets a job push out."""
        for priority, same_priority in self._holders_by_priority.items():
            if priority < workload.priority or rule == ANY:
                yield from same_priority.values()
            elif priority == workload.priority and rule == LOWER_OR_NEWER_EQUAL:
                yield from (other for other in same_priority.values() if workload.arrival_order < other.arrival_order)

    def preemptible_amount(self, priority: int, rule: str, flavor_resource: FlavorResource) -> int:
        """What of a cell they use; it may be somewhat less."""
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
        """Return whether the queue admits at all."""
        return self.stop_policy == RUNNING


def _build_flavor_options(group: ResourceGroup, node: QuotaTreeNode) -> tuple[FlavorOption, ...]:
    return tuple(FlavorOption(f, {r: node.quota_state((f, r)) for r in group.resources}) for f in group.flavors)
