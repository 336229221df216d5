"""The tree of quotas: a root cohort, the cohorts below it, and cluster queues as leaves.

A node keeps part of its quota to itself (what its lending limit withholds) and lends the rest to its parent. Usage is
counted where it is met: first against what the node keeps, the remainder against the parent, and so on upwards.
The tree of one cell (a flavor and a resource) does not know of the others: `Stock` is one cell at one node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from berth.simulator.scheduler.model import Cell, Quota

_NO_QUOTA = Quota(nominal=0)


class Stock:
    """One cell at one node. `subtree` is the quota of the node and all that those below it lend, `kept` what of it the
    node does not lend, `most` what it could use at the very most, `limit` its borrowing limit (None: none).
    """

    __slots__ = ("cell", "down", "kept", "limit", "most", "node", "nominal", "parent", "root", "subtree", "usage")

    def __init__(self, node: Node, cell: Cell, parent: Stock | None, quota: Quota) -> None:
        self.node = node
        self.cell = cell
        self.parent = parent
        self.nominal = quota.nominal
        self.limit = quota.borrowing_limit if parent is not None else None
        self.subtree = quota.nominal
        self.kept = 0
        self.most = 0
        self.usage = 0
        # The way from the root's child down to here, along which room is found.
        self.down: tuple[Stock, ...] = () if parent is None else (*parent.down, self)
        self.root: Stock = self if parent is None else parent.root

    def exceeds(self, amount: int) -> bool:
        """Whether `amount` more would be beyond the subtree's quota, that is borrowed."""
        return self.subtree < self.usage + amount

    def own_left(self) -> int:
        """What is left of what the node keeps to itself."""
        return self.kept - self.usage if self.kept > self.usage else 0

    def left(self) -> int:
        """What the node may use beside what is used; never less than nothing."""
        room = available(self)
        return room if room > 0 else 0


class Node:
    """A cohort or a cluster queue in the tree; `height` is 0 for a queue, else one more than the highest child's."""

    __slots__ = ("children", "height", "name", "parent", "quotas", "stocks")

    def __init__(self, name: str, parent: Node | None, quotas: Mapping[Cell, Quota]) -> None:
        self.name = name
        self.parent = parent
        self.quotas = quotas
        self.stocks: dict[Cell, Stock] = {}
        self.children: list[Node] = []
        self.height = 0
        if parent is not None:
            parent.children.append(self)

    def above(self) -> Iterator[Node]:
        """The cohorts above, nearest first."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def root(self) -> Node:
        """The top of the tree."""
        return [self, *self.above()][-1]

    def stock(self, cell: Cell) -> Stock:
        """The stock of a cell; one that nobody has quota of is made, empty."""
        found = self.stocks.get(cell)
        if found is None:
            parent = None if self.parent is None else self.parent.stock(cell)
            found = self.stocks[cell] = Stock(self, cell, parent, self.quotas.get(cell, _NO_QUOTA))
        return found

    def within_nominal(self, cells: Iterable[Cell]) -> bool:
        """Whether the node uses no more than its subtree's quota of each of `cells`."""
        for cell in cells:
            stock = self.stocks.get(cell)
            if stock is not None and stock.subtree < stock.usage:
                return False
        return True


def fill(root: Node) -> None:
    """Make the stocks of a tree, and work out what each lends and keeps and the most it can use."""
    for node in _below(root):
        for cell in node.quotas:
            node.stock(cell)
    _gather(root)
    for node in _below(root):
        for stock in node.stocks.values():
            stock.most = _most(stock)


def _below(node: Node) -> Iterator[Node]:
    """The node and all below it, parents first."""
    yield node
    for child in node.children:
        yield from _below(child)


def _gather(node: Node) -> None:
    for child in node.children:
        _gather(child)
        node.height = max(node.height, child.height + 1)
        for cell, stock in child.stocks.items():
            node.stock(cell).subtree += stock.subtree - stock.kept
    for cell, quota in node.quotas.items():
        if quota.lending_limit is not None:
            stock = node.stocks[cell]
            stock.kept = max(0, stock.subtree - quota.lending_limit)


def _most(stock: Stock) -> int:
    """What the node could use if nothing else were used; its parent's is known already."""
    if stock.parent is None:
        return stock.subtree
    most = stock.kept + stock.parent.most
    return most if stock.limit is None else min(most, stock.subtree + stock.limit)


def available(stock: Stock) -> int:
    """What could be added to the node's usage now; negative where limits were lowered under what is used."""
    root = stock.root
    room = root.subtree - root.usage
    for step in stock.down:
        kept, usage = step.kept, step.usage
        if step.limit is not None:
            lent = step.subtree - kept + step.limit
            if usage > kept:
                lent -= usage - kept
            if lent < room:
                room = lent
        if kept > usage:
            room += kept - usage
    return room


def add(stock: Stock | None, amount: int) -> None:
    """Use `amount` more; what a node does not keep to itself counts at its parent too."""
    while stock is not None:
        left = stock.own_left()
        stock.usage += amount
        if amount <= left:
            return
        amount -= left
        stock = stock.parent


def remove(stock: Stock | None, amount: int) -> None:
    """Give `amount` back."""
    while stock is not None:
        shared = stock.usage - stock.kept
        stock.usage -= amount
        if shared <= 0:
            return
        amount = min(amount, shared)
        stock = stock.parent


def reach(stock: Stock, amount: int) -> tuple[int, bool]:
    """How high one has to go for `amount` more: the height of the lowest subtree whose quota covers it.

    0 is the queue itself. The flag says whether something lies above that subtree, from which the queue may thus have
    the right to take back what others borrowed.
    """
    above = stock.parent
    if above is None or not stock.exceeds(amount):
        return 0, above is not None
    amount -= stock.own_left()
    while above.exceeds(amount) and above.parent is not None:
        amount -= above.own_left()
        above = above.parent
    return above.node.height, above.parent is not None and not above.exceeds(amount)


def spend(usage: Mapping[Stock, int]) -> None:
    """Count a usage."""
    for stock, amount in usage.items():
        add(stock, amount)


def refund(usage: Mapping[Stock, int]) -> None:
    """Take a usage off."""
    for stock, amount in usage.items():
        remove(stock, amount)
