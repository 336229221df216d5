"""Whom a job would push out: who may be, in which order they are tried, and the few that suffice."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from berth.simulator.scheduler.flavor_assignment import Way
from berth.simulator.scheduler.model import LOWER_OR_NEWER, NEVER
from berth.simulator.scheduler.quota import Node, Stock, reach, refund, spend
from berth.simulator.scheduler.state import Line, Work
from berth.simulator.scheduler.tree import Tree

IN_QUEUE = "InClusterQueue"
RECLAIMED = "InCohortReclamation"
WHILE_BORROWING = "InCohortReclaimWhileBorrowing"


class Victim(Struct):
    """A job that may be pushed out, and Kueue's word for the rule.

    `meeting` is the cohort where the two queues meet (None in one's own queue). `own_only` victims are for those that
    stay within their nominal quota.
    """

    work: Work
    reason: str
    meeting: Node | None = None
    own_only: bool = False


class Victims(Struct):
    """Those who would be pushed out."""

    chosen: tuple[Victim, ...]


class Pushing(Struct):
    """What pushing others out would do for one stock, and how high the job would then borrow."""

    way: Way
    borrowing: int


class _Candidates(Struct):
    own: list[Victim]
    owed: list[Victim]
    by_rank: list[Victim]


class Push:
    """One attempt: `work` wants `usage`, and lacks room in `short`."""

    def __init__(self, tree: Tree, work: Work, usage: dict[Stock, int], short: Iterable[Stock]) -> None:
        self.tree = tree
        self.work = work
        self.line = work.line
        self.rules = work.line.queue.preemption
        self.usage = usage
        self.short = tuple(short)
        self.cells = {stock.cell for stock in self.short}

    def victims(self) -> list[Victim]:
        """Those to be pushed out so that the job fits; empty when that cannot be."""
        if not self._could_suffice():
            return []
        found = self._candidates()
        ordered = _ordered(found)
        for borrowing in self._attempts(found):
            chosen = self._attempt(ordered, borrowing)
            if chosen:
                return chosen
        return []

    def _could_suffice(self) -> bool:
        """Whether there could be room with everybody gone who may be pushed out; a short way to a no."""
        return all(amount <= stock.left() or self._bound(stock) >= amount for stock, amount in self.usage.items())

    def _bound(self, stock: Stock) -> int:
        """No more than this could be had of a stock."""
        cell, priority = stock.cell, self.work.priority
        found = stock.left() + self.line.pushable_amount(priority, self.rules.within_queue, cell)
        if stock.parent is None or self.rules.reclaim == NEVER:
            return found
        for line in self.tree.lines:
            if line is not self.line and line.running() and not line.node.within_nominal(self.cells):
                found += line.pushable_amount(priority, self.rules.reclaim, cell)
        return found

    def _attempts(self, found: _Candidates) -> tuple[bool, ...]:
        """Whether to try while borrowing, without, or both, and in which order."""
        forbidden = self.rules.borrow == NEVER
        if not found.owed and not found.by_rank:
            return (True,)
        if forbidden and not self._below_nominal():
            return (True,)
        return (False, True) if forbidden and not found.owed else (True, False)

    def _below_nominal(self) -> bool:
        return all(stock.usage < stock.nominal for stock in self.short)

    def _attempt(self, ordered: list[Victim], borrowing: bool) -> list[Victim]:
        """Push out one after the other until the job fits, then let back in whom that does not need."""
        out: list[Victim] = []
        try:
            for victim in ordered:
                if not self._may_still(victim, borrowing):
                    continue
                refund(victim.work.usage)
                out.append(victim)
                if self._fits(borrowing):
                    self._let_back(out, borrowing)
                    return list(out)
            return []
        finally:
            for victim in out:
                spend(victim.work.usage)

    def _let_back(self, out: list[Victim], borrowing: bool) -> None:
        for index in range(len(out) - 2, -1, -1):
            spend(out[index].work.usage)
            if self._fits(borrowing):
                out[index] = out[-1]
                out.pop()
            else:
                refund(out[index].work.usage)

    def _fits(self, borrowing: bool) -> bool:
        for stock, amount in self.usage.items():
            if (not borrowing and stock.exceeds(amount)) or amount > stock.left():
                return False
        return True

    def _may_still(self, victim: Victim, borrowing: bool) -> bool:
        """Whether the victim's queue, and each cohort up to the meeting one, still uses more than its own."""
        if victim.meeting is None:
            return True
        if borrowing and victim.own_only:
            return False
        node: Node | None = victim.work.line.node
        while node is not None and node is not victim.meeting:
            if node.within_nominal(self.cells):
                return False
            node = node.parent
        return True

    # --- who may be pushed out ---------------------------------------------------------------------------------------

    def _candidates(self) -> _Candidates:
        found = _Candidates([], [], [])
        if self.rules.within_queue != NEVER:
            found.own = self._of(self.line, None, False)
        if self.line.node.parent is None or self.rules.reclaim == NEVER:
            return found
        owed, rest = _covered(self.usage)
        below: Node = self.line.node
        for cohort in self.line.node.above():
            self._collect(cohort, cohort, below, owed, found.owed if owed else found.by_rank)
            fits, rest = _covered(rest)
            owed = owed or fits
            below = cohort
        return found

    def _collect(self, cohort: Node, meeting: Node, below: Node, owed: bool, into: list[Victim]) -> None:
        """The victims under `cohort`, leaving out the branch `below` and branches that use no more than their own."""
        for child in cohort.children:
            if child is below or child.within_nominal(self.cells):
                continue
            line = self.tree.line_of.get(child)
            if line is None:
                self._collect(child, meeting, below, owed, into)
            elif line.running():
                into.extend(self._of(line, meeting, owed))

    def _of(self, line: Line, meeting: Node | None, owed: bool) -> list[Victim]:
        rule = self.rules.within_queue if meeting is None else self.rules.reclaim
        cells = self.cells
        return [
            self._victim(other, meeting, owed)
            for other in line.pushable(self.work, rule)
            if not cells.isdisjoint(other.cells)
        ]

    def _victim(self, other: Work, meeting: Node | None, owed: bool) -> Victim:
        if meeting is None:
            return Victim(other, IN_QUEUE)
        if owed:
            return Victim(other, RECLAIMED, meeting)
        if self.rules.borrow == NEVER or self._above_threshold(other):
            return Victim(other, RECLAIMED, meeting, own_only=True)
        return Victim(other, WHILE_BORROWING, meeting)

    def _above_threshold(self, other: Work) -> bool:
        threshold = self.rules.threshold
        return other.priority >= self.work.priority or (threshold is not None and other.priority > threshold)


def remembered(tree: Tree, work: Work, stock: Stock, amount: int) -> tuple[Way, int]:
    """What `could_push` says between cycles; as long as nothing changes it is worked out once."""
    memory = tree.remembered(stock.cell[0])
    key = (stock, amount, *standpoint(work))
    known = memory.get(key)
    if not isinstance(known, Pushing):
        known = memory[key] = Pushing(*could_push(tree, work, stock, amount))
    return known.way, known.borrowing


def standpoint(work: Work) -> tuple[int, int]:
    """What of a job, besides what it asks for, decides whom it may push out: its age only where a rule asks for it."""
    return work.priority, work.order if work.line.queue.preemption.within_queue == LOWER_OR_NEWER else -1


def could_push(tree: Tree, work: Work, stock: Stock, amount: int) -> tuple[Way, int]:
    """Whether pushing others out could make room in one stock, and how high the job would then borrow."""
    victims = Push(tree, work, {stock: amount}, (stock,)).victims()
    if not victims:
        return Way.NOBODY_TO_PUSH, reach(stock, amount)[0]
    for victim in victims:
        refund(victim.work.usage)
    borrowing = reach(stock, amount)[0]
    for victim in victims:
        spend(victim.work.usage)
    own = any(victim.work.line is work.line for victim in victims)
    return (Way.PUSH if own else Way.RECLAIM), borrowing


def _covered(wants: dict[Stock, int]) -> tuple[bool, dict[Stock, int]]:
    """Whether a node's quota covers `wants` beside what is used, and what of it its parent would have to give."""
    fits = not any(stock.exceeds(amount) for stock, amount in wants.items())
    return fits, {s.parent: max(0, amount - s.own_left()) for s, amount in wants.items() if s.parent is not None}


def _ordered(found: _Candidates) -> list[Victim]:
    """Those already on their way out first; others' queues before one's own, owed before merely lower."""
    groups = [sorted(group, key=_turn) for group in (found.owed, found.by_rank, found.own)]
    leaving = [victim for group in groups for victim in group if victim.work.evicted]
    return leaving + [victim for group in groups for victim in group if not victim.work.evicted]


def _turn(victim: Victim) -> tuple[int, int, int]:
    return victim.work.turn
