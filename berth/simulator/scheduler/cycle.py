"""One scheduling cycle: the head of every queue is looked at, then they are admitted one by one.

What an earlier head of the same cycle took is taken: a later one that no longer fits is skipped until the next cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct, field

from berth.simulator.scheduler.flavor_assignment import Assignment, Memory, Mode, Search, Way
from berth.simulator.scheduler.model import ANY, Nodes
from berth.simulator.scheduler.preemption import Push, Victim, Victims, could_push, remembered, standpoint
from berth.simulator.scheduler.quota import Stock, refund, spend
from berth.simulator.scheduler.state import Scan, Work
from berth.simulator.scheduler.tree import Tree


class Entry(Struct):
    """A head in one cycle. `again`: it stays in line; `hopeless`: nothing of its shape need be tried either.

    `start` is how far its search had come before the cycle.
    """

    work: Work
    start: object
    found: Assignment
    victims: list[Victim]
    again: bool = False
    hopeless: bool = False
    admitted: bool = False


class Known(Struct):
    """What a cycle found for a head, of its queue's flavors at a version, with a search that began at `start`.

    `tried` is how far the search came, None where it came to the end.
    """

    version: int
    start: object
    found: Assignment
    victims: list[Victim]
    tried: list[dict[str, int]] | None


class Outcome(Struct):
    """What a cycle did: whom it admitted, whom it pushed out and what for, how many it set aside.

    `searched`: how far the searches of all heads have come, if that is not where they began.
    """

    admitted: list[Entry] = field(default_factory=list[Entry])
    pushed: list[tuple[Victim, Work]] = field(default_factory=list[tuple[Victim, Work]])
    set_aside: int = 0
    searched: tuple[object, ...] | None = None

    def progress(self) -> bool:
        """Whether the next cycle would meet another state (other than how far searches came)."""
        return bool(self.admitted or self.pushed or self.set_aside)


class Cycle:
    """One cycle over a tree; `admit` is called for each job that gets its place."""

    def __init__(self, tree: Tree, nodes: Mapping[str, Nodes], admit: Callable[[Entry], None]) -> None:
        self.tree = tree
        self.nodes = nodes
        self.admit = admit
        self.outcome = Outcome()
        self.gone: dict[int, Work] = {}
        self.claims: list[Entry] = []
        self.journal: list[tuple[Stock, int]] = []
        self.moved = False

    def run(self) -> Outcome:
        """Run it."""
        self.tree.cycle += 1
        self.tree.claimants = []
        heads = [line.head() for line in self.tree.awake if line.running()]
        entries = [self._nominate(work) for work in heads if work is not None]
        for entry in sorted(entries, key=_turn) if len(entries) > 1 else entries:
            self._process(entry)
        for stock, before in reversed(self.journal):
            stock.usage = before
        for entry in self.outcome.admitted:
            self.admit(entry)
        for entry in entries:
            self._requeue(entry)
        if self.moved or any(entry.start != _start(entry.work) for entry in entries):
            self.outcome.searched = tuple(_searched(entry.work) for entry in entries)
        return self.outcome

    def _nominate(self, work: Work) -> Entry:
        if work.scan is not None and _outdated(work, self.tree):
            work.scan = None
        start, version = _start(work), self.tree.version(work.line)
        known = work.known
        if isinstance(known, Known) and known.version == version and known.start == start:
            tried = known.tried
            work.scan = None if tried is None else Scan(tried, self.tree.cycle, work.line.generation)
            return Entry(work, start, known.found, known.victims)
        found, victims = self._assign(work)
        work.known = Known(version, start, found, victims, work.scan.tried if work.scan else None)
        return Entry(work, start, found, victims)

    def _assign(self, work: Work, only: list[dict[str, str]] | None = None) -> tuple[Assignment, list[Victim]]:
        """Find flavors and victims for a head. With `only`, in the midst of a cycle, where nothing is remembered."""
        oracle = self._could_push if only is None else self._could_push_now
        memory = Memory(self.tree.remembered, standpoint(work)) if only is None else None
        found = Search(work, self.tree.cycle, oracle, self.nodes, only, memory).run()
        work.scan = found.scan if found.scan.unfinished() else None
        return found, self._victims(work, found, only is None) if found.mode == Mode.PREEMPT else []

    def _victims(self, work: Work, found: Assignment, remember: bool) -> list[Victim]:
        """Whom it would push out; remembered for jobs that take one flavor, which is nearly all."""
        asks = [ask for of_pods in work.asks for ask in of_pods]
        if not remember or len(asks) > 1:
            return Push(self.tree, work, found.usage, found.to_push()).victims()
        flavor, _ = next(iter(found.usage)).cell
        memory, key = self.tree.remembered(flavor), ("victims", *asks, standpoint(work))
        known = memory.get(key)
        if not isinstance(known, Victims):
            chosen = Push(self.tree, work, found.usage, found.to_push()).victims()
            known = memory[key] = Victims(tuple(chosen))
        return list(known.chosen)

    def _could_push(self, work: Work, stock: Stock, amount: int) -> tuple[Way, int]:
        return remembered(self.tree, work, stock, amount)

    def _could_push_now(self, work: Work, stock: Stock, amount: int) -> tuple[Way, int]:
        return could_push(self.tree, work, stock, amount)

    # --- one after the other ------------------------------------------------------------------------------------------

    def _process(self, entry: Entry) -> None:
        """Admit a head, let it push others out, or leave it."""
        if self.gone and self._overlaps(entry):
            self._claim_all()
            self._look_again(entry)
        found = entry.found
        if found.mode == Mode.NO_FIT:
            entry.hopeless = True
        elif found.mode == Mode.PREEMPT and not entry.victims:
            entry.hopeless = True
            if entry.work.line.queue.preemption.reclaim != ANY:
                self.tree.claimants.append(entry.work)
                self.claims.append(entry)
        else:
            self._claim_all()
            self._let_in(entry)

    def _let_in(self, entry: Entry) -> None:
        """Admit a head or let it push others out, if nobody before it in the cycle took what it needs."""
        if entry.found.mode == Mode.DEFERRED:
            self._wait_for_victims(entry)
            self._reserve(entry.found.usage)
        elif self._overlaps(entry) or not self._fits(entry):
            entry.again = True
        else:
            self._take(entry)

    def _take(self, entry: Entry) -> None:
        self._reserve(entry.found.usage)
        if entry.found.mode == Mode.FIT:
            entry.admitted = True
            self.outcome.admitted.append(entry)
            return
        for victim in entry.victims:
            self.gone[victim.work.order] = victim.work
            if not victim.work.evicted:
                self.outcome.pushed.append((victim, entry.work))
        self._wait_for_victims(entry)

    def _wait_for_victims(self, entry: Entry) -> None:
        work = entry.work
        self.moved = self.moved or work.line.pusher is not work
        entry.again = True
        work.scan, work.line.pusher = None, work

    def _claim_all(self) -> None:
        """Count what heads that can push nobody keep from others. Only those who might take it make it matter."""
        for entry in self.claims:
            self._reserve(_claim(entry))
        self.claims = []

    def _reserve(self, usage: dict[Stock, int]) -> None:
        """Count a usage for the rest of the cycle."""
        for stock in usage:
            step: Stock | None = stock
            while step is not None:
                self.journal.append((step, step.usage))
                step = step.parent
        spend(usage)

    def _overlaps(self, entry: Entry) -> bool:
        """Whether somebody before it in the cycle pushes out one of those whom it would push out."""
        return any(victim.work.order in self.gone for victim in entry.victims)

    def _look_again(self, entry: Entry) -> None:
        """Find other victims, or that none are needed once those of others are gone; the flavors stay."""
        gone = list(self.gone.values())
        for work in gone:
            work.line.vacate(work)
        entry.work.scan = None
        entry.found, entry.victims = self._assign(entry.work, [dict(flavors) for flavors in entry.found.flavors])
        for work in gone:
            work.line.occupy(work)
        if entry.found.mode == Mode.FIT:
            entry.found.mode = Mode.DEFERRED

    def _fits(self, entry: Entry) -> bool:
        """Whether the head still fits beside what the cycle did so far, with all victims gone."""
        if not self.journal:
            return True
        leaving = self.gone | {victim.work.order: victim.work for victim in entry.victims}
        for work in leaving.values():
            refund(work.usage)
        fits = all(amount <= stock.left() for stock, amount in entry.found.usage.items())
        for work in leaving.values():
            spend(work.usage)
        return fits

    def _requeue(self, entry: Entry) -> None:
        """It stays in line, or is set aside until something changes."""
        work = entry.work
        if entry.admitted or entry.again or work.line.queue.strict or work.scan is not None:
            return
        if work.order in work.line.ready:
            work.line.set_aside(work, entry.hopeless)
            self.outcome.set_aside += 1


def _start(work: Work) -> object:
    """Where the search of a job begins: nowhere, or after the flavors it tried."""
    return work.scan.key() if work.scan is not None else ()


def _searched(work: Work) -> object:
    """How far a head's search came, and whether it waits for victims: all that a cycle without progress may change."""
    return work.order, work.line.pusher is work, _start(work)


def _turn(entry: Entry) -> tuple[int, int, int]:
    """Who comes first in a cycle: who borrows least, then the higher priority, then who came first."""
    return entry.found.borrowing, -entry.work.priority, entry.work.order


def _outdated(work: Work, tree: Tree) -> bool:
    scan = work.scan
    assert scan is not None
    return tree.cycle - scan.cycle > 1 and work.line.generation > scan.generation


def _claim(entry: Entry) -> dict[Stock, int]:
    """What a head that cannot push anybody keeps others from taking: up to its limit if it borrows, else its quota."""
    borrows = entry.found.borrowing > 0
    return {stock: _claimed(stock, amount, borrows) for stock, amount in entry.found.usage.items()}


def _claimed(stock: Stock, amount: int, borrows: bool) -> int:
    if not borrows:
        return max(0, min(amount, stock.nominal - stock.usage))
    return amount if stock.limit is None else min(amount, stock.nominal + stock.limit - stock.usage)
