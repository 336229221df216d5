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
    """A domain of one level with its parts (domains of the next level, or nodes) and the pods that it can hold."""

    level: int
    parts: list[Domain] = field(default_factory=list["Domain"])
    leaf: Leaf | None = None
    pods: int = 0
    slices: int = 0


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
    roots = _tree(leaves, levels)
    for root in roots:
        _count(root, slice_at, size)
    wanted = pod_set.count // size
    by_level = [list(_at_level(roots, number)) for number in range(len(levels))]
    chosen = _choose(by_level, at, wanted, required=bool(request and request.required), free_choice=free_choice)
    if not chosen:
        whole = max((each.slices for each in by_level[at]), default=0)
        most = whole if request and request.required else sum(each.slices for each in by_level[0])
        unit = "pods" if size == 1 else f"slices of {size} pods"
        where = f"one {level}" if request and request.required else "its nodes"
        return [], f"there is room for {most} of its {wanted} {unit} in {where}"
    # Nodes with an unknown value of a level are taken for one domain; of an existing cluster they may even lack it.
    is_open = any(leaf.node_class.label(each).present is None for leaf in leaves for each in levels)
    together = bool(request and request.required) and _is_unknown(level, leaves)
    if is_open or (together and max((leaf.capacity for leaf in leaves), default=0) < pod_set.count):
        result.is_uncertain = True
    return _distribute(chosen, pod_set.count, size, slice_at, free_choice=free_choice), ""


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


def _tree(leaves: Sequence[Leaf], levels: tuple[str, ...]) -> list[Domain]:
    """Return the domains of the highest level."""
    roots: dict[tuple[object, ...], Domain] = {}
    known: dict[tuple[object, ...], Domain] = {}
    for leaf in leaves:
        parent: Domain | None = None
        path: tuple[object, ...] = ()
        for number, level in enumerate(levels):
            value = leaf.node_class.part(level, leaf.number) or f"of {leaf.node_class.group.pool}"
            path = (*path, (id(leaf),) if level == HOSTNAME else value)
            domain = known.get(path)
            if domain is None:
                domain = known[path] = Domain(number)
                if parent is None:
                    roots[path] = domain
                else:
                    parent.parts.append(domain)
            parent = domain
        if parent is not None:
            if parent.leaf is None and not parent.parts:
                parent.leaf = leaf
            parent.pods += leaf.capacity
    return list(roots.values())


def _count(domain: Domain, slice_at: int, size: int) -> None:
    for part in domain.parts:
        _count(part, slice_at, size)
    if domain.parts:
        domain.pods = sum(each.pods for each in domain.parts)
    domain.slices = domain.pods // size if domain.level >= slice_at else sum(each.slices for each in domain.parts)


def _at_level(roots: list[Domain], level: int) -> Iterable[Domain]:
    for domain in roots:
        if domain.level == level:
            yield domain
        else:
            yield from _at_level(domain.parts, level)


def _choose(by_level: list[list[Domain]], at: int, wanted: int, *, required: bool, free_choice: bool) -> list[Domain]:
    """Return the domains of one level that hold the pods together; empty if none do."""
    domains = sorted(by_level[at], key=lambda each: -each.slices)
    fitting = [each for each in domains if each.slices >= wanted]
    if fitting:
        return [fitting[-1]]
    if required:
        return []
    if at > 0 and not free_choice:
        return _choose(by_level, at - 1, wanted, required=False, free_choice=False)
    taken: list[Domain] = []
    for each in domains:
        taken.append(each)
        wanted -= each.slices
        if wanted <= 0:
            return taken
    return []


def _distribute(
    domains: list[Domain], pods: int, size: int, slice_at: int, *, free_choice: bool
) -> list[tuple[Leaf, int]]:
    """Return the nodes in the domains with the number of pods on each: few nodes, the fullest first."""
    placed: list[tuple[Leaf, int]] = []
    remaining = pods
    unit = size if domains and domains[0].level <= slice_at else 1
    rest = sorted(domains, key=lambda each: each.pods if free_choice else -each.pods)
    while rest and remaining > 0:
        fitting = [each for each in rest if each.pods >= remaining]
        best = min(fitting, key=lambda each: each.pods) if fitting else rest[0]
        rest.remove(best)
        share = min(remaining, best.pods // unit * unit) if best.level <= slice_at else min(remaining, best.pods)
        if share <= 0:
            continue
        remaining -= share
        if best.leaf is not None and not best.parts:
            placed.append((best.leaf, share))
        else:
            placed += _distribute(best.parts, share, size, slice_at, free_choice=free_choice)
    return placed
