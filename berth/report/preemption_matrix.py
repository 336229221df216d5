"""The preemption matrix: which queue can preempt which, one matrix for each tree of cohorts."""

from __future__ import annotations

from msgspec import Struct

from berth.diagnostics import join_words
from berth.plan.fleet import FleetPlan
from berth.planner.queueing.preemption import preemption_pairs
from berth.planner.queueing.quota_tree import QuotaTree

MAX_QUEUES = 40
"""Maximum of queues in a matrix; a larger one is unreadable, and the sentences below it have the same content."""

RULE_LETTERS = {"withinClusterQueue": "P", "reclaimWithinCohort": "R", "borrowWithinCohort": "B"}
RULE_MEANINGS = {
    "P": "by priority, within the same queue (withinClusterQueue)",
    "R": "to reclaim lent quota (reclaimWithinCohort)",
    "B": "by priority, to borrow quota (borrowWithinCohort)",
}


class PreemptionCell(Struct, frozen=True):
    """The rules by which one queue can preempt another: letters, and text with the flavors; both empty for none."""

    letters: str = ""
    words: str = ""


class PreemptionMatrix(Struct, frozen=True):
    """A tree of cohorts: a row for each queue that preempts, a column for each that is preempted.

    `rows` is None if the tree has more than `MAX_QUEUES` queues.
    """

    cohort: str
    queues: tuple[str, ...]
    rows: tuple[tuple[str, tuple[PreemptionCell, ...]], ...] | None


def preemption_matrices(plan: FleetPlan) -> tuple[PreemptionMatrix, ...]:
    """Return one for each tree, by the name of its root. Queues outside a cohort preempt no other queue."""
    tree = QuotaTree.from_plan(plan)
    trees: dict[str, list[str]] = {}
    for queue in plan.cluster_queues:
        if (root := tree.root_cohort(queue.cohort)) is not None:
            trees.setdefault(root, []).append(queue.name)
    return tuple(_matrix(plan, tree, root, tuple(trees[root])) for root in sorted(trees))


def _matrix(plan: FleetPlan, tree: QuotaTree, root: str, queues: tuple[str, ...]) -> PreemptionMatrix:
    if len(queues) > MAX_QUEUES:
        return PreemptionMatrix(root, queues, None)
    rules: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {}
    for pair in preemption_pairs(plan, tree, frozenset(queues)):
        rules.setdefault((pair.queue, pair.target_queue), {})[RULE_LETTERS[pair.rule]] = pair.flavors
    rows = tuple(
        (queue, tuple(_cell(rules.get((queue, other_queue), {})) for other_queue in queues)) for queue in queues
    )
    return PreemptionMatrix(root, queues, rows)


def _cell(rules: dict[str, tuple[str, ...]]) -> PreemptionCell:
    words = [f"{RULE_MEANINGS[letter]}{f', on {join_words(list(on))}' if on else ''}" for letter, on in rules.items()]
    return PreemptionCell(" ".join(rules), "; ".join(words))
