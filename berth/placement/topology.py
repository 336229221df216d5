"""Kueue's topology-aware placement of a job on empty nodes: which nodes each pod set gets, or why it gets none.

Source: Kueue 0.19.2 `pkg/cache/scheduler/tas_flavor_snapshot.go` (with TASProfileMixed, its default), read 2026-11-25.
Kueue looks at the nodes that have the flavor's labels and every level, at selectors, required affinity, taints and
requests. It does not look at pod affinity, ports or volumes, which the scheduler does afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from berth.jobs.pod_set import PodSet
from berth.nodes.model import HOSTNAME, PODS
from berth.placement.kueue import ResourceFlavor, requested_level
from berth.placement.matching import tolerates
from berth.placement.node_classes import NodeClass


class Leaf(Struct, eq=False):
    """A node: its class, its number in it, and what is free."""

    node_class: NodeClass
    number: int
    free: dict[str, int]
    capacity: int = 0


class Domain(Struct, eq=False):
    """A domain of one level: its place among others, its parts (domains of the next level) or the nodes of the lowest.

    `pods` and `slices` are what it can hold, and once it is chosen, what it gets.
    """

    level: int
    order: tuple[object, ...]
    parts: list[Domain] = field(default_factory=list["Domain"])
    leaves: list[Leaf] = field(default_factory=list[Leaf])
    pods: int = 0
    slices: int = 0

    def held(self, *, in_slices: bool) -> int:
        """Return how many slices, or pods, it can hold."""
        return self.slices if in_slices else self.pods


class TopologyAssignment(Struct):
    """Nodes of each pod set with the number of its pods on them; `failure` says why Kueue finds none.

    `is_uncertain`: whether it depends on how machines are spread over domains that nobody knows before they run.
    """

    nodes: list[list[tuple[Leaf, int]]] = field(default_factory=list[list[tuple[Leaf, int]]])
    failure: str = ""
    failed: int = 0
    is_uncertain: bool = False


def assign_topology(pod_sets: Sequence[PodSet], flavor: ResourceFlavor, leaves: Sequence[Leaf]) -> TopologyAssignment:
    """Place pod sets of one flavor one after the other, as Kueue does; the first that does not fit ends it.

    The pods take their requests from what is free on the leaves; if one does not fit, all of them are as before.
    """
    levels = flavor.levels or ()
    result = TopologyAssignment()
    for index, pod_set in enumerate(pod_sets):
        placed, failure = _place(pod_set, flavor, levels, leaves, result)
        if failure:
            for earlier, nodes in zip(pod_sets, result.nodes, strict=False):
                take(nodes, earlier, -1)
            result.failure, result.failed, result.nodes = failure, index, []
            return result
        take(placed, pod_set)
        result.nodes.append(placed)
    return result


def take(placed: Iterable[tuple[Leaf, int]], pod_set: PodSet, sign: int = 1) -> None:
    """Take the requests of placed pods from what is free on their nodes; with the sign -1, give them back."""
    needs = {**pod_set.requests, PODS: 1}
    for leaf, count in placed:
        for resource, amount in needs.items():
            leaf.free[resource] = leaf.free.get(resource, 0) - sign * amount * count


def topology_leaves(
    classes: Iterable[NodeClass], flavor: ResourceFlavor, pod_sets: Iterable[PodSet] | None = None
) -> list[Leaf]:
    """Return the empty nodes of a flavor; of each class no more than `pod_sets` can use, if they are given."""
    most = sum(each.count for each in pod_sets) if pod_sets is not None else None
    return [
        Leaf(each, number, dict(each.amounts))
        for each in classes
        if each.matches(flavor.node_labels) is not False
        and all(each.label(level).present is not False for level in flavor.levels or ())
        for number in range(each.count if most is None else min(each.count, most))
    ]


def _place(
    pod_set: PodSet, flavor: ResourceFlavor, levels: tuple[str, ...], leaves: Sequence[Leaf], result: TopologyAssignment
) -> tuple[list[tuple[Leaf, int]], str]:
    request = pod_set.topology
    level = requested_level(pod_set, levels)
    if level is None or level not in levels:
        return [], "its topology request names no level"
    slice_level = request.slice_level if request is not None and request.slice_level else levels[-1]
    size = request.slice_size if request is not None and request.slice_size else 1
    at, slice_at = levels.index(level), levels.index(slice_level)
    if size > pod_set.count:
        return [], f"a slice has {size} pods, and they are {pod_set.count}"
    if pod_set.count % size:  # Kueue admits whole slices, and the rest of the pods stay gated
        return [], f"its {pod_set.count} pods are not a whole number of slices of {size}"
    if at > slice_at:
        return [], f"a slice stays in one {slice_level}, which is wider than the {level} of all its pods"
    free_choice = request is None or not (request.required or request.preferred)
    needs = {**pod_set.requests, PODS: 1}
    for leaf in leaves:
        leaf.capacity = _capacity(pod_set, flavor, leaf, needs)
    by_level = _domains(leaves, levels)
    for domain in by_level[-1]:
        if levels[-1] != HOSTNAME:  # Kueue then knows no nodes, only what is free in the domain
            # What their free amounts hold together, whether or not one node holds a pod.
            free = {each: sum(leaf.free.get(each, 0) for leaf in domain.leaves) for each in needs}
            domain.pods = max(0, min(free[each] // amount for each, amount in needs.items() if amount))
    for root in by_level[0]:
        _count(root, slice_at, size)
    wanted = pod_set.count // size
    search = _Search(by_level, free_choice=free_choice, required=bool(request and request.required))
    most, whole = sum(each.slices for each in by_level[0]), max((each.slices for each in by_level[at]), default=0)
    chosen = search.choose(at, wanted)
    if not chosen:
        most = whole if search.required else most
        unit = "pods" if size == 1 else f"slices of {size} pods"
        where = f"one {level}" if search.required else "its nodes"
        return [], f"there is room for {most} of its {wanted} {unit} in {where}"
    result.is_uncertain |= _is_uncertain(pod_set, level, levels, leaves, required=search.required)
    return search.distribute(chosen, pod_set.count, size, slice_at), ""


def _is_uncertain(
    pod_set: PodSet, level: str, levels: tuple[str, ...], leaves: Sequence[Leaf], *, required: bool
) -> bool:
    """Return whether the result depends on labels that are not known.

    Nodes with an unknown value of a level are taken for one domain; of an existing cluster they may even lack it.
    """
    is_open = any(leaf.node_class.label(each).present is None for leaf in leaves for each in levels)
    together = required and _is_unknown(level, leaves)
    return is_open or (together and max((leaf.capacity for leaf in leaves), default=0) < pod_set.count)


def _is_unknown(level: str, leaves: Sequence[Leaf]) -> bool:
    return level != HOSTNAME and any(leaf.node_class.part(level, leaf.number) is None for leaf in leaves)


def _capacity(pod_set: PodSet, flavor: ResourceFlavor, leaf: Leaf, needs: dict[str, int]) -> int:
    """Return how many of the pods a node can hold."""
    node = leaf.node_class
    if (
        node.matches(pod_set.node_selector) is False
        or (pod_set.affinity_terms and node.matches_terms(pod_set.affinity_terms) is False)
        or any(not tolerates(pod_set.tolerations, taint, flavor.tolerations) for taint in node.group.taints)
    ):
        return 0
    counts = [
        leaf.free.get(resource, 0) // amount
        for resource, amount in needs.items()
        if amount and (resource in leaf.free or node.amount(resource) is not None)
    ]
    return max(0, min(counts, default=pod_set.count))


def _domains(leaves: Sequence[Leaf], levels: tuple[str, ...]) -> list[list[Domain]]:
    """Return the domains of each level."""
    known: dict[tuple[object, ...], Domain] = {}
    by_level: list[list[Domain]] = [[] for _ in levels]
    for index, leaf in enumerate(leaves):
        path: tuple[object, ...] = ()
        order: tuple[object, ...] = ()
        parent: Domain | None = None
        for number, level in enumerate(levels):
            value = leaf.node_class.part(level, leaf.number) or f"of {leaf.node_class.group.pool}"
            path = (*path, index if level == HOSTNAME else value)
            order = (*order, (value, index) if level == HOSTNAME else value)
            domain = known.get(path)
            if domain is None:
                domain = known[path] = Domain(number, order)
                by_level[number].append(domain)
                if parent is not None:
                    parent.parts.append(domain)
            parent = domain
        if parent is not None:
            parent.leaves.append(leaf)
            parent.pods += leaf.capacity
    return by_level


def _count(domain: Domain, slice_at: int, size: int) -> None:
    for part in domain.parts:
        _count(part, slice_at, size)
    if domain.parts:
        domain.pods = sum(each.pods for each in domain.parts)
    # Below the level of slices Kueue counts none, so that the domain with the fewest pods comes first there.
    domain.slices = domain.pods // size if domain.level == slice_at else sum(each.slices for each in domain.parts)


class _Search(Struct):
    """The search for domains. With `free_choice` the fullest domains come first, otherwise the emptiest."""

    by_level: list[list[Domain]]
    free_choice: bool
    required: bool

    def choose(self, at: int, wanted: int) -> list[Domain]:
        """Return the domains of one level, or of one above, that hold the slices together; empty if none do."""
        domains = self._in_order(self.by_level[at])
        fitting = [each for each in domains if each.slices >= wanted]
        if fitting:
            return [fitting[0] if self.free_choice else self._best(domains, wanted, in_slices=True)]
        if self.required or not domains:
            return []
        if at > 0 and not self.free_choice:
            return self.choose(at - 1, wanted)
        return domains if sum(each.slices for each in domains) >= wanted else []

    def distribute(self, chosen: list[Domain], pods: int, size: int, slice_at: int) -> list[tuple[Leaf, int]]:
        """Return the nodes in the chosen domains with the number of pods on each."""
        level, last = chosen[0].level, len(self.by_level) - 1
        chosen = self._share(chosen, pods, size, in_slices=True)
        while level < min(last, slice_at):  # above slices, the parts of all domains are chosen from together
            parts = self._in_order([part for each in chosen for part in each.parts])
            chosen, level = self._share(parts, pods, size, in_slices=True), level + 1
        while level < last:
            chosen = [
                part
                for each in chosen
                for part in self._share(self._in_order(each.parts), each.pods, 1, in_slices=False)
            ]
            level += 1
        return [(each.leaves[0], each.pods) for each in chosen if each.pods]

    def _in_order(self, domains: Iterable[Domain]) -> list[Domain]:
        sign = 1 if self.free_choice else -1
        return sorted(domains, key=lambda each: (sign * each.slices, each.pods, each.order))

    def _best(self, domains: Sequence[Domain], wanted: int, *, in_slices: bool) -> Domain:
        """Return the first of the smallest domains that hold so many; the first of all if none does."""
        fitting = [each for each in domains if each.held(in_slices=in_slices) >= wanted]
        return min(fitting or domains[:1], key=lambda each: each.held(in_slices=in_slices))

    def _share(self, domains: list[Domain], pods: int, size: int, *, in_slices: bool) -> list[Domain]:
        """Give the pods to domains in order, the last of them to the smallest that holds them; return those used."""
        used: list[Domain] = []
        remaining = pods // size
        for index, first in enumerate(domains):
            is_last = first.held(in_slices=in_slices) >= remaining
            domain = (
                self._best(domains[index:], remaining, in_slices=in_slices)
                if is_last and not self.free_choice
                else first
            )
            given = min(remaining, domain.held(in_slices=in_slices))
            domain.pods = given * size
            if in_slices:
                domain.slices = given
            used.append(domain)
            remaining -= given
            if remaining <= 0:
                break
        return used
