"""Which nodes admitted jobs hold, and whether the pods of each get nodes beside the others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from berth.jobs.pod_set import PodSet
from berth.placement.beside import Room, room_beside
from berth.placement.kueue import ResourceFlavor
from berth.placement.node_classes import NodeClass
from berth.placement.obstacles import eligible_nodes
from berth.placement.reasons import AssignedPods
from berth.placement.room import Demand
from berth.placement.topology import Leaf, assign_topology, take, topology_leaves
from berth.simulator.scheduler.events import required_checks
from berth.simulator.scheduler.simulate import Simulator
from berth.simulator.scheduler.state import JobState, SimulatedWorkload


class NodeRoom(Struct, frozen=True):
    """Whether the pods of an admitted job get nodes beside those of the jobs `beside`.

    `certain` of its `count` pods do wherever the others run. `flavors` are those whose nodes are short.
    """

    room: Room
    certain: int = 0
    count: int = 0
    flavors: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()


_ENOUGH = NodeRoom(Room.CERTAIN)


class NodesOfFleet(Struct, frozen=True):
    """The empty nodes of a fleet, and its flavors. `own` has the resource that each flavor counts."""

    classes: tuple[NodeClass, ...]
    flavors: Mapping[str, ResourceFlavor]
    own: Collection[tuple[str, str]]


class _Shape(Struct, eq=False):
    """Pods of admitted jobs that are alike, with the nodes that may have them and the number of each job."""

    demand: Demand
    counts: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])

    def pods_of(self, jobs: Callable[[str], bool]) -> Demand | None:
        """Return the pods of some of the jobs; None if they have none."""
        numbers = [each for name, each in self.counts.items() if jobs(name)]
        if not numbers:
            return None
        count, children = (sum(each) for each in zip(*numbers, strict=True))
        return replace(self.demand, pod_set=replace(self.demand.pod_set, count=count, child_jobs=children))


class Occupancy:
    """The nodes that admitted jobs hold in a run; `rooms` has those jobs whose pods are not certain to get nodes."""

    def __init__(self, nodes: NodesOfFleet) -> None:
        self.nodes = nodes
        self.rooms: dict[str, NodeRoom] = {}
        self._shapes: dict[object, _Shape] = {}
        self._demands: dict[object, Demand] = {}
        self._held: dict[str, list[object]] = {}
        self._since: dict[str, int] = {}
        self._leaves: dict[str, list[Leaf]] = {}
        self._placed: dict[str, list[tuple[Leaf, PodSet, int]]] = {}

    def follow(self, simulator: Simulator, changed: Iterable[SimulatedWorkload]) -> list[SimulatedWorkload]:
        """Follow a step of the simulation; return the other jobs whose pods get nodes now, or no longer."""
        arriving: list[SimulatedWorkload] = []
        is_freed = False
        for workload in changed:
            holds = workload.state == JobState.ADMITTED and not workload.is_evicted
            name = workload.job.name
            if name in self._held and (not holds or self._since[name] != workload.reserved_at):
                is_freed = True
                self._release(name)
            if holds and name in simulator.workloads and name not in self._held:
                arriving.append(workload)
        before = dict(self.rooms)
        waiting = [simulator.workloads[name] for name in self.rooms if name in simulator.workloads] if is_freed else []
        # All of them look for nodes at once: whether one gets some before the others is not certain.
        candidates = [*waiting, *sorted(arriving, key=lambda each: (each.reserved_at, each.arrival_order))]
        demands = {each.job.name: self._hold(each) for each in candidates}
        self.rooms |= {name: NodeRoom(Room.OPEN) for name in demands if simulator.workloads[name].reserved_at >= 0}
        for name, by_flavor in demands.items():
            if name in self.rooms:
                self._judge(name, by_flavor)
        return [each for each in waiting if before[each.job.name] != self.rooms.get(each.job.name)]

    def _release(self, name: str) -> None:
        self.rooms.pop(name, None)
        for key in self._held.pop(name):
            self._shapes[key].counts.pop(name, None)
        for leaf, pod_set, count in self._placed.pop(name, ()):
            take([(leaf, count)], pod_set, -1)

    def _hold(self, workload: SimulatedWorkload) -> dict[str, list[Demand]]:
        """Count the pods of a job as on the nodes that may have them; return those nodes by flavor."""
        name = workload.job.name
        if name in self._held:
            self._release(name)
        self._held[name], self._since[name] = [], workload.reserved_at
        by_flavor: dict[str, list[Demand]] = {}
        if any(True for _ in required_checks(workload)):
            return by_flavor  # its machines are made for it
        for pod_set, flavors in zip(workload.pod_sets, workload.flavors, strict=True):
            counted = [flavor for resource, flavor in flavors.items() if (flavor, resource) in self.nodes.own]
            flavor = next(iter([*counted, *flavors.values()]), None)
            if flavor is not None and flavor in self.nodes.flavors and pod_set.count:
                demand = self._demand(flavor, pod_set)
                by_flavor.setdefault(flavor, []).append(demand)
                key = _key(flavor, pod_set)
                shape = self._shapes.setdefault(key, _Shape(demand))
                count, children = shape.counts.get(name, (0, 0))
                shape.counts[name] = count + pod_set.count, children + pod_set.child_jobs
                self._held[name].append(key)
        return by_flavor

    def _judge(self, name: str, by_flavor: Mapping[str, Sequence[Demand]]) -> None:
        """Judge whether the pods of a job get nodes beside those of the others."""
        found = [self._room(name, flavor, demands) for flavor, demands in by_flavor.items()]
        short = [each for each in found if each.room is not Room.CERTAIN]
        del self.rooms[name]
        if short:
            self.rooms[name] = NodeRoom(
                Room.NONE if any(each.room is Room.NONE for each in short) else Room.OPEN,
                sum(each.certain for each in short),
                sum(each.count for each in short),
                tuple(flavor for each in short for flavor in each.flavors),
                tuple(dict.fromkeys(job for each in short for job in each.beside)),
            )

    def _demand(self, flavor: str, pod_set: PodSet) -> Demand:
        """Return the nodes of one pod set on a flavor; equal pods are looked up once."""
        key = _key(flavor, pod_set)
        found = self._demands.get(key)
        if found is None:
            assigned = AssignedPods(pod_set, flavor, self.nodes.flavors[flavor])
            found = self._demands[key] = eligible_nodes(0, assigned, self.nodes.classes)[0]
        return replace(found, pod_set=pod_set)

    def _room(self, name: str, flavor: str, demands: Sequence[Demand]) -> NodeRoom:
        """Return the room for pod sets of one flavor beside all other jobs."""
        if self.nodes.flavors[flavor].levels is not None:
            is_placed = self._place_by_topology(name, flavor, demands)
            if is_placed:
                return _ENOUGH
        else:
            is_placed = True
        region = {node for each in demands for node in each.possible}
        shapes = [each for each in self._shapes.values() if region.intersection(each.demand.possible)]
        settled = [each.pods_of(lambda job: job != name and job not in self.rooms) for each in shapes]
        waiting = [each.pods_of(lambda job: job != name and job in self.rooms) for each in shapes]
        others = [[each for each in pods if each is not None] for pods in (settled, waiting)]
        if not any(others):
            return _ENOUGH
        room, certain = room_beside(demands, *others)
        count = sum(each.pod_set.count for each in demands)
        beside = tuple(dict.fromkeys(job for each in shapes for job in each.counts if job != name))
        return NodeRoom(room if is_placed or room is not Room.CERTAIN else Room.OPEN, certain, count, (flavor,), beside)

    def _place_by_topology(self, name: str, flavor: str, demands: Sequence[Demand]) -> bool:
        """Return whether Kueue finds nodes in the topology, as far as it is known, beside those it gave to others."""
        matched = self.nodes.flavors[flavor]
        if flavor not in self._leaves:
            self._leaves[flavor] = topology_leaves(self.nodes.classes, matched)
        pod_sets = [each.pod_set for each in demands]
        result = assign_topology(pod_sets, matched, self._leaves[flavor])
        for pod_set, placed in zip(pod_sets, result.nodes, strict=False):
            self._placed.setdefault(name, []).extend((leaf, pod_set, count) for leaf, count in placed)
        return not result.failure and not result.is_uncertain


def _key(flavor: str, pod_set: PodSet) -> object:
    """Return what decides on the nodes of pods, besides their number."""
    return (
        flavor,
        tuple(sorted(pod_set.requests.items())),
        tuple(sorted(pod_set.node_selector.items())),
        tuple(sorted(pod_set.labels.items())),
        tuple(sorted(pod_set.added_labels.items())),
        pod_set.affinity_terms,
        pod_set.volume_nodes,
        pod_set.tolerations,
        pod_set.pod_affinity,
        pod_set.pod_anti_affinity,
        pod_set.spread,
        pod_set.host_ports,
        pod_set.exclusive_topology,
    )
