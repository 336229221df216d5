"""The ground a workload stands on: its team, its queue, and the one shape of machines that its pods are cut for."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from berth.diagnostics import Problems, did_you_mean, join_quoted
from berth.plan.fleet import FleetPlan
from berth.plan.kueue import ClusterQueuePlan, FlavorQuotasPlan, LocalQueuePlan
from berth.plan.teams import TeamPlan
from berth.workloads.node_shapes import NodeShape, list_node_shapes

DEFAULT_QUEUE = "default"
"""The local queue that takes jobs which name none."""


class WorkloadTarget(Struct, frozen=True):
    """`shapes` are alike: their pods may run on any of them. `others` are shapes of the queue that are not."""

    plan: FleetPlan
    team: TeamPlan
    local_queue: LocalQueuePlan
    queue: ClusterQueuePlan
    shapes: tuple[NodeShape, ...]
    other_shapes: tuple[NodeShape, ...]

    @property
    def shape(self) -> NodeShape:
        """The smallest of the shapes: what fits there fits on all of them."""
        return min(self.shapes, key=lambda each: each.per_node)

    @property
    def name(self) -> str:
        """`vision/train`."""
        return f"{self.team.name}/{self.local_queue.name}"

    @property
    def flavors(self) -> list[str]:
        """The flavors that the workload may get, in the queue's order."""
        return list(dict.fromkeys(each.flavor.name for each in self.shapes))

    def flavor_quotas(self) -> list[FlavorQuotasPlan]:
        """Their quotas."""
        return [entry for entry in self.queue.flavors if entry.flavor in self.flavors]


def find_target(
    plan: FleetPlan, team: str, queue: str, flavor: str | None, problems: Problems
) -> WorkloadTarget | None:
    """Where `team/queue` stands (a local queue's name, or its cluster queue's); None after a fault."""
    teams = {each.name: each for each in plan.teams}
    if team not in teams:
        _report_unknown(problems, "TEAM", f"no team '{team}'", team, teams)
        return None
    local_queues = {name: door for door in _order_local_queues(teams[team]) for name in (door.cluster_queue, door.name)}
    if queue not in local_queues:
        _report_unknown(problems, "QUEUE", f"team '{team}' has no queue '{queue}'", queue, local_queues)
        return None
    cluster_queue = next(each for each in plan.cluster_queues if each.name == local_queues[queue].cluster_queue)
    all_shapes = list_node_shapes(plan, [entry.flavor for entry in cluster_queue.flavors])
    selected = _select_shapes(all_shapes, flavor, problems)
    if not selected:
        return None
    other_shapes = tuple(each for each in all_shapes if each not in selected)
    return WorkloadTarget(plan, teams[team], local_queues[queue], cluster_queue, tuple(selected), other_shapes)


def _order_local_queues(team: TeamPlan) -> list[LocalQueuePlan]:
    """Return a team's doors, the one to take last where several lead to one queue: in its first namespace, under its name."""
    return sorted(team.local_queues, key=lambda each: (each.namespace == team.namespace, each.name != DEFAULT_QUEUE))


def _select_shapes(all_shapes: list[NodeShape], flavor: str | None, problems: Problems) -> list[NodeShape]:
    """Those of the flavor that is named, or of the first; and all that are like it."""
    names = list(dict.fromkeys(each.flavor.name for each in all_shapes))
    if flavor is not None and flavor not in names:
        _report_unknown(problems, "--flavor", f"the queue has no flavor '{flavor}'", flavor, names)
        return []
    if not all_shapes:
        problems.fault("no-nodes", ("QUEUE",), "none of its pools ever has a node; give one of them nodes")
        return []
    first = next(each for each in all_shapes if flavor in (None, each.flavor.name))
    return [
        each
        for each in all_shapes
        if _compatibility_key(each) == _compatibility_key(first) and flavor in (None, each.flavor.name)
    ]


def _compatibility_key(shape: NodeShape) -> tuple[object, ...]:
    """What makes pods that are cut for one shape fit another."""
    return (shape.flavor.resource, shape.pool.accelerator, shape.pool.topology, shape.hosts)


def _report_unknown(problems: Problems, argument: str, message: str, word: str, known: Iterable[str]) -> None:
    names = sorted(known)
    suggestion = did_you_mean(word, names) or (f"; there is {join_quoted(names)}" if names else "; there are none")
    problems.fault("unknown-name", (argument,), message + suggestion)
