"""Builds the quota trees and queue states of a setup."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from berth.simulator.local_usage import SimulatedClock, UsageLedger
from berth.simulator.scheduler.model import HOLD, ClusterQueue, Cohort, SchedulerSetup
from berth.simulator.scheduler.quota import QuotaTreeNode, compute_quotas
from berth.simulator.scheduler.state import QueueState
from berth.simulator.scheduler.tree import CohortTree
from berth.simulator.topology_rooms import TopologyRooms


def build_queues(
    setup: SchedulerSetup, moment: SimulatedClock, known: Mapping[str, QueueState] | None = None
) -> tuple[dict[str, QueueState], dict[str, CohortTree]]:
    """Return the state and the tree of each queue.

    `known` are the queues before. Those with jobs that the setup no longer has are kept, held; the usage of local
    queues goes on under the same rules. Raises ValueError if a cohort is its own ancestor.
    """
    known = known or {}
    names = {queue.name for queue in setup.queues}
    removed = [line for name, line in known.items() if name not in names]
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
            queue,
            QuotaTreeNode(queue.name, parent, queue.quotas, queue.weight),
            is_removed=queue in kept_queues,
            ledger=_ledger(setup, queue, moment, known.get(queue.name)),
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


def _ledger(
    setup: SchedulerSetup, queue: ClusterQueue, moment: SimulatedClock, before: QueueState | None
) -> UsageLedger | None:
    """Return the usage of a queue's local queues; None if they do not take turns by it."""
    rules = setup.admission_fair_sharing
    if rules is None or queue.local_weights is None:
        return None
    ledger = UsageLedger(rules, queue.local_weights, moment)
    if before is not None and before.ledger is not None and before.ledger.rules == rules:
        ledger.continue_from(before.ledger)
    return ledger


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
