"""The tree of quotas: what is kept, what is lent, what is left."""

from __future__ import annotations

from berth.simulator.scheduler.model import Quota
from berth.simulator.scheduler.quota import Node, Stock, add, available, fill, reach, remove

CELL = ("f", "gpu")


def tree(root: int, *queues: Quota) -> list[Stock]:
    """A root cohort with quota of its own, and the queues under it; the root comes first."""
    top = Node("root", None, {CELL: Quota(nominal=root)})
    children = [Node(f"q{index}", top, {CELL: of}) for index, of in enumerate(queues)]
    fill(top)
    return [node.stock(CELL) for node in (top, *children)]


def test_without_limits_a_queue_may_use_what_the_whole_cohort_has() -> None:
    _, one, other = tree(2, Quota(nominal=4), Quota(nominal=8))
    assert (one.most, other.most, available(one)) == (14, 14, 14)


def test_what_is_not_lent_is_for_its_queue_alone() -> None:
    _, one, other = tree(0, Quota(nominal=4), Quota(nominal=8, lending_limit=3))
    assert (one.most, other.most) == (7, 12)
    add(other, 6)
    assert (one.parent.usage if one.parent else None, available(one)) == (1, 6)


def test_a_borrowing_limit_counts_from_the_nominal_quota() -> None:
    _, one, _ = tree(0, Quota(nominal=4, borrowing_limit=2), Quota(nominal=8))
    assert one.most == 6
    add(one, 5)
    assert available(one) == 1


def test_what_one_borrows_another_lacks() -> None:
    _, one, other = tree(0, Quota(nominal=4), Quota(nominal=4))
    add(one, 7)
    assert (available(one), available(other)) == (1, 1)
    remove(one, 7)
    assert (available(one), available(other)) == (8, 8)


def test_limits_hold_between_cohorts_too() -> None:
    top = Node("all", None, {})
    left = Node("left", top, {CELL: Quota(nominal=1, borrowing_limit=1, lending_limit=2)})
    right = Node("right", top, {})
    one, other = Node("one", left, {CELL: Quota(nominal=4)}), Node("other", right, {CELL: Quota(nominal=6)})
    fill(top)
    assert one.stock(CELL).most == 1 + 4 + 1
    assert other.stock(CELL).most == 6 + 2


def test_the_height_of_what_is_reached_for_is_that_of_the_lowest_cohort_that_covers_it() -> None:
    top = Node("all", None, {})
    left, right = Node("left", top, {}), Node("right", top, {})
    queues = [Node(name, parent, {CELL: Quota(nominal=2)}) for name, parent in (("a", left), ("b", left), ("c", right))]
    fill(top)
    stock = queues[0].stock(CELL)
    assert [reach(stock, amount) for amount in (2, 3, 5, 7)] == [(0, True), (1, True), (2, False), (2, False)]


def test_room_is_negative_where_limits_were_lowered_under_what_is_used() -> None:
    """Kueue pushes nobody out for it, and admits nobody until it is made good."""
    root, one = tree(0, Quota(nominal=4))
    add(one, 6)
    assert (available(one), one.left(), available(root)) == (-2, 0, -2)
