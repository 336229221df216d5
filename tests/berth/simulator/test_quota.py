"""The tree of quotas: what is kept, what is lent, what is left."""

from __future__ import annotations

from berth.plan.kueue import QuotaLimits
from berth.simulator.scheduler.quota import (
    QuotaState,
    QuotaTreeNode,
    add_amount,
    compute_quotas,
    find_borrowing_level,
    remove_amount,
    signed_available,
)

CELL = ("f", "gpu")


def tree(root: int, *queues: QuotaLimits) -> list[QuotaState]:
    """Return a root cohort with quota of its own, and the queues under it; the root comes first."""
    top = QuotaTreeNode("root", None, {CELL: QuotaLimits(nominal=root)})
    children = [QuotaTreeNode(f"q{index}", top, {CELL: of}) for index, of in enumerate(queues)]
    compute_quotas(top)
    return [node.quota_state(CELL) for node in (top, *children)]


def test_without_limits_a_queue_may_use_what_the_whole_cohort_has() -> None:
    _, one, other = tree(2, QuotaLimits(nominal=4), QuotaLimits(nominal=8))
    assert (one.ceiling, other.ceiling, signed_available(one)) == (14, 14, 14)


def test_quota_above_the_lending_limit_is_only_for_its_queue() -> None:
    _, one, other = tree(0, QuotaLimits(nominal=4), QuotaLimits(nominal=8, lending_limit=3))
    assert (one.ceiling, other.ceiling) == (7, 12)
    add_amount(other, 6)
    assert (one.parent.usage if one.parent else None, signed_available(one)) == (1, 6)


def test_a_borrowing_limit_counts_from_the_nominal_quota() -> None:
    _, one, _ = tree(0, QuotaLimits(nominal=4, borrowing_limit=2), QuotaLimits(nominal=8))
    assert one.ceiling == 6
    add_amount(one, 5)
    assert signed_available(one) == 1


def test_borrowed_quota_is_missing_elsewhere() -> None:
    _, one, other = tree(0, QuotaLimits(nominal=4), QuotaLimits(nominal=4))
    add_amount(one, 7)
    assert (signed_available(one), signed_available(other)) == (1, 1)
    remove_amount(one, 7)
    assert (signed_available(one), signed_available(other)) == (8, 8)


def test_limits_hold_between_cohorts_too() -> None:
    top = QuotaTreeNode("all", None, {})
    left = QuotaTreeNode("left", top, {CELL: QuotaLimits(nominal=1, borrowing_limit=1, lending_limit=2)})
    right = QuotaTreeNode("right", top, {})
    one, other = (
        QuotaTreeNode("one", left, {CELL: QuotaLimits(nominal=4)}),
        QuotaTreeNode("other", right, {CELL: QuotaLimits(nominal=6)}),
    )
    compute_quotas(top)
    assert one.quota_state(CELL).ceiling == 1 + 4 + 1
    assert other.quota_state(CELL).ceiling == 6 + 2


def test_the_borrowing_height_is_that_of_the_lowest_covering_cohort() -> None:
    top = QuotaTreeNode("all", None, {})
    left, right = QuotaTreeNode("left", top, {}), QuotaTreeNode("right", top, {})
    queues = [
        QuotaTreeNode(name, parent, {CELL: QuotaLimits(nominal=2)})
        for name, parent in (("a", left), ("b", left), ("c", right))
    ]
    compute_quotas(top)
    stock = queues[0].quota_state(CELL)
    assert [find_borrowing_level(stock, amount) for amount in (2, 3, 5, 7)] == [
        (0, True),
        (1, True),
        (2, False),
        (2, False),
    ]


def test_available_quota_is_negative_if_limits_fall_below_usage() -> None:
    """Kueue preempts no job for it, and admits none until usage is within the limits."""
    root, one = tree(0, QuotaLimits(nominal=4))
    add_amount(one, 6)
    assert (signed_available(one), one.available(), signed_available(root)) == (-2, 0, -2)
