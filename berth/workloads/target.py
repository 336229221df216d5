"""The target of a workload: its team, its queue, and the shape of machines that its pods are sized for."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from berth.diagnostics import Problems, did_you_mean, join_quoted, join_words
from berth.plan.fleet import FleetPlan
from berth.plan.kueue import ClusterQueuePlan, FlavorQuotasPlan, LocalQueuePlan
from berth.plan.teams import TeamPlan
from berth.workloads.node_shapes import NodeShape, list_node_shapes

DEFAULT_QUEUE = "default"
"""The local queue of jobs that name none."""


class WorkloadTarget(Struct, frozen=True):
    """The team, queue and machines of a workload. Pods can run on any of `shapes`, but not on the queue's `others`."""

    plan: FleetPlan
    team: TeamPlan
    local_queue: LocalQueuePlan
    queue: ClusterQueuePlan
    shapes: tuple[NodeShape, ...]
    other_shapes: tuple[NodeShape, ...]

    @property
    def shape(self) -> NodeShape:
        """The smallest of the shapes; pods that fit on it fit on all."""
        return min(self.shapes, key=lambda each: each.per_node)

    @property
    def name(self) -> str:
        """`vision/train`."""
        return f"{self.team.name}/{self.local_queue.name}"

    @property
    def flavors(self) -> list[str]:
        """The flavors that the workload can get, in the queue's order."""
        return list(dict.fromkeys(each.flavor.name for each in self.shapes))

    def flavor_quotas(self) -> list[FlavorQuotasPlan]:
        """The quotas of these flavors."""
        return [entry for entry in self.queue.flavors if entry.flavor in self.flavors]


def find_target(
    plan: FleetPlan, team: str, queue: str, flavor: str | None, problems: Problems, *, topology: str | None = None
) -> WorkloadTarget | None:
    """Look up the target of `team/queue` by the local queue's or cluster queue's name; None after a fault."""
    teams = {each.name: each for each in plan.teams}
    if team not in teams:
        _report_unknown(problems, "TEAM", f"no team '{team}'", team, teams)
        return None
    # Of several local queues for one cluster queue, the one in the team's first namespace is last, and is taken.
    own = teams[team]
    ordered = sorted(own.local_queues, key=lambda each: (each.namespace == own.namespace, each.name != DEFAULT_QUEUE))
    local_queues = {name: door for door in ordered for name in (door.cluster_queue, door.name)}
    if queue not in local_queues:
        _report_unknown(problems, "QUEUE", f"team '{team}' has no queue '{queue}'", queue, local_queues)
        return None
    cluster_queue = next(each for each in plan.cluster_queues if each.name == local_queues[queue].cluster_queue)
    all_shapes = list_node_shapes(plan, [entry.flavor for entry in cluster_queue.flavors])
    offered = all_shapes if topology is None else _of_topology(all_shapes, topology, problems)
    selected = _select_shapes(offered, flavor, problems) if offered or topology is None else []
    if not selected:
        return None
    other_shapes = tuple(each for each in all_shapes if each not in selected)
    return WorkloadTarget(plan, own, local_queues[queue], cluster_queue, tuple(selected), other_shapes)


def _of_topology(shapes: list[NodeShape], topology: str, problems: Problems) -> list[NodeShape]:
    """List the shapes whose slices have, or can have, a topology; none after the fault that there are none."""
    found = [
        each
        for each in shapes
        if (each.pool.topology == topology if each.flavor.slicing is None else each.flavor.slicing.formed(topology))
    ]
    slicing = next((each.flavor.slicing for each in shapes if each.flavor.slicing is not None), None)
    known = list(dict.fromkeys(each.pool.topology for each in shapes if each.pool.topology))
    if not found and slicing is not None:
        problems.fault("wrong-shape", ("--topology",), slicing.refusal(topology))
    elif not found and known:
        message = f"'{topology}': the slices of this queue have the topology {join_words(known)}; write one of them"
        problems.fault("wrong-shape", ("--topology",), message)
    elif not found and shapes:
        problems.fault("wrong-shape", ("--topology",), f"'{topology}': this queue has no TPU slices; remove --topology")
    return found or ([] if shapes else shapes)


def _select_shapes(all_shapes: list[NodeShape], flavor: str | None, problems: Problems) -> list[NodeShape]:
    """List the shapes of the given flavor, or of the first flavor, and all compatible shapes."""
    names = list(dict.fromkeys(each.flavor.name for each in all_shapes))
    if flavor is not None and flavor not in names:
        _report_unknown(problems, "--flavor", f"the queue has no flavor '{flavor}'", flavor, names)
        return []
    if not all_shapes:
        problems.fault("no-nodes", ("QUEUE",), "none of its pools can have nodes; set nodes in one of them")
        return []
    first = next(each for each in all_shapes if flavor in (None, each.flavor.name))
    return [
        each
        for each in all_shapes
        if _compatibility_key(each) == _compatibility_key(first) and flavor in (None, each.flavor.name)
    ]


def _compatibility_key(shape: NodeShape) -> tuple[object, ...]:
    """A key that is equal for shapes that can run the same pods."""
    flavor, pool = shape.flavor, shape.pool
    has_topology = flavor.topology is not None  # Kueue gives such a flavor only to jobs that ask for a topology
    return (
        flavor.resource,
        pool.accelerator,
        pool.topology,
        shape.hosts,
        flavor.devices,
        flavor.channels,
        has_topology,
        flavor.slicing is not None,
    )


def _report_unknown(problems: Problems, argument: str, message: str, word: str, known: Iterable[str]) -> None:
    names = sorted(known)
    suggestion = did_you_mean(word, names) or (f"; write one of {join_quoted(names)}" if names else "; there are none")
    problems.fault("unknown-name", (argument,), message + suggestion)
