"""Who can preempt whom, queue by queue: a square for each tree of cohorts."""

from __future__ import annotations

from msgspec import Struct

from berth.diagnostics import in_words
from berth.plan.fleet import FleetPlan
from berth.planner.queueing.preemption import pairs
from berth.planner.queueing.quota_tree import QuotaTree

MOST = 40
"""Queues of one matrix: more make a square that nobody reads, and the sentences below it say the same."""

LETTERS = {"withinClusterQueue": "P", "reclaimWithinCohort": "R", "borrowWithinCohort": "B"}
MEANING = {
    "P": "by priority, inside its own queue (withinClusterQueue)",
    "R": "to take back what it lent (reclaimWithinCohort)",
    "B": "by priority, to borrow more (borrowWithinCohort)",
}


class Cell(Struct, frozen=True):
    """The rules by which one queue can push out another: letters, and words with the flavors; both empty for none."""

    letters: str = ""
    words: str = ""


class Matrix(Struct, frozen=True):
    """A tree of cohorts: a row for each queue that pushes out, a column for each that is pushed out.

    `rows` are None where the tree has more than `MOST` queues.
    """

    cohort: str
    queues: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...] | None


def matrices(plan: FleetPlan) -> tuple[Matrix, ...]:
    """One for each tree, by the name of its root. Queues outside a cohort push out nobody else, and have none."""
    tree = QuotaTree.of(plan)
    trees: dict[str, list[str]] = {}
    for queue in plan.cluster_queues:
        if (root := tree.root(queue.cohort)) is not None:
            trees.setdefault(root, []).append(queue.name)
    return tuple(_matrix(plan, root, tuple(trees[root])) for root in sorted(trees))


def _matrix(plan: FleetPlan, root: str, queues: tuple[str, ...]) -> Matrix:
    if len(queues) > MOST:
        return Matrix(root, queues, None)
    rules: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {}
    for pair in pairs(plan, frozenset(queues)):
        rules.setdefault((pair.queue, pair.other), {})[LETTERS[pair.rule]] = pair.flavors
    rows = tuple((one, tuple(_cell(rules.get((one, other), {})) for other in queues)) for one in queues)
    return Matrix(root, queues, rows)


def _cell(rules: dict[str, tuple[str, ...]]) -> Cell:
    words = [f"{MEANING[letter]}{f', on {in_words(list(on))}' if on else ''}" for letter, on in rules.items()]
    return Cell(" ".join(rules), "; ".join(words))
