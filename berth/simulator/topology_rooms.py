"""Room on the nodes of flavors with a topology: which nodes a job gets beside the jobs that are there.

Pods that Kueue placed are a usage among others, `PlacedPods`: whoever counts or takes away the usage of a job, for good
or to try, also takes or gives back what its pods use of their nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from berth.jobs.pod_set import PodSet
from berth.nodes.model import PODS
from berth.placement.kueue import ResourceFlavor
from berth.placement.node_classes import NodeClass
from berth.placement.topology import Leaf, assign_topology, take, topology_leaves
from berth.simulator.scheduler.quota import QuotaState, QuotaTreeNode

TOPOLOGY = "topology"
"""Stands for a resource in the usage of a flavor's nodes."""


class PlacedPods(QuotaState):
    """The pods of one pod set on their nodes, of which a job uses 1 while it holds quota."""

    counts_quota = False

    __slots__ = ("_usage", "nodes", "pod_set")

    def __init__(self, node: QuotaTreeNode, flavor: str, pod_set: PodSet, nodes: Sequence[tuple[Leaf, int]]) -> None:
        self.node, self.pod_set, self.nodes = node, pod_set, tuple(nodes)
        self.flavor_resource = (flavor, TOPOLOGY)
        self.parent, self.borrowing_limit, self.path_from_root, self.root = None, None, (), self
        self.nominal = self.subtree_quota = self.local_quota = self.ceiling = 1
        self._usage = 0

    def as_key(self) -> object:
        """Return the nodes with their pods: a job that gets the same ones again has other `PlacedPods`."""
        return self.flavor_resource, tuple((id(leaf), count) for leaf, count in self.nodes)

    @property
    def usage(self) -> int:  # type: ignore[override]
        """Whether the pods are on their nodes."""
        return self._usage

    @usage.setter
    def usage(self, amount: int) -> None:
        take(self.nodes, self.pod_set, amount - self._usage)
        self._usage = amount

    def available(self) -> int:
        """Return 1 if every node has room for its pods."""
        needs = {**self.pod_set.requests, PODS: 1}
        return int(
            all(
                leaf.free.get(name, 0) >= amount * count for leaf, count in self.nodes for name, amount in needs.items()
            )
        )


Room = list[PlacedPods]


class TopologyRooms:
    """The nodes of each flavor with a topology whose nodes are known, shared by all queues."""

    def __init__(
        self, nodes: Mapping[str, Sequence[NodeClass]], resource_flavors: Mapping[str, ResourceFlavor]
    ) -> None:
        self.resource_flavors = resource_flavors
        self.leaves = {name: topology_leaves(classes, resource_flavors[name]) for name, classes in nodes.items()}

    def find(
        self, node: QuotaTreeNode, pod_sets: Sequence[PodSet], flavors: Sequence[Mapping[str, str]], *, empty: bool
    ) -> tuple[Room, str]:
        """Return the nodes for the pods of each flavor with a topology, or why there are none.

        With `empty`, as if no other pods were there.
        """
        room: Room = []
        for flavor, leaves in self.leaves.items():
            own = [each for each, chosen in zip(pod_sets, flavors, strict=True) if flavor in chosen.values()]
            if not own:
                continue
            free = [leaf.free for leaf in leaves]
            if empty:
                for leaf in leaves:
                    leaf.free = dict(leaf.node_class.amounts)
            found = assign_topology(own, self.resource_flavors[flavor], leaves)
            if not found.failure:
                for pod_set, nodes in zip(own, found.nodes, strict=True):
                    take(nodes, pod_set, -1)
                    room.append(PlacedPods(node, flavor, pod_set, nodes))
            for leaf, amounts in zip(leaves, free, strict=True):
                leaf.free = amounts
            if found.failure:
                return [], f"{flavor}: {found.failure}"
        return room, ""

    def concern(self, flavors: Sequence[Mapping[str, str]]) -> bool:
        """Return whether pods that get these flavors get nodes of a topology."""
        return any(flavor in self.leaves for chosen in flavors for flavor in chosen.values())
