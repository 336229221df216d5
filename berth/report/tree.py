"""The quota tree as boxes: cohorts below cohorts, cluster queues as leaves, with what each can use at the most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from berth.plan.fleet import FleetPlan
from berth.plan.kueue import ClusterQueuePlan, CohortPlan, FlavorPlan
from berth.planner.queueing.quota_tree import Node, QuotaTree

COHORT, QUEUE, WORKLOAD = "cohort", "queue", "workload"


class Share(Struct, frozen=True):
    """Of one flavor, in accelerators called `noun`: what is guaranteed here and below, and the most in reach.

    That is never more than the machines there are.
    """

    flavor: str
    guaranteed: int
    ceiling: int
    noun: str

    @property
    def text(self) -> str:
        """`v5e: 8 guaranteed, at most 24 v5e chips`."""
        return f"{self.flavor}: {self.guaranteed} guaranteed, at most {self.ceiling} {self.noun}"


class Box(Struct, frozen=True):
    """A cohort, a queue or a workload. `parent` is the place of its parent's box in the list, which comes before it."""

    kind: str
    name: str
    shares: tuple[Share, ...]
    parent: int | None
    depth: int
    notes: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """What stands in the box: its name, then a line for each flavor, then `notes`."""
        return (self.name, *(share.text for share in self.shares), *self.notes)


def boxes(plan: FleetPlan) -> tuple[Box, ...]:
    """Every cohort right before all that is below it, each with its cohorts first; last the queues without a cohort.

    A cohort whose parent is not there, which only a faulty plan has, is left out with all below it.
    """
    tree = QuotaTree.of(plan)
    flavors = {f.name: f for f in plan.flavors}
    below: dict[str | None, list[CohortPlan | ClusterQueuePlan]] = {}
    for cohort in plan.cohorts:
        below.setdefault(cohort.parent, []).append(cohort)
    for queue in plan.cluster_queues:
        below.setdefault(queue.cohort, []).append(queue)
    found: list[Box] = []
    waiting = _pushed(below.get(None, []), None)
    while waiting:
        each, parent = waiting.pop()
        depth = 0 if parent is None else found[parent].depth + 1
        if isinstance(each, CohortPlan):
            waiting += _pushed(below.get(each.name, []), len(found))
            found.append(Box(COHORT, each.name, _shares(tree.cohort(each.name), flavors), parent, depth))
        else:
            found.append(Box(QUEUE, each.name, _shares(tree.queue(each.name), flavors), parent, depth))
    return tuple(found)


def _pushed(
    children: Sequence[CohortPlan | ClusterQueuePlan], parent: int | None
) -> list[tuple[CohortPlan | ClusterQueuePlan, int | None]]:
    return [(child, parent) for child in reversed(children)]


def _shares(nodes: Mapping[str, Node], flavors: Mapping[str, FlavorPlan]) -> tuple[Share, ...]:
    return tuple(
        Share(name, node.promised, min(node.ceiling, flavors[name].capacity.max), flavors[name].noun)
        for name, node in sorted(nodes.items())
    )
