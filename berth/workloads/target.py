"""The ground a workload stands on: its team, its queue, and the one shape of machines that its pods are cut for."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from berth.diagnostics import Problems, near_miss, quoted
from berth.plan.fleet import FleetPlan
from berth.plan.kueue import ClusterQueuePlan, FlavorQuotasPlan, LocalQueuePlan
from berth.plan.teams import TeamPlan
from berth.workloads.node_shapes import Shape, shapes

DEFAULT = "default"
"""The local queue that takes jobs which name none."""


class Ground(Struct, frozen=True):
    """`shapes` are alike: their pods may run on any of them. `others` are shapes of the queue that are not."""

    plan: FleetPlan
    team: TeamPlan
    door: LocalQueuePlan
    queue: ClusterQueuePlan
    shapes: tuple[Shape, ...]
    others: tuple[Shape, ...]

    @property
    def shape(self) -> Shape:
        """The smallest of the shapes: what fits there fits on all of them."""
        return min(self.shapes, key=lambda each: each.per_node)

    @property
    def name(self) -> str:
        """`vision/train`."""
        return f"{self.team.name}/{self.door.name}"

    @property
    def flavors(self) -> list[str]:
        """The flavors that the workload may get, in the queue's order."""
        return list(dict.fromkeys(each.flavor.name for each in self.shapes))

    def entries(self) -> list[FlavorQuotasPlan]:
        """Their quotas."""
        return [entry for entry in self.queue.flavors if entry.flavor in self.flavors]


def ground(plan: FleetPlan, team: str, queue: str, flavor: str | None, problems: Problems) -> Ground | None:
    """Where `team/queue` stands (a local queue's name, or its cluster queue's); None after a fault."""
    teams = {each.name: each for each in plan.teams}
    if team not in teams:
        _unknown(problems, "TEAM", f"no team '{team}'", team, teams)
        return None
    doors = {name: door for door in _doors(teams[team]) for name in (door.cluster_queue, door.name)}
    if queue not in doors:
        _unknown(problems, "QUEUE", f"team '{team}' has no queue '{queue}'", queue, doors)
        return None
    behind = next(each for each in plan.cluster_queues if each.name == doors[queue].cluster_queue)
    found = shapes(plan, [entry.flavor for entry in behind.flavors])
    chosen = _chosen(found, flavor, problems)
    if not chosen:
        return None
    others = tuple(each for each in found if each not in chosen)
    return Ground(plan, teams[team], doors[queue], behind, tuple(chosen), others)


def _doors(team: TeamPlan) -> list[LocalQueuePlan]:
    """A team's doors, the one to take last where several lead to one queue: in its first namespace, under its name."""
    return sorted(team.local_queues, key=lambda each: (each.namespace == team.namespace, each.name != DEFAULT))


def _chosen(found: list[Shape], flavor: str | None, problems: Problems) -> list[Shape]:
    """Those of the flavor that is named, or of the first; and all that are like it."""
    names = list(dict.fromkeys(each.flavor.name for each in found))
    if flavor is not None and flavor not in names:
        _unknown(problems, "--flavor", f"the queue has no flavor '{flavor}'", flavor, names)
        return []
    if not found:
        problems.fault("no-nodes", ("QUEUE",), "none of its pools ever has a node; give one of them nodes")
        return []
    first = next(each for each in found if flavor in (None, each.flavor.name))
    return [each for each in found if _kind(each) == _kind(first) and flavor in (None, each.flavor.name)]


def _kind(shape: Shape) -> tuple[object, ...]:
    """What makes pods that are cut for one shape fit another."""
    return (shape.flavor.resource, shape.pool.accelerator, shape.pool.topology, shape.hosts)


def _unknown(problems: Problems, what: str, message: str, word: str, known: Iterable[str]) -> None:
    names = sorted(known)
    there = near_miss(word, names) or (f"; there is {quoted(names)}" if names else "; there are none")
    problems.fault("unknown-name", (what,), message + there)
