"""Builds the quota trees and queue states of a setup."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from berth.simulator.scheduler.model import HOLD, Cohort, SchedulerSetup
from berth.simulator.scheduler.quota import QuotaTreeNode, compute_quotas
from berth.simulator.scheduler.state import QueueState
from berth.simulator.scheduler.tree import CohortTree
from berth.simulator.topology_rooms import TopologyRooms


def build_queues(
    setup: SchedulerSetup, removed: Iterable[QueueState] = ()
) -> tuple[dict[str, QueueState], dict[str, CohortTree]]:
    """Return the state and the tree of each queue.

    `removed` are queues that the setup no longer has; those with jobs are kept, held. Raises ValueError if a cohort is
    its own ancestor.
    """
    nodes = _build_cohorts(setup)
    queue_states: dict[str, QueueState] = {}
    members_by_root: dict[QuotaTreeNode, list[QueueState]] = {}
    # Removed queues that still have jobs; without quota once no job holds any.
    kept_queues = [
        replace(line.queue, stop_policy=HOLD, quotas=line.queue.quotas if line.quota_holders else {})
        for line in removed
        if line.quota_holders or line.line.has_any()
    ]
    for queue in (*setup.queues, *kept_queues):
        parent = None if queue.cohort is None else nodes.setdefault(queue.cohort, QuotaTreeNode(queue.cohort, None, {}))
        queue_state = QueueState(
            queue, QuotaTreeNode(queue.name, parent, queue.quotas, queue.weight), is_removed=queue in kept_queues
        )
        queue_states[queue.name] = queue_state
        members_by_root.setdefault(queue_state.node.root(), []).append(queue_state)
    tree_of: dict[str, CohortTree] = {}
    rooms = TopologyRooms(setup.topology_nodes, setup.resource_flavors)
    for root, members in members_by_root.items():
        compute_quotas(root)
        tree_of |= dict.fromkeys(
            (line.queue.name for line in members), CohortTree(members, setup.fair_strategies, rooms)
        )
    return queue_states, tree_of


def _build_cohorts(setup: SchedulerSetup) -> dict[str, QuotaTreeNode]:
    known = {cohort.name: cohort for cohort in setup.cohorts}
    nodes: dict[str, QuotaTreeNode] = {}

    def node_of(name: str, seen: tuple[str, ...] = ()) -> QuotaTreeNode:
        if name in seen:
            raise ValueError(" in ".join((*seen, name)))
        if name not in nodes:
            cohort_spec = known.get(name, Cohort(name=name))
            parent = None if cohort_spec.parent is None else node_of(cohort_spec.parent, (*seen, name))
            nodes[name] = QuotaTreeNode(name, parent, cohort_spec.quotas, cohort_spec.weight)
        return nodes[name]

    for name in known:
        node_of(name)
    return nodes
