"""The quota tree as boxes: cohorts, and cluster queues as leaves, with the most that each can use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from berth.plan.fleet import FleetPlan
from berth.plan.kueue import ClusterQueuePlan, CohortPlan, FlavorPlan
from berth.planner.queueing.quota_tree import QuotaNode, QuotaTree
from berth.text import pluralize

COHORT, QUEUE, WORKLOAD = "cohort", "queue", "workload"


class BoxQuota(Struct, frozen=True):
    """Quota of one flavor, in accelerators called `noun`: the guarantee of the subtree, and its ceiling.

    That is never more than the machines there are.
    """

    flavor: str
    guaranteed: int
    ceiling: int
    noun: str

    @property
    def text(self) -> str:
        """Return `v5e: 8 guaranteed, at most 24 v5e chips`."""
        return f"{self.flavor}: {self.guaranteed} guaranteed, at most {self.ceiling} {self.noun}"


class TreeBox(Struct, frozen=True):
    """A cohort, a queue or a workload. `parent` is the index of its parent's box, which comes before it."""

    kind: str
    name: str
    quotas: tuple[BoxQuota, ...]
    parent: int | None
    depth: int
    notes: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """Return the text of the box: its name, then a line for each flavor, then `notes`."""
        return (self.name, *(share.text for share in self.quotas), *self.notes)


class TreeNode(Struct, frozen=True):
    """A box with the boxes below it."""

    box: TreeBox
    children: tuple[TreeNode, ...]

    @property
    def summary(self) -> str:
        """Return what is directly below it: `2 cohorts, 3 queues`; empty for a leaf."""
        kinds = Counter(child.box.kind for child in self.children)
        return ", ".join(pluralize(number, kind) for kind, number in kinds.items())


def nest_boxes(boxes: Sequence[TreeBox]) -> tuple[TreeNode, ...]:
    """Return the roots of boxes, each with all below it, in order; every box comes after its parent."""
    below: dict[int | None, list[TreeNode]] = {}
    for index in reversed(range(len(boxes))):
        children = tuple(reversed(below.pop(index, [])))
        below.setdefault(boxes[index].parent, []).append(TreeNode(boxes[index], children))
    return tuple(reversed(below.get(None, [])))


def quota_tree_boxes(plan: FleetPlan) -> tuple[TreeBox, ...]:
    """Return every cohort before its children, cohorts first; then the queues without a cohort.

    A cohort whose parent is not there, which only a faulty plan has, is left out with all below it.
    """
    tree = QuotaTree.from_plan(plan)
    flavors = {f.name: f for f in plan.flavors}
    children: dict[str | None, list[CohortPlan | ClusterQueuePlan]] = {}
    for cohort in plan.cohorts:
        children.setdefault(cohort.parent, []).append(cohort)
    for queue in plan.cluster_queues:
        children.setdefault(queue.cohort, []).append(queue)
    result: list[TreeBox] = []
    pending = _reversed_children(children.get(None, []), None)
    while pending:
        item, parent = pending.pop()
        depth = 0 if parent is None else result[parent].depth + 1
        if isinstance(item, CohortPlan):
            pending += _reversed_children(children.get(item.name, []), len(result))
            result.append(TreeBox(COHORT, item.name, _box_quotas(tree.cohort_nodes(item.name), flavors), parent, depth))
        else:
            result.append(TreeBox(QUEUE, item.name, _box_quotas(tree.queue_nodes(item.name), flavors), parent, depth))
    return tuple(result)


def _reversed_children(
    children: Sequence[CohortPlan | ClusterQueuePlan], parent: int | None
) -> list[tuple[CohortPlan | ClusterQueuePlan, int | None]]:
    return [(child, parent) for child in reversed(children)]


def _box_quotas(nodes: Mapping[str, QuotaNode], flavors: Mapping[str, FlavorPlan]) -> tuple[BoxQuota, ...]:
    return tuple(
        BoxQuota(name, node.guaranteed, min(node.ceiling, flavors[name].capacity.max), flavors[name].noun)
        for name, node in sorted(nodes.items())
    )
