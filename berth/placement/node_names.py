"""Jobs that choose nodes by name: GKE chooses the names, but one name is one node at most."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from berth.jobs.pod_set import PodSet
from berth.nodes.model import HOSTNAME
from berth.placement.node_classes import NodeClass

_OTHER_NAME = "…"
"""The name of all nodes that no pod names: no real name has this character."""

_MOST_WAYS = 40
"""So many classes are tried one by one."""


class NodeNames(NamedTuple):
    """The names of nodes that pods want, and those that they avoid; `in_topology` if they ask for a topology too."""

    wanted: frozenset[str]
    avoided: frozenset[str]
    in_topology: bool


def names_of_nodes(pod_sets: Sequence[PodSet]) -> NodeNames:
    """Return the names by which pods choose nodes, in selectors and in required node affinity."""
    wanted: set[str] = set()
    avoided: set[str] = set()
    for each in pod_sets:
        wanted |= {value for key, value in each.node_selector.items() if key == HOSTNAME}
        for term in each.affinity_terms:
            for requirement in term:
                if requirement.is_field or requirement.key == HOSTNAME:
                    (avoided if requirement.operator == "NotIn" else wanted).update(requirement.values)
    return NodeNames(frozenset(wanted), frozenset(avoided), any(each.asks_for_topology for each in pod_sets))


def with_names(classes: Iterable[NodeClass], names: Collection[str]) -> tuple[NodeClass, ...]:
    """Return the nodes as if those of each class had these names, as far as they can have them, and no other did."""
    return tuple(each for node in classes for each in _named(node, names))


def one_of_each(classes: Sequence[NodeClass], names: Collection[str]) -> Iterator[tuple[NodeClass, ...]]:
    """Yield the ways in which nodes may have these names: a single name in one class; more in every class at once."""
    if len(names) != 1 or len(classes) > _MOST_WAYS:
        yield with_names(classes, names)
        return
    for chosen in classes:
        yield tuple(each for node in classes for each in _named(node, names if node is chosen else ()))


def _named(node: NodeClass, names: Collection[str]) -> Iterator[NodeClass]:
    known = node.group.label(HOSTNAME)
    if not known.present or known.values:
        yield node
        return
    possible = sorted(each for each in names if not known.begins or each.startswith(known.begins))[: node.count]
    for name in possible:
        yield _of_name(node, name, 1)
    if node.count > len(possible):
        yield _of_name(node, _OTHER_NAME, node.count - len(possible))


def _of_name(node: NodeClass, name: str, count: int) -> NodeClass:
    group = replace(node.group, labels={**node.group.labels, HOSTNAME: name})
    least = replace(node.least, group=group, count=count) if node.least is not None else None
    return replace(node, group=group, count=count, least=least)
