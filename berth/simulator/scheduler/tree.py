"""Queues that share quota, and cached results for them."""

from __future__ import annotations

from collections.abc import Iterable

from berth.simulator.scheduler.model import ANY, NEVER, FlavorResource
from berth.simulator.scheduler.state import QueueState, SimulatedWorkload
from berth.simulator.topology_rooms import TopologyRooms


class CohortTree:
    """All queues that can affect each other: a root cohort with everything below it, or a queue without a cohort.

    `claimants` are jobs for which the last cycle reserved quota although they could not be admitted. Results for a
    flavor are cached until its usage changes; a counter records these changes. Under fair sharing, by
    `fair_strategies`, every result depends on the usage of all flavors. `rooms` are the nodes of flavors with a
    topology, which other trees may use as well: what depends on them is not cached. `takes_turns` is whether local
    queues of a queue do: the usage that decides victims changes with time, and is not cached either.
    """

    __slots__ = (
        "active_queues",
        "blocked_heads",
        "cycle",
        "evicted",
        "fair_strategies",
        "flavor_caches",
        "flavor_versions",
        "may_rest",
        "queue_of_node",
        "queue_states",
        "rooms",
        "takes_turns",
    )

    def __init__(
        self, queue_states: Iterable[QueueState], fair_strategies: tuple[str, ...] | None, rooms: TopologyRooms
    ) -> None:
        self.fair_strategies = fair_strategies
        self.rooms = rooms
        self.queue_states = tuple(queue_states)
        self.active_queues: dict[QueueState, None] = {}
        for queue_state in self.queue_states:
            queue_state.active_queues = self.active_queues
            if fair_strategies is not None and queue_state.queue.preemption.reclaim_within_cohort != NEVER:
                queue_state.preempts_while_borrowing = True
        # Cycles count for searches that continue with the next flavor, and leave heads for which quota is reserved:
        # where there are none, a queue may stay out of cycles that would not change it.
        self.takes_turns = any(line.ledger is not None for line in self.queue_states)
        self.may_rest = (
            not self.takes_turns
            and fair_strategies is None
            and all(
                not any(flavor in rooms.leaves for flavor in line.flavors)
                and line.queue.preemption.reclaim_within_cohort == ANY
                and not line.queue.is_strict_fifo
                and all(len(group.flavors) == 1 for group in line.queue.resource_groups)
                for line in self.queue_states
            )
        )
        self.queue_of_node = {line.node: line for line in self.queue_states}
        self.evicted: list[SimulatedWorkload] = []
        self.blocked_heads: list[SimulatedWorkload] = []
        self.cycle = 0
        self.flavor_caches: dict[str, dict[object, object]] = {}
        self.flavor_versions: dict[str, int] = {}

    def invalidate(self, flavor_resources: Iterable[FlavorResource] | None = None) -> None:
        """Discard cached results of flavors whose usage changed (None: all flavors)."""
        is_everything = flavor_resources is None or self.fair_strategies is not None
        flavors = list(self.flavor_caches) if is_everything else {flavor for flavor, _ in flavor_resources or ()}
        for flavor in flavors:
            self.flavor_versions[flavor] = self.flavor_versions.get(flavor, 0) + 1
            self.flavor_caches[flavor] = {}

    def flavor_cache(self, flavor: str) -> dict[object, object]:
        """Return the cache of a flavor, which the caller fills."""
        cache = self.flavor_caches.get(flavor)
        if cache is None:
            cache = self.flavor_caches[flavor] = {}
        return cache

    def version(self, queue_state: QueueState) -> int:
        """Return a number that increases when the usage of a flavor of the queue changes."""
        flavor_versions = self.flavor_versions
        return sum([flavor_versions.get(flavor, 0) for flavor in queue_state.flavors])

    def has_pending(self) -> bool:
        """Return whether any job is in line."""
        return any(line.is_active() for line in self.active_queues)

    def usage_key(self) -> object:
        """Return which jobs hold which quota, and which are being preempted, as a comparable value."""
        evicted = frozenset(work.arrival_order for work in self.evicted)
        return evicted, tuple(line.usage_key() for line in self.queue_states)
