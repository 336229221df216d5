"""Which flavor a job would get for each resource, and at what price: nothing, borrowing, or pushing others out.

The resources of a group take one flavor together. Flavors are looked at in their order; the queue's fungibility says
whether one that would only do by borrowing or pushing out ends the search or the next is looked at first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum

from msgspec import Struct, field

from berth.simulator.scheduler.model import NEVER, PUSH_FIRST, TRY_NEXT, Fungibility, Nodes
from berth.simulator.scheduler.nodes import may_run
from berth.simulator.scheduler.quota import Stock, reach
from berth.simulator.scheduler.state import Ask, Offer, Scan, Work


class Way(IntEnum):
    """How one flavor would serve, worst first."""

    NONE = 0
    NOBODY_TO_PUSH = 1
    PUSH = 2
    RECLAIM = 3
    FITS = 4


class Mode(IntEnum):
    """How the whole job would get in, worst first. DEFERRED: it fits once others' victims are gone."""

    NO_FIT = 0
    PREEMPT = 1
    DEFERRED = 2
    FIT = 3


Oracle = Callable[[Work, Stock, int], tuple[Way, int]]
"""Whether pushing others out could make room for so much of a cell, and how high one would then borrow."""


class Assignment(Struct):
    """A flavor for each resource of each pod set. `ways` says how each cell would serve, `borrowing` how high up.

    For words: `unmatched` flavors, whose nodes the pods do not accept.
    """

    scan: Scan
    mode: Mode = Mode.FIT
    flavors: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    ways: dict[Stock, Way] = field(default_factory=dict[Stock, Way])
    usage: dict[Stock, int] = field(default_factory=dict[Stock, int])
    borrowing: int = 0
    unmatched: list[str] = field(default_factory=list[str])

    def to_push(self) -> list[Stock]:
        """Where others would have to be pushed out."""
        return [stock for stock, way in self.ways.items() if way < Way.FITS]


class Memory(Struct, frozen=True):
    """What is known of each flavor, and what of the job, besides what it asks for, decides whom it may push out."""

    of: Callable[[str], dict[object, object]]
    standpoint: tuple[int, int]


class _Option(Struct):
    """What one flavor would do for the resources of a group; `way` and `borrowing` are those of the worst of them."""

    offer: Offer
    way: Way = Way.FITS
    borrowing: int = 0
    ways: list[tuple[Way, int]] = field(default_factory=list[tuple[Way, int]])


class Search:
    """The search for flavors for one job. `only`: for each pod set, the one flavor of each resource to be looked at.

    `memory` remembers what flavors would do, as long as that stays true; it must not be given in the midst of a cycle.
    """

    def __init__(
        self,
        work: Work,
        cycle: int,
        oracle: Oracle,
        nodes: Mapping[str, Nodes],
        only: list[dict[str, str]] | None = None,
        memory: Memory | None = None,
    ) -> None:
        self.work = work
        self.memory = memory
        self.oracle = oracle
        self.nodes = nodes
        self.only = only
        self.taste = work.line.queue.fungibility
        self.found = Assignment(Scan([], cycle, work.line.generation))

    def run(self) -> Assignment:
        """The best assignment there is; its `mode` is NO_FIT when there is none."""
        found = self.found
        for index, asks in enumerate(self.work.asks):
            if self.work.uncovered or not self._pod_set(index, asks):
                found.mode = Mode.NO_FIT
                return found
        return found

    def _pod_set(self, index: int, asks: tuple[Ask, ...]) -> bool:
        """Flavors for one pod set; False when a group of resources finds none."""
        flavors: dict[str, str] = {}
        tried: dict[str, int] = {}
        self.found.flavors.append(flavors)
        self.found.scan.tried.append(tried)
        chosen: list[tuple[Ask, _Option, int]] = []
        for ask in asks:
            option, last = self._group(index, ask)
            if option is None:
                return False
            chosen.append((ask, option, last))
        for ask, option, last in chosen:
            for (resource, amount), (way, borrowing) in zip(ask.amounts, option.ways, strict=True):
                flavors[resource], tried[resource] = option.offer.flavor, last
                self._take(option.offer.stocks[resource], amount, way, borrowing)
        return True

    def _take(self, stock: Stock, amount: int, way: Way, borrowing: int) -> None:
        found = self.found
        known = found.ways.get(stock)
        found.ways[stock] = way if known is None or way < known else known
        if way < Way.FITS:
            found.mode = Mode.PREEMPT
        if borrowing > found.borrowing:
            found.borrowing = borrowing
        found.usage[stock] = found.usage.get(stock, 0) + amount

    def _group(self, index: int, ask: Ask) -> tuple[_Option | None, int]:
        """The flavor for a group, and how far the search came (-1 when it came to the last flavor)."""
        best: _Option | None = None
        last = -1
        for last in range(_first(self.work.scan, index, ask.amounts[0][0]), len(ask.offers)):
            offer = ask.offers[last]
            if not self._considered(index, offer.flavor, ask.amounts[0][0]):
                continue
            option = self._known(offer, ask)
            ends = _ends_search(option, self.taste)
            if ends or _better(option, best, self.taste):
                best = option
            if ends:
                break
        return best, last if last < len(ask.offers) - 1 else -1

    def _considered(self, index: int, flavor: str, resource: str) -> bool:
        """Whether a flavor comes into question: it is asked for, and the pods accept its nodes."""
        if self.only is not None and self.only[index].get(resource) != flavor:
            return False
        nodes = self.nodes.get(flavor)
        if nodes is None or may_run(self.work.job.pod_sets[index], nodes):
            return True
        self.found.unmatched.append(flavor)
        return False

    def _known(self, offer: Offer, ask: Ask) -> _Option:
        """What a flavor would do, from memory where nothing that the job took before it matters."""
        if self.memory is None or self.found.usage:
            return self._option(offer, ask)
        memory = self.memory.of(offer.flavor)
        key = (ask, self.memory.standpoint)
        known = memory.get(key)
        if not isinstance(known, _Option):
            known = memory[key] = self._option(offer, ask)
        return known

    def _option(self, offer: Offer, ask: Ask) -> _Option:
        """What a flavor would do: as bad as for the worst of the resources."""
        option = _Option(offer)
        for resource, amount in ask.amounts:
            way, borrowing = self._quota(offer.stocks[resource], amount)
            if (way < Way.FITS or borrowing) and self._worse(way, borrowing, option):
                option.way, option.borrowing = way, borrowing
                if way == Way.NONE:
                    break
            option.ways.append((way, borrowing))
        return option

    def _worse(self, way: Way, borrowing: int, option: _Option) -> bool:
        return _rank(way, borrowing, self.taste) < _rank(option.way, option.borrowing, self.taste)

    def _quota(self, stock: Stock, amount: int) -> tuple[Way, int]:
        """How a stock would serve, beside what earlier pod sets of the job take of it."""
        amount += self.found.usage.get(stock, 0)
        if amount > stock.most:
            return Way.NONE, 0
        borrowing, may_reclaim = reach(stock, amount)
        if amount <= stock.left():
            return Way.FITS, borrowing
        if may_reclaim or stock.nominal >= amount or self.work.line.queue.preemption.borrow != NEVER:
            return self.oracle(self.work, stock, amount)
        return Way.NONE, borrowing


def _first(scan: Scan | None, index: int, resource: str) -> int:
    """The flavor to begin with: the one after the last that was tried."""
    if scan is None or index >= len(scan.tried):
        return 0
    return scan.tried[index].get(resource, -1) + 1


def _rank(way: Way, borrowing: int, taste: Fungibility) -> tuple[int, int, int]:
    """A measure that is greater for what is preferred; what cannot be had in this cycle comes after all that can."""
    usable = 0 if way == Way.NONE else 1 if way == Way.NOBODY_TO_PUSH else 2
    return (usable, -borrowing, way) if taste.prefer == PUSH_FIRST else (usable, way, -borrowing)


def _better(option: _Option, best: _Option | None, taste: Fungibility) -> bool:
    if option.way == Way.NONE:
        return False
    return best is None or _rank(option.way, option.borrowing, taste) > _rank(best.way, best.borrowing, taste)


def _ends_search(option: _Option, taste: Fungibility) -> bool:
    """Whether no further flavor is looked at."""
    if option.way <= Way.NOBODY_TO_PUSH or (option.way < Way.FITS and taste.preempt == TRY_NEXT):
        return False
    return option.borrowing == 0 or taste.borrow != TRY_NEXT
