"""The nodes of a fleet as the scheduler meets them: alike nodes with all their labels, one entry for each node pool."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from berth import catalog
from berth.diagnostics import Problems
from berth.jobs.pod_set import NodeSelectorRequirement, PodSet
from berth.jobs.pods import build_pod_set
from berth.jobs.values import SourceValue, get_nested
from berth.manifests.gpu import installers
from berth.nodes.labels import label_table
from berth.nodes.model import ABSENT, HOSTNAME, NODE_POOL, FleetNodes, Label, NodeGroup
from berth.placement.matching import all_of, any_of, matches_label, tolerates
from berth.plan.fleet import FleetPlan
from berth.plan.node_settings import NETWORK_RESOURCE


class NodeClass(Struct, frozen=True, eq=False):
    """Up to `count` nodes of a group that differ in their names only; `node_pool` is their GKE node pool if known.

    `amounts` are what pods may use of one node: allocatable, without the pods that the fleet itself puts on every node.
    `least` are the same nodes with what is certain of that; None if all of it is.
    """

    group: NodeGroup
    node_pool: str | None
    count: int
    amounts: Mapping[str, int]
    least: NodeClass | None = None

    @property
    def certain(self) -> NodeClass:
        """The nodes with what pods can certainly use of them."""
        return self.least or self

    def amount(self, resource: str) -> int | None:
        """Return how much of a resource the pods of one node may use; 0 without any, None if that is unknown."""
        found = self.amounts.get(resource)
        return self.group.amount(resource) if found is None else found

    def most(self, resource: str) -> int | None:
        """Return how much of a resource one pod can get beside GKE's own pods at most; None if that is unknown."""
        found = self.amount(resource)
        # What is certain of the nodes is without GKE's own pods already.
        return found if found is None or self.least is None else found - self.group.taken.get(resource, 0)

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
        return found.values[0] if len(found.values) == 1 else self.group.place.get(key)

    def domain_of(self, node: object, key: str) -> object:
        """Return what sets one of these nodes apart by a topology key; None if they lack the label."""
        if key == HOSTNAME:
            return id(node)
        if self.label(key).present is False:
            return None
        return self.domain(key) or f"of {self.group.pool}"

    def part(self, key: str, number: int) -> str | None:
        """Return the domain of one of the nodes: a part of its node pool where the group says so, as in `domain`."""
        nodes = self.group.parts.get(key)
        return self.domain(key) if nodes is None else f"{self.node_pool or self.group.pool}/{number // nodes}"

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

    def label_of(self, requirement: NodeSelectorRequirement) -> Label:
        """Return what is known of the label that an expression is about; a node's name is that of its host."""
        return self.group.label(HOSTNAME) if requirement.is_field else self.label(requirement.key)

    def matches_requirement(self, requirement: NodeSelectorRequirement) -> bool | None:
        """Return whether the nodes match an expression; the name of a node is not known."""
        return matches_label(requirement, self.label_of(requirement))


def node_classes(
    nodes: FleetNodes, counted: Mapping[str, str] = MappingProxyType({}), daemons: Iterable[PodSet] = ()
) -> tuple[NodeClass, ...]:
    """Return the classes of all nodes of a cluster, without those of which there can be none.

    `counted` maps a DeviceClass to the resource that Kueue counts its devices as: nodes have that resource too, as the
    requests of pods that claim such devices do. `daemons` are the pods of DaemonSets, which use a part of each node.
    """
    groups = [_with_devices(group, counted) for group in nodes.groups]
    pods = tuple(daemons)
    return tuple(each for group in groups for each in _classes(group, _left_by(pods, group)) if each.count)


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


def _left_by(daemons: Iterable[PodSet], group: NodeGroup) -> Mapping[str, int]:
    """Return what the DaemonSets leave of a node's allocatable resources and of its interfaces."""
    amounts = {**group.allocatable, **{f"{NETWORK_RESOURCE}{name}": 1 for name in group.networks}}
    for pod_set in daemons:
        if _runs_on(pod_set, NodeClass(group, None, 1, amounts)):
            for resource, amount in pod_set.node_requests.items():
                if resource in amounts:
                    amounts[resource] -= amount
    return amounts


def installed_daemons(plan: FleetPlan) -> Iterator[PodSet]:
    """Yield the pods of the DaemonSets that a stack installs, on one node each."""
    for manifest in installers(plan.installers) if plan.installers is not None else ():
        template = SourceValue(get_nested(manifest, "spec", "template"), (), Problems())
        pod_set = build_pod_set(template, str(get_nested(manifest, "metadata", "name")), 1)
        if pod_set is not None:
            yield pod_set


def _runs_on(pod_set: PodSet, node: NodeClass) -> bool:
    """Return whether a DaemonSet has a pod on nodes; where a label is unknown it may have one."""
    return (
        node.matches(pod_set.node_selector) is not False
        and (not pod_set.affinity_terms or node.matches_terms(pod_set.affinity_terms) is not False)
        and all(tolerates(pod_set.tolerations, taint) for taint in node.group.taints)
    )


def _classes(group: NodeGroup, amounts: Mapping[str, int]) -> Iterator[NodeClass]:
    names: Iterable[str | None]
    if group.slices and not group.node_pools:
        # GKE or others name the node pools: each slice is one of its own
        names = [f"{group.pool}-{number + 1}" for number in range(group.slices)]
    else:
        names = group.node_pools if group.slices or len(group.node_pools) == 1 else (None,)
    # The fleet's own pods come out of the certain part: it leaves room for pods that the fleet does not know.
    least = {
        resource: min(amounts[resource], amount) for resource, amount in group.least.items() if resource in amounts
    }
    for name in names:
        certain = NodeClass(group, name, group.nodes.max, {**amounts, **least}) if least else None
        yield NodeClass(group, name, group.nodes.max, amounts, certain)
