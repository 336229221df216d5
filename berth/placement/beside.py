"""Whether nodes have room for the pods of a job beside the pods of other jobs, wherever the scheduler put those.

Nobody knows on which of several alike nodes a pod runs. So there are two bounds: how many pods find room however the
others are arranged, and whether any arrangement at all has room. In between the answer is open.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum

from msgspec.structs import replace

from berth.jobs.pod_set import PodSet
from berth.nodes.model import HOSTNAME
from berth.placement.arrangement import arrange
from berth.placement.node_classes import NodeClass
from berth.placement.own_pods import OwnPods, own_scope
from berth.placement.room import Bin, Demand, pods_per_node, rules_of
from berth.plan.node_settings import Bounds


class Room(StrEnum):
    """Whether the pods of a job find room beside others."""

    CERTAIN = "certain"
    """In every arrangement of the other pods."""
    OPEN = "open"
    """In some arrangements perhaps, not in all."""
    NONE = "none"
    """In no arrangement."""


def room_beside(
    demands: Sequence[Demand], others: Sequence[Demand], waiting: Sequence[Demand] = ()
) -> tuple[Room, int]:
    """Return whether all pods find room beside `others`, and how many of them do in every arrangement.

    `possible` of each of `others` are the nodes on which its pods may be; their number is that of all such pods.
    Pods of `waiting` may have nodes, or none yet.
    """
    counts = _least_pods(demands, [*others, *waiting])
    wanted = [each.pod_set.count for each in demands]
    if counts == wanted:
        return Room.CERTAIN, sum(wanted)
    for index, demand in enumerate(demands):
        region = set(demand.possible)
        beside = [*others, *demands[:index], *demands[index + 1 :]]
        if _is_too_small(demand, [each for each in beside if region.issuperset(each.possible)]):
            return Room.NONE, sum(counts)
    return Room.OPEN, sum(counts)


# --- in every arrangement ---------------------------------------------------------------------------------------------


def _least_pods(demands: Sequence[Demand], others: Sequence[Demand]) -> list[int]:
    """Return how many pods of each demand find room in every arrangement of the others."""
    keys = {key for each in demands for key in _keys_kept_clear(each.pod_set, others)}
    if keys or any(rules_of(each.pod_set) for each in demands):
        return _on_clear_nodes(demands, others, keys)
    counts: list[int] = []
    for index, demand in enumerate(demands):
        slots = _least_slots(demand, [*others, *demands[:index], *demands[index + 1 :]])
        counts.append(min(demand.pod_set.count, slots))
    if any(count < each.pod_set.count for count, each in zip(counts, demands, strict=True)):
        clear = _on_clear_nodes(demands, others, keys)
        return clear if sum(clear) > sum(counts) else counts
    return counts


def _keys_kept_clear(pod_set: PodSet, others: Iterable[Demand]) -> Iterable[str]:
    """Yield the topology keys in whose domains pods of others keep these pods away, or may do so."""
    if pod_set.exclusive_topology is not None:
        yield pod_set.exclusive_topology
    for each in others:
        other = each.pod_set
        if other.exclusive_topology is not None:
            yield other.exclusive_topology
        for owner, target in ((pod_set, other), (other, pod_set)):
            for term in owner.pod_anti_affinity:
                if own_scope(term.selector, term, owner, target) is not OwnPods.NONE:
                    yield term.topology_key


def _on_clear_nodes(demands: Sequence[Demand], others: Sequence[Demand], keys: Collection[str]) -> list[int]:
    """Return how many pods of each demand fit on the nodes, or in the domains, that certainly have no other pods."""
    classes = list(dict.fromkeys(node for each in demands for node in each.classes))
    wide = [key for key in keys if key != HOSTNAME]
    for key in wide:
        taken = sum(
            each.pod_set.child_jobs if each.pod_set.exclusive_topology == key else each.pod_set.count for each in others
        )
        rooms: dict[object, int] = defaultdict(int)
        for node in classes:
            most = max(pods_per_node(each.pod_set, node.certain) for each in demands)
            rooms[Bin(node, {}).domain(key)] += node.count * most
        lost = {None, *sorted(rooms, key=lambda domain: -rooms[domain])[:taken]}
        classes = [node for node in classes if Bin(node, {}).domain(key) not in lost]
    left = {node: node.certain for node in classes}
    if not wide:
        taken = sum(each.pod_set.count for each in others)
        left = {
            node: _fewer(node.certain, taken) for node in classes if min(node.count, node.group.pool_nodes.max) > taken
        }
    clear = [
        Demand(
            each.pod_set,
            [left[node] for node in each.classes if node in left],
            [left.get(node, node) for node in each.spread_classes],
            fleet=each.fleet,
            tainted=each.tainted,
        )
        for each in demands
    ]
    return arrange(clear)


def _fewer(node: NodeClass, taken: int) -> NodeClass:
    """Return a class of nodes without so many of its nodes."""
    most = node.group.pool_nodes.max - taken
    return replace(node, count=node.count - taken, group=replace(node.group, pool_nodes=Bounds(min=0, max=most)))


def _least_slots(demand: Demand, others: Iterable[Demand]) -> int:
    """Return how many of the pods find room however the others are arranged: places of empty nodes less those lost.

    On one node, the places lost are at most the sum of those lost for each resource by itself. For one resource, the
    others do the greatest harm if they first take what a full node has left, and then whole places.
    """
    nodes = set(demand.classes)
    beside = [each.pod_set for each in others if nodes.intersection(each.possible)]
    total, number = 0, 0
    places = 0
    for members in _by_pool(demand.classes).values():
        count = min(members[0].group.pool_nodes.max, sum(node.count for node in members))
        per_node = min(pods_per_node(demand.pod_set, node.certain) for node in members)
        total, number, places = total + count * per_node, number + count, max(places, per_node)
    for resource, amount in demand.pod_set.node_requests.items():
        sizes = [(node.certain, node.certain.amount(resource)) for node in demand.classes]
        left = [size - pods_per_node(demand.pod_set, node) * amount for node, size in sizes if size is not None]
        taken = [(each.count, used) for each in beside if (used := each.node_requests.get(resource, 0))]
        if not (left and taken and places and amount):
            continue
        first = min(left) + 1
        volume = sum(count * used for count, used in taken)
        if first <= amount:
            nodes_hit = min(number, sum(count for count, _ in taken), volume // first)
            lost = nodes_hit + (volume - nodes_hit * first) // amount
        else:
            whole, rest = divmod(volume, first + (places - 1) * amount)
            lost = whole * places + (1 + (rest - first) // amount if rest >= first else 0)
        total -= min(lost, sum(count * -(-used // amount) for count, used in taken))
    return max(0, total)


def _by_pool(classes: Iterable[NodeClass]) -> dict[str, list[NodeClass]]:
    pools: dict[str, list[NodeClass]] = defaultdict(list)
    for node in classes:
        pools[node.group.pool].append(node)
    return pools


# --- in no arrangement ------------------------------------------------------------------------------------------------


def _is_too_small(demand: Demand, others: Sequence[Demand]) -> bool:
    """Return whether the nodes cannot hold the pods and those of others, all of which are on these nodes."""
    number = sum(
        min(members[0].group.pool_nodes.max, sum(node.count for node in members))
        for members in _by_pool(demand.possible).values()
    )
    for resource, amount in demand.pod_set.node_requests.items():
        amounts = [node.amount(resource) for node in demand.possible]
        known = [each for each in amounts if each is not None]
        if not amount or len(known) < len(amounts):
            continue
        items = [(each.pod_set.count, each.pod_set.node_requests.get(resource, 0)) for each in (demand, *others)]
        if least_nodes(items, max(known, default=0)) > number:
            return True
    key = demand.pod_set.exclusive_topology
    if key is None:
        return False
    domains = {Bin(node, {}).domain(key) for node in demand.possible} - {None}
    if key == HOSTNAME:
        return False
    jobs = sum(each.pod_set.child_jobs for each in (demand, *others) if each.pod_set.exclusive_topology == key)
    return jobs > len(domains)


def least_nodes(items: Iterable[tuple[int, int]], size: int) -> int:
    """Return a lower bound of the nodes of one size that pods need; `items` are counts with the size of each pod.

    Source: Martello and Toth, Lower bounds and reduction procedures for the bin packing problem (1990), bound L2.
    """
    pods = [(count, each) for count, each in items if count and each]
    best = 0
    for least in {0, *(each for _, each in pods if 2 * each <= size)}:
        alone = sum(count for count, each in pods if each > size - least)
        large = [(count, each) for count, each in pods if 2 * each > size and each <= size - least]
        small = sum(count * each for count, each in pods if least <= each and 2 * each <= size)
        left = sum(count * (size - each) for count, each in large)
        more = -(-max(0, small - left) // size) if size else 0
        best = max(best, alone + sum(count for count, _ in large) + more)
    return best
