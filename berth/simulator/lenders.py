"""What a job takes: how much of it is its queue's own, and whose idle quota the rest is."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from berth.simulator.scheduler.model import Cell
from berth.simulator.scheduler.quota import Node, Stock


class Take(Struct, frozen=True):
    """An amount of one cell: `own` of it within the queue's nominal quota, the rest borrowed from `lenders`.

    Lenders are queues, or cohorts with quota of their own, that have quota idle; the nearest first, as many as suffice.
    """

    cell: Cell
    amount: int
    own: int
    lenders: tuple[str, ...] = ()

    @property
    def borrowed(self) -> int:
        """What goes beyond the queue's nominal quota."""
        return self.amount - self.own


def takes(usage: dict[Stock, int]) -> tuple[Take, ...]:
    """What a job is about to take, before it is counted."""
    return tuple(_take(stock, amount) for stock, amount in usage.items() if amount)


def _take(stock: Stock, amount: int) -> Take:
    own = max(0, min(amount, stock.nominal - stock.usage))
    return Take(stock.cell, amount, own, tuple(_lenders(stock, amount - own)) if own < amount else ())


def _lenders(stock: Stock, needed: int) -> Iterator[str]:
    below = stock.node
    for cohort in below.above():
        for lender, idle in _idle(cohort, below, stock.cell):
            if needed <= 0:
                return
            needed -= idle
            yield lender
        below = cohort


def _idle(cohort: Node, below: Node, cell: Cell) -> Iterator[tuple[str, int]]:
    """Whose quota is idle under a cohort, outside the branch `below`, and how much of it may be lent."""
    for child in cohort.children:
        stock = child.stocks.get(cell)
        if child is below or stock is None:
            continue
        if child.children:
            yield from _idle(child, below, cell)
        elif (idle := min(stock.subtree - stock.kept, stock.subtree - stock.usage)) > 0:
            yield child.name, idle
    if (own := cohort.stock(cell).nominal) > 0:
        yield cohort.name, own
