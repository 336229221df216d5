"""What changes while a simulation runs: jobs and where they stand, queues and who waits in them."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from enum import IntEnum

from msgspec import Struct, field

from berth.simulator.scheduler.model import ANY, LOWER_OR_NEWER, NEVER, RUNNING, Cell, Group, Job, Queue
from berth.simulator.scheduler.quota import Node, Stock, refund, spend

Shape = tuple[object, ...]
"""Jobs of one shape meet the same verdict in the same queue."""


class Stand(IntEnum):
    """Where a job stands."""

    WAITING = 0
    RESERVED = 1
    ADMITTED = 2
    FINISHED = 3


class Scan(Struct):
    """How far the search through the flavors came: for each pod set, resource → index of the last one tried, -1 = all.

    `cycle` is the cycle that searched, `generation` the queue's at that time: what is older than a cycle counts only
    while nothing was given back in the queue since.
    """

    tried: list[dict[str, int]]
    cycle: int
    generation: int

    def key(self) -> object:
        """How far it came, as something to compare."""
        return tuple(tuple(tried.items()) for tried in self.tried)

    def unfinished(self) -> bool:
        """Whether some flavor was not looked at."""
        return any(index != -1 for tried in self.tried for index in tried.values())


class Offer(Struct, frozen=True):
    """A flavor of a queue, and the stock of each resource that comes with it."""

    flavor: str
    stocks: dict[str, Stock]


class Ask(Struct, frozen=True, eq=False):
    """What a pod set wants of the resources of one group (the first of them is named in the records of a search)."""

    offers: tuple[Offer, ...]
    amounts: tuple[tuple[str, int], ...]


class Work(Struct, eq=False):
    """A job in the simulation. `order` is its place in the order of arrival, `since` when it got its place.

    `asks` are what each pod set wants of its queue, `uncovered` a resource that the queue has no quota of ("": none).
    Kept at hand while it holds quota: the `cells` it uses, and `turn`, its place among those who might be pushed out
    (the lowest priority first, then who got its place last). `known` is what a cycle found for it, and when.
    """

    job: Job
    order: int
    line: Line
    asks: tuple[tuple[Ask, ...], ...]
    uncovered: str
    shape: Shape
    priority: int
    stand: Stand = Stand.WAITING
    flavors: tuple[dict[str, str], ...] = ()
    usage: dict[Stock, int] = field(default_factory=dict[Stock, int])
    since: int = 0
    evicted: bool = False
    evictions: int = 0
    reason: str = ""
    scan: Scan | None = None
    cells: frozenset[Cell] = frozenset()
    turn: tuple[int, int, int] = (0, 0, 0)
    known: object = None

    def holds(self) -> bool:
        """Whether the job holds quota."""
        return self.stand in (Stand.RESERVED, Stand.ADMITTED)


class Line:
    """A cluster queue in the simulation: those in line, those set aside until something changes, those who hold quota.

    `gone`: the setup has it no more, and only its jobs are left. `awake` is shared by the lines of a tree: those of
    them with somebody in line.
    """

    __slots__ = (
        "_amounts",
        "_asks",
        "_by_shape",
        "_heap",
        "_heaped",
        "_ranks",
        "aside",
        "awake",
        "flavors",
        "generation",
        "gone",
        "holders",
        "hopeless",
        "node",
        "offers",
        "pusher",
        "queue",
        "ready",
        "stop",
    )

    def __init__(self, queue: Queue, node: Node, gone: bool = False) -> None:
        self.queue = queue
        self.node = node
        self.gone = gone
        self.stop = queue.stop
        self.offers = tuple(_offers(group, node) for group in queue.groups)
        self.flavors = tuple(dict.fromkeys(flavor for group in queue.groups for flavor in group.flavors))
        self._asks: dict[object, Ask] = {}
        self.awake: dict[Line, None] = {}
        self.ready: dict[int, Work] = {}
        self.aside: dict[int, Work] = {}
        self.hopeless: set[Shape] = set()
        self.holders: dict[int, Work] = {}
        # The same by priority, and what those of each priority use of each cell.
        self._ranks: dict[int, dict[int, Work]] = {}
        self._amounts: dict[int, dict[Cell, int]] = {}
        self.pusher: Work | None = None
        self.generation = 1
        self._by_shape: dict[Shape, dict[int, Work]] = {}
        # The heap may name jobs that have left; `_heaped` are those it names, so that none is named twice.
        self._heap: list[tuple[int, int]] = []
        self._heaped: set[int] = set()

    def asks_of(self, job: Job) -> tuple[tuple[tuple[Ask, ...], ...], str]:
        """What each pod set of a job wants of the queue, and a resource that the queue has no quota of ("": none)."""
        found: list[tuple[Ask, ...]] = []
        covered = {resource for group in self.queue.groups for resource in group.resources}
        for pods in job.pod_sets:
            totals = {resource: amount * pods.count for resource, amount in pods.requests.items()}
            found.append(tuple(self._asks_of(totals)))
            uncovered = [resource for resource, amount in totals.items() if amount and resource not in covered]
            if uncovered:
                return tuple(found), uncovered[0]
        return tuple(found), ""

    def _asks_of(self, totals: dict[str, int]) -> Iterator[Ask]:
        """What is asked of each group; who asks for the same gets the same object, by which things are remembered."""
        for group, offers in zip(self.queue.groups, self.offers, strict=True):
            amounts = tuple((resource, totals[resource]) for resource in group.resources if resource in totals)
            if amounts:
                ask = self._asks.get(amounts)
                if ask is None:
                    ask = self._asks[amounts] = Ask(offers, amounts)
                yield ask

    def join(self, work: Work) -> None:
        """Put a job in line, unless its shape was just found hopeless (which only a BestEffortFIFO queue remembers)."""
        if work.shape in self.hopeless:
            self.aside[work.order] = work
        else:
            self.push(work)

    def push(self, work: Work) -> None:
        """Put a job in line."""
        self.aside.pop(work.order, None)
        self.ready[work.order] = work
        self.awake[self] = None
        self._by_shape.setdefault(work.shape, {})[work.order] = work
        if work.order not in self._heaped:
            self._heaped.add(work.order)
            heapq.heappush(self._heap, (-work.priority, work.order))

    def head(self) -> Work | None:
        """Who is next: in a BestEffortFIFO queue one that waits for its victims goes before all others."""
        pusher = self.pusher
        if pusher is not None and not self.queue.strict and pusher.order in self.ready:
            return pusher
        while self._heap:
            work = self.ready.get(self._heap[0][1])
            if work is not None:
                return work
            self._heaped.discard(heapq.heappop(self._heap)[1])
        return None

    def set_aside(self, work: Work, hopeless: bool) -> None:
        """Let a job of a BestEffortFIFO queue wait until something changes; if it is hopeless, all of its shape too."""
        alike = {work.order: work}
        if hopeless:
            self.hopeless.add(work.shape)
            alike = self._by_shape.get(work.shape, alike)
        for each in list(alike.values()):
            self._unready(each)
            self.aside[each.order] = each

    def retry(self) -> bool:
        """Bring back all that were set aside. Says whether there were any."""
        self.hopeless.clear()
        back = list(self.aside.values())
        for work in back:
            self.push(work)
        return bool(back)

    def leave(self, work: Work) -> None:
        """Forget a job that waits."""
        self.aside.pop(work.order, None)
        if work.order in self.ready:
            self._unready(work)
        if self.pusher is work:
            self.pusher = None

    def _unready(self, work: Work) -> None:
        del self.ready[work.order]
        alike = self._by_shape[work.shape]
        del alike[work.order]
        if not alike:
            del self._by_shape[work.shape]
        if not self.ready:
            self.awake.pop(self, None)

    def occupy(self, work: Work) -> None:
        """Count what a job takes."""
        work.cells = frozenset(stock.cell for stock in work.usage)
        work.turn = (work.priority, -work.since, work.order)
        self.holders[work.order] = work
        self._ranks.setdefault(work.priority, {})[work.order] = work
        amounts = self._amounts.setdefault(work.priority, {})
        for stock, amount in work.usage.items():
            amounts[stock.cell] = amounts.get(stock.cell, 0) + amount
        spend(work.usage)

    def vacate(self, work: Work) -> None:
        """Give back what a job took."""
        del self.holders[work.order]
        rank, amounts = self._ranks[work.priority], self._amounts[work.priority]
        del rank[work.order]
        for stock, amount in work.usage.items():
            amounts[stock.cell] -= amount
        if not rank:
            del self._ranks[work.priority], self._amounts[work.priority]
        refund(work.usage)

    def pushable(self, work: Work, rule: str) -> Iterator[Work]:
        """Those who hold quota and whom `rule`, which is not Never, lets a job push out."""
        for priority, rank in self._ranks.items():
            if priority < work.priority or rule == ANY:
                yield from rank.values()
            elif priority == work.priority and rule == LOWER_OR_NEWER:
                yield from (other for other in rank.values() if work.order < other.order)

    def pushable_amount(self, priority: int, rule: str, cell: Cell) -> int:
        """What of a cell they use; it may be somewhat less."""
        if rule == NEVER:
            return 0
        found = 0
        for held, amounts in self._amounts.items():
            if held < priority or rule == ANY or (held == priority and rule == LOWER_OR_NEWER):
                found += amounts.get(cell, 0)
        return found

    def running(self) -> bool:
        """Whether the queue admits at all."""
        return self.stop == RUNNING


def _offers(group: Group, node: Node) -> tuple[Offer, ...]:
    return tuple(Offer(f, {r: node.stock((f, r)) for r in group.resources}) for f in group.flavors)
