"""How many pods of one pod set empty nodes hold: by resources, and by each rule between the pods on its own."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct, field

from berth.jobs.pod_set import HostPort, PodSet, SpreadConstraint
from berth.nodes.model import HOSTNAME
from berth.placement.node_classes import NodeClass
from berth.placement.own_pods import OwnPods, own_scope


class PodRule(StrEnum):
    """A rule between the pods of a job that can keep them off nodes with room."""

    PORTS = "use of host ports"
    ANTI_AFFINITY = "pod anti-affinity"
    AFFINITY = "pod affinity"
    SPREAD = "topology spread"
    EXCLUSIVE = "exclusive topology"


ALL_RULES: Final = frozenset(PodRule)
"""Every rule."""


class Demand(Struct, eq=False):
    """The pods of one pod set, with the nodes that take a single one of them (`classes`).

    `spread_classes` are the nodes that its selectors and affinity allow, whatever their size; `possible` all nodes that
    nothing certain keeps it off. `tainted` are nodes with a taint that the pods do not tolerate, of all nodes of the
    fleet (`fleet`). `is_full`: all nodes are there, also those of pools that scale from zero.
    """

    pod_set: PodSet
    classes: Sequence[NodeClass]
    spread_classes: Sequence[NodeClass]
    possible: Sequence[NodeClass] = ()
    fleet: Sequence[NodeClass] = ()
    tainted: frozenset[NodeClass] = frozenset()
    is_full: bool = False

    def counted_by(self, constraint: SpreadConstraint) -> list[NodeClass]:
        """Return the nodes whose domains a spread constraint compares.

        Of nodes that the pods cannot use only those count that exist before them: a pool that scales from zero may have
        none.
        """
        counted = list(self.spread_classes)
        if not constraint.honours_affinity:
            there = (each for each in self.fleet if self.is_full or each.group.pool_nodes.min)
            counted += [each for each in there if each not in counted]
        return [each for each in counted if not (constraint.honours_taints and each in self.tainted)]


class Bin(Struct, eq=False):
    """A node with what is free on it."""

    node_class: NodeClass
    free: dict[str, int]
    ports: list[HostPort] = field(default_factory=list[HostPort])
    pods: int = 0

    def domain(self, key: str) -> object:
        """Return what sets the node apart by a topology key; None if it lacks the label."""
        return self.node_class.domain_of(self, key)


def rules_of(pod_set: PodSet) -> list[PodRule]:
    """Return the rules that a pod set has."""
    present = (
        (PodRule.PORTS, pod_set.host_ports),
        (PodRule.ANTI_AFFINITY, pod_set.pod_anti_affinity),
        (PodRule.AFFINITY, pod_set.pod_affinity),
        (PodRule.SPREAD, pod_set.spread),
        (PodRule.EXCLUSIVE, pod_set.exclusive_topology),
    )
    return [rule for rule, value in present if value]


def pods_per_node(pod_set: PodSet, node: NodeClass) -> int:
    """Return how many of the pods an empty node holds by its resources; an unknown amount does not limit them."""
    limits = [pod_set.count]
    for resource, amount in pod_set.node_requests.items():
        allocatable = node.amount(resource)
        if amount and allocatable is not None:
            limits.append(allocatable // amount)
    return min(limits)


def most_pods(demand: Demand, rules: frozenset[PodRule]) -> int:
    """Return the most pods that the nodes hold under the strictest of the rules."""
    pod_set = demand.pod_set
    one_each = PodRule.PORTS in rules and bool(pod_set.host_ports)
    if PodRule.ANTI_AFFINITY in rules:
        one_each |= any(
            each.topology_key == HOSTNAME and own_scope(each.selector, each, pod_set) is OwnPods.ALL
            for each in pod_set.pod_anti_affinity
        )
    by_class = {
        node: node.count * (min(1, room) if one_each else room)
        for node in demand.classes
        if (room := pods_per_node(pod_set, node))
    }
    return min([_within_pools(by_class), *_under_rules(demand, by_class, rules)])


def _under_rules(demand: Demand, by_class: dict[NodeClass, int], rules: frozenset[PodRule]) -> Iterator[int]:
    """Yield the most pods under each rule of a pod set, from the room of its nodes."""
    pod_set = demand.pod_set
    for term in pod_set.pod_anti_affinity if PodRule.ANTI_AFFINITY in rules else ():
        if term.topology_key != HOSTNAME and own_scope(term.selector, term, pod_set) is OwnPods.ALL:
            yield sum(min(1, room) if key else room for key, room in _by_domain(by_class, term.topology_key))
    if pod_set.exclusive_topology is not None:
        # The first pod of each child job chooses a domain, and its others follow it.
        if PodRule.EXCLUSIVE in rules:
            together = max(1, pod_set.count // max(1, pod_set.child_jobs))
            rooms = [room for key, room in _by_domain(by_class, pod_set.exclusive_topology) if key]
            yield together * sum(room >= together for room in rooms)
        return
    for term in pod_set.pod_affinity if PodRule.AFFINITY in rules else ():
        if own_scope(term.selector, term, pod_set) is OwnPods.ALL:
            yield max((room for key, room in _by_domain(by_class, term.topology_key) if key), default=0)
    for each in pod_set.spread if PodRule.SPREAD in rules else ():
        if own_scope(each.selector, None, pod_set) is OwnPods.ALL:
            counted = dict.fromkeys(demand.counted_by(each), 0)
            rooms = [room for key, room in _by_domain(counted | by_class, each.topology_key) if key]
            least = min(rooms, default=0) if len(rooms) >= each.min_domains else 0
            yield sum(min(room, least + each.max_skew) for room in rooms)


def _within_pools(by_class: dict[NodeClass, int]) -> int:
    """Add up the room of classes; several zones or priorities of one pool share its maximum of nodes."""
    pools: dict[str, list[tuple[int, NodeClass]]] = defaultdict(list)
    for node, room in by_class.items():
        pools[node.group.pool].append((room, node))
    total = 0
    for entries in pools.values():
        left = entries[0][1].group.pool_nodes.max
        for room, node in sorted(entries, key=lambda each: -each[0] // each[1].count):
            used = min(left, node.count)
            total, left = total + room // node.count * used, left - used
    return total


def _by_domain(by_class: dict[NodeClass, int], key: str) -> Iterator[tuple[object, int]]:
    """Yield each domain of a topology key with its room; None is the domain of nodes that lack the label."""
    if key == HOSTNAME:
        for node, room in by_class.items():
            yield from ((id(node), room // node.count) for _ in range(node.count))
        return
    totals: Counter[object] = Counter()
    for node, room in by_class.items():
        totals[Bin(node, {}).domain(key)] += room
    yield from totals.items()
