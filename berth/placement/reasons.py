"""Obstacles between pods and nodes, and the words for them: what is wrong, what the nodes have, what to write."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from berth import catalog
from berth.diagnostics import join_quoted, join_words
from berth.jobs.pod_set import FieldSteps, NodeSelectorRequirement, PodSet
from berth.jobs.quantities import format_quantity
from berth.placement.kueue import ResourceFlavor
from berth.placement.node_classes import NodeClass
from berth.placement.topology import Leaf
from berth.plan.node_settings import NETWORK_RESOURCE

_Terms = tuple[tuple[NodeSelectorRequirement, ...], ...]
"""Terms of a node affinity: one must match."""


class Reason(Struct, frozen=True, kw_only=True):
    """Why pods of a pod set never run, or what is not known about it (`is_unknown`), with the field of its template."""

    pod_set: int
    path: FieldSteps
    code: str
    message: str
    is_unknown: bool = False


class AssignedPods(Struct, frozen=True):
    """A pod set with the flavor that Kueue assigns (None: it requests nothing that the queue counts).

    `flavor_name` is the flavor's name in messages. `nodes` are those that Kueue names, with a topology.
    """

    pod_set: PodSet
    flavor_name: str | None
    flavor: ResourceFlavor | None
    nodes: Sequence[tuple[Leaf, int]] | None = None


class Obstacle(Struct, frozen=True):
    """What keeps a pod off nodes: the field, its kind with a key, and whether that is only possible."""

    path: FieldSteps
    kind: str
    key: str
    is_unknown: bool = False


def place_of(each: AssignedPods) -> str:
    """Return the words for the nodes that the pods may get: those of the flavor."""
    return f"flavor '{each.flavor_name}'" if each.flavor_name is not None else "the fleet"


def obstacle_words(each: AssignedPods, nodes: Sequence[NodeClass], obstacle: Obstacle) -> tuple[str, str]:
    """Return the code and the message for an obstacle that all `nodes` have."""
    pod_set, where = each.pod_set, place_of(each)
    match obstacle.kind:
        case "selector":
            wanted = pod_set.node_selector.get(obstacle.key) or pod_set.runtime_class
            return "no-nodes", f"no node of {where} has {obstacle.key}: '{wanted}'; {_have(nodes, obstacle.key)}"
        case "affinity":
            text = _affinity(pod_set.affinity_terms, nodes)
            return (
                "no-nodes",
                f"no node of {where} matches its required node affinity: {text}; correct it, or remove it",
            )
        case "volume":
            text = _affinity(_terms_of(pod_set, obstacle.key), nodes)
            message = f"no node of {where} can mount its volume '{obstacle.key}', which is on nodes with {text}"
            return "no-nodes", f"{message}; write a volume of their zone"
        case "taint" if obstacle.key.startswith(catalog.labels().sandbox):
            return "no-nodes", f"the nodes of {where} take only pods of GKE Sandbox; write runtimeClassName: gvisor"
        case "taint":
            message = f"the nodes of {where} have the taint {obstacle.key}, which its pods do not tolerate"
            return "no-nodes", f"{message}; write the toleration"
        case _:
            return "no-shape", too_large(pod_set, nodes, obstacle.key)


def _have(nodes: Sequence[NodeClass], key: str) -> str:
    """Return what nodes have instead of a label's value, with what to do."""
    values = sorted({value for node in nodes for value in node.label(key).values})
    if begins := nodes[0].label(key).begins:
        return f"GKE's begin with {begins[0]}; remove it"
    if not values:
        return "they do not have this label; remove it"
    if len(values) == 1:
        return f"they have '{values[0]}'; write that, or remove it"
    listed = values if len(values) <= 6 else [*values[:6], "…"]
    return f"they have {join_quoted(listed)}; write one of them, or remove it"


def _terms_of(pod_set: PodSet, volume: str) -> _Terms:
    return next(each.terms for each in pod_set.volume_nodes if each.name == volume)


def _affinity(terms: _Terms, nodes: Sequence[NodeClass]) -> str:
    """Return the expressions of a node affinity that no node matches, with what the nodes have."""
    parts: list[str] = []
    for term in terms:
        if not term:
            parts.append("an empty term matches nothing")
            continue
        failing = [each for each in term if not any(node.matches_requirement(each) for node in nodes)]
        parts += [_expression(each, nodes) for each in failing or term]
    return join_words(list(dict.fromkeys(parts)))


def _expression(each: NodeSelectorRequirement, nodes: Sequence[NodeClass]) -> str:
    written = f"{each.key} {each.operator} {', '.join(each.values)}".rstrip()
    if begins := nodes[0].label_of(each).begins:
        return f"{written} (GKE's begin with {begins[0]})"
    values = sorted({value for node in nodes for value in node.label(each.key).values})[:6]
    return f"{written} (they have {join_quoted(values)})" if values else f"{written} (they do not have it)"


def unknown_words(pod_set: PodSet, node: NodeClass, obstacle: Obstacle) -> tuple[str, str]:
    """Return what is not known of nodes, and why."""
    if obstacle.kind == "resource":
        return f"have enough {obstacle.key}", node.group.why_unknown(obstacle.key)
    if obstacle.kind == "selector":
        wanted = pod_set.node_selector.get(obstacle.key) or pod_set.runtime_class
        return f"have {obstacle.key}: '{wanted}'", node.label(obstacle.key).why
    is_volume = obstacle.kind == "volume"
    terms = _terms_of(pod_set, obstacle.key) if is_volume else pod_set.affinity_terms
    unknown = [each for term in terms for each in term if node.matches_requirement(each) is None]
    what = f"can mount its volume '{obstacle.key}'" if is_volume else "match its node affinity"
    keys = list(dict.fromkeys(each.key for each in unknown))
    return what, f"{join_words(keys)}: {node.label_of(unknown[0]).why}"


def too_large(pod_set: PodSet, nodes: Sequence[NodeClass], resource: str) -> str:
    """Return how much of a resource a pod requests, how much it can get at most, and how much is certain."""
    most, machine = max((node.most(resource) or 0, node.group.machine_type) for node in nodes)
    certain = max(node.certain.most(resource) or 0 for node in nodes)
    if resource.startswith(NETWORK_RESOURCE):
        networks = sorted({name for node in nodes for name in node.group.networks})
        remedy = f"they have {join_quoted(networks)}; write those" if networks else "remove the annotation"
        name = resource.removeprefix(NETWORK_RESOURCE)
        return f"its pods ask for the network '{name}', which nodes of {machine} do not have; {remedy}"
    requested = pod_set.node_requests.get(resource, 0)
    if resource in ("cpu", "memory", "ephemeral-storage") or resource.startswith("hugepages"):
        added = pod_set.added.get(resource, 0)
        limit, left = (
            format_quantity(resource, amount) if resource == "cpu" else f"{amount // 2**20}Mi"
            for amount in (most, max(0, certain - added))
        )
        amount = format_quantity(resource, requested - added)
        sidecar = f" and the sidecar of its buckets {format_quantity(resource, added)}" if added else ""
        message = f"a pod requests {amount} {resource}{sidecar}, but pods can use {limit} of each {machine}"
        return f"{message}; write at most {left}"
    if not most:
        return f"a pod requests {requested} {resource}, but a node of {machine} has none; remove the request"
    return f"a pod requests {requested} {resource}, but a node of {machine} has {most}; write at most {most}"
