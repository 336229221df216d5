"""From a setup to trees of quotas with a line for each queue."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from berth.simulator.scheduler.model import HOLD, Cohort, Queue, Setup
from berth.simulator.scheduler.quota import Node, fill
from berth.simulator.scheduler.state import Line
from berth.simulator.scheduler.tree import Tree


def plant(setup: Setup, gone: Iterable[Line] = ()) -> tuple[dict[str, Line], dict[str, Tree]]:
    """The line and the tree of each queue. `gone`: the lines of queues that the setup lacks; those in use stay, held.

    Raises ValueError where a cohort is below itself.
    """
    nodes = _cohorts(setup)
    lines: dict[str, Line] = {}
    trees: dict[Node, list[Line]] = {}
    ghosts = _ghosts(gone)
    for queue in (*setup.queues, *ghosts):
        parent = None if queue.cohort is None else nodes.setdefault(queue.cohort, Node(queue.cohort, None, {}))
        line = Line(queue, Node(queue.name, parent, queue.quotas), gone=queue in ghosts)
        lines[queue.name] = line
        trees.setdefault(line.node.root(), []).append(line)
    tree_of: dict[str, Tree] = {}
    for root, members in trees.items():
        fill(root)
        tree_of |= dict.fromkeys((line.queue.name for line in members), Tree(members))
    return lines, tree_of


def _cohorts(setup: Setup) -> dict[str, Node]:
    known = {cohort.name: cohort for cohort in setup.cohorts}
    nodes: dict[str, Node] = {}

    def node_of(name: str, seen: tuple[str, ...] = ()) -> Node:
        if name in seen:
            raise ValueError(" in ".join((*seen, name)))
        if name not in nodes:
            cohort = known.get(name, Cohort(name=name))
            parent = None if cohort.parent is None else node_of(cohort.parent, (*seen, name))
            nodes[name] = Node(name, parent, cohort.quotas)
        return nodes[name]

    for name in known:
        node_of(name)
    return nodes


def _ghosts(gone: Iterable[Line]) -> list[Queue]:
    """Queues that were removed while jobs of theirs are left: without quota once nobody holds any."""
    return [
        replace(line.queue, stop=HOLD, quotas=line.queue.quotas if line.holders else {})
        for line in gone
        if line.holders or line.ready or line.aside
    ]
