"""The nodes of a fleet as the scheduler meets them: alike nodes with all their labels, one entry for each node pool."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from berth import catalog
from berth.jobs.pod_set import NodeSelectorRequirement
from berth.nodes.labels import label_table
from berth.nodes.model import ABSENT, HOSTNAME, NODE_POOL, FleetNodes, Label, NodeGroup
from berth.placement.matching import all_of, any_of, matches_label


class NodeClass(Struct, frozen=True, eq=False):
    """Up to `count` nodes of a group that differ in their names only; `node_pool` is their GKE node pool if known."""

    group: NodeGroup
    node_pool: str | None
    count: int

    def label(self, key: str) -> Label:
        """Return what is known of a label of these nodes."""
        if key == NODE_POOL and self.node_pool is not None:
            return Label(present=True, values=(self.node_pool,))
        found = self.group.label(key)
        if found.present is None and self.group.open_reason is None and key not in self.group.uncertain_labels:
            # Only Kubernetes and GKE write labels of their domains, and the table of labels has those.
            domain = key.rpartition("/")[0]
            ours = any(domain == each or domain.endswith(f".{each}") for each in label_table().domains)
            return ABSENT if ours else found
        return found

    def domain(self, key: str) -> str | None:
        """Return the value by which a topology key sets these nodes apart; None if that is not known.

        Nodes with one unknown value are assumed to share it if they are of one pool. A host name differs for each node:
        callers treat HOSTNAME themselves.
        """
        found = self.label(key)
        return found.values[0] if len(found.values) == 1 else None

    def matches(self, selector: Mapping[str, str]) -> bool | None:
        """Return whether the nodes have all labels of a selector.

        GKE makes nodes for the placement group that a pod selects, so every value of its label matches.
        """
        grouped = catalog.labels().placement_group
        wanted = (
            NodeSelectorRequirement(key, "In", (value,))
            for key, value in selector.items()
            if key != grouped or key not in self.group.unknown_labels
        )
        return all_of(matches_label(each, self.label(each.key)) for each in wanted)

    def matches_terms(self, terms: tuple[tuple[NodeSelectorRequirement, ...], ...]) -> bool | None:
        """Return whether the nodes match a term of a required node affinity; one without expressions never does."""
        return any_of(bool(term) and all_of(self.matches_requirement(each) for each in term) for term in terms)

    def matches_requirement(self, requirement: NodeSelectorRequirement) -> bool | None:
        """Return whether the nodes match an expression; the name of a node is not known."""
        if requirement.is_field:
            return matches_label(requirement, self.group.label(HOSTNAME))
        return matches_label(requirement, self.label(requirement.key))


def node_classes(nodes: FleetNodes, counted: Mapping[str, str] = MappingProxyType({})) -> tuple[NodeClass, ...]:
    """Return the classes of all nodes of a cluster, without those of which there can be none.

    `counted` maps a DeviceClass to the resource that Kueue counts its devices as: nodes have that resource too, as the
    requests of pods that claim such devices do.
    """
    groups = [_with_devices(group, counted) for group in nodes.groups]
    return tuple(each for group in groups for each in _classes(group) if each.count)


def _with_devices(group: NodeGroup, counted: Mapping[str, str]) -> NodeGroup:
    devices = {counted[name]: number for name, number in group.device_classes.items() if name in counted}
    if not devices:
        return group
    known = {resource: number for resource, number in devices.items() if number is not None}
    unknown = dict.fromkeys(devices.keys() - known.keys(), "no source tells how many devices the node has")
    return replace(
        group,
        allocatable={**group.allocatable, **known},
        unknown_resources={**group.unknown_resources, **unknown},
    )


def _classes(group: NodeGroup) -> Iterator[NodeClass]:
    if group.slices and group.node_pools:
        for name in group.node_pools:
            yield NodeClass(group, name, group.nodes.max)
    elif group.slices:
        for number in range(group.slices):  # GKE or others name the node pools: each slice is one of its own
            yield NodeClass(group, f"{group.pool}-{number + 1}", group.nodes.max)
    else:
        yield NodeClass(group, group.node_pools[0] if len(group.node_pools) == 1 else None, group.nodes.max)
