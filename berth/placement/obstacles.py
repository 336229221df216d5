"""What keeps a single pod of a job off nodes that are empty, in the words of the field that says so.

Source: Kubernetes 1.36 `pkg/scheduler/framework/plugins/{nodeaffinity,tainttoleration,noderesources}`, read 2026-11-25.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from berth import catalog
from berth.diagnostics import join_quoted, join_words
from berth.jobs.pod_set import FieldSteps, NodeSelectorRequirement, PodSet
from berth.nodes.model import HOSTNAME
from berth.placement.kueue import ResourceFlavor
from berth.placement.matching import tolerates
from berth.placement.node_classes import NodeClass
from berth.placement.own_pods import OwnPods, own_scope
from berth.placement.room import Demand
from berth.placement.too_large import too_large
from berth.placement.topology import Leaf

DEFAULT_SCHEDULER = "default-scheduler"
"""The scheduler of pods that name none."""
_NODE_AFFINITY: FieldSteps = ("spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")


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


def unknowable_reasons(index: int, pod_set: PodSet) -> Iterator[Reason]:
    """Yield what decides about the pods and is not known here: another scheduler, a node's name, other pods."""

    def open_question(path: FieldSteps, message: str) -> Reason:
        return Reason(pod_set=index, path=path, code="placement-unknown", message=message, is_unknown=True)

    if pod_set.scheduler_name not in (None, DEFAULT_SCHEDULER):
        yield open_question(
            ("spec", "schedulerName"),
            f"the scheduler '{pod_set.scheduler_name}' places its pods, and its rules are not known; "
            "remove schedulerName for the default scheduler",
        )
    if pod_set.node_name is not None:
        yield open_question(
            ("spec", "nodeName"),
            f"its pods name the node '{pod_set.node_name}', and the names of nodes are not known; remove nodeName",
        )
    if pod_set.has_gates:
        yield open_question(
            ("spec", "schedulingGates"),
            "its pods wait until somebody removes their scheduling gates, which is not known; remove schedulingGates",
        )
    for kind, terms in (("podAffinity", pod_set.pod_affinity), ("podAntiAffinity", pod_set.pod_anti_affinity)):
        for term in terms:
            scope = own_scope(term.selector, term, pod_set)
            is_open = scope is OwnPods.UNKNOWN or (scope is OwnPods.NONE and kind == "podAffinity")
            if is_open or term.selects_others(pod_set.namespace):
                yield open_question(
                    ("spec", "affinity", kind),
                    f"whether other pods that its {kind} selects are on the nodes is not known; "
                    "select labels of its own pods, or remove the term",
                )


class _Obstacle(Struct, frozen=True):
    """What keeps a pod off nodes: the field, its kind with a key, and whether that is only possible."""

    path: FieldSteps
    kind: str
    key: str
    is_unknown: bool = False


def _choices(pod_set: PodSet, node: NodeClass) -> Iterator[_Obstacle]:
    """Yield what pods choose that nodes are not, or may not be."""
    for key, value in pod_set.node_selector.items():
        answer = node.matches({key: value})
        if answer is not True:
            yield _Obstacle(("spec", "nodeSelector", key), "selector", key, answer is None)
    if pod_set.affinity_terms:
        answer = node.matches_terms(pod_set.affinity_terms)
        if answer is not True:
            yield _Obstacle(_NODE_AFFINITY, "affinity", "", answer is None)
    for volume in pod_set.volume_nodes:
        answer = node.matches_terms(volume.terms)
        if answer is not True:
            yield _Obstacle(volume.path, "volume", volume.name, answer is None)


def _obstacles(each: AssignedPods, node: NodeClass) -> Iterator[_Obstacle]:
    pod_set = each.pod_set
    yield from _choices(pod_set, node)
    added = each.flavor.tolerations if each.flavor is not None else ()
    sandbox = catalog.taints().sandbox
    if pod_set.runtime_class == sandbox.value:  # as the RuntimeClass of GKE adds it to pods
        added = (*added, sandbox.tolerated)
        if (answer := node.matches({sandbox.key: sandbox.value})) is not True:
            yield _Obstacle(("spec", "runtimeClassName"), "selector", sandbox.key, answer is None)
    for taint in node.group.taints:
        if not tolerates(pod_set.tolerations, taint, added):
            yield _Obstacle(("spec", "tolerations"), "taint", f"{taint.key}={taint.value}:{taint.effect}")
    for resource, amount in pod_set.node_requests.items():
        allocatable = node.amount(resource)
        if allocatable is not None and amount > allocatable:
            yield _Obstacle(pod_set.request_path(resource), "resource", resource)
        elif allocatable is None and amount and resource in pod_set.request_paths:
            yield _Obstacle(pod_set.request_path(resource), "resource", resource, is_unknown=True)


def eligible_nodes(index: int, each: AssignedPods, classes: Sequence[NodeClass]) -> tuple[Demand, list[Reason]]:
    """Return the nodes that take one of the pods by itself; the reasons why none does, or why that is unknown."""
    pod_set = each.pod_set
    labels: Mapping[str, str] = each.flavor.node_labels if each.flavor is not None else {}
    own = [node for node in classes if node.matches(labels) is not False]
    certain: list[NodeClass] = []
    allowed: list[NodeClass] = []
    by_node: dict[NodeClass, list[_Obstacle]] = {}
    for node in own:
        found = by_node[node] = list(_obstacles(each, node))
        allowed += [node] if all(other.kind in ("resource", "taint") for other in found) else []
        certain += [node] if not found and node.matches(labels) else []
    possible = {node: found for node, found in by_node.items() if all(other.is_unknown for other in found)}
    added = each.flavor.tolerations if each.flavor is not None else ()
    tainted = frozenset(
        node for node in classes if any(not tolerates(pod_set.tolerations, taint, added) for taint in node.group.taints)
    )
    demand = Demand(pod_set, certain, allowed, tuple(possible), classes, tainted)
    if certain:
        return demand, []
    if possible or not own:
        return _maybe(index, each, demand, possible)
    return demand, list(_impossible(index, each, by_node))


def _maybe(
    index: int, each: AssignedPods, demand: Demand, possible: dict[NodeClass, list[_Obstacle]]
) -> tuple[Demand, list[Reason]]:
    """Return the nodes that may take a pod, with what is not known of them."""
    demand.classes = demand.spread_classes = list(possible)
    if not possible:
        message = f"no node has the labels of flavor '{each.flavor_name}'" if each.flavor else "the fleet has no nodes"
        return demand, [Reason(pod_set=index, path=("spec",), code="no-nodes", message=message)]
    reasons: dict[tuple[FieldSteps, str], Reason] = {}
    for node, found in possible.items():
        for other in found:
            what, why = _unknown_words(each.pod_set, node, other)
            message = f"whether nodes of {place_of(each)} {what} is not known: {why}"
            reasons.setdefault(
                (other.path, other.key),
                Reason(pod_set=index, path=other.path, code="placement-unknown", message=message, is_unknown=True),
            )
        if not found:
            message = f"whether nodes of {place_of(each)} have its labels is not known: {node.group.open_reason}"
            reasons.setdefault(
                ((), ""),
                Reason(pod_set=index, path=("spec",), code="placement-unknown", message=message, is_unknown=True),
            )
    return demand, list(reasons.values())


def _unknown_words(pod_set: PodSet, node: NodeClass, obstacle: _Obstacle) -> tuple[str, str]:
    """Return what is not known of nodes, and why."""
    if obstacle.kind == "resource":
        return f"have enough {obstacle.key}", node.group.why_unknown(obstacle.key)
    if obstacle.kind == "selector":
        wanted = pod_set.node_selector.get(obstacle.key) or pod_set.runtime_class
        return f"have {obstacle.key}: '{wanted}'", node.label(obstacle.key).why
    is_volume = obstacle.kind == "volume"
    terms = _terms_of(pod_set, obstacle.key) if is_volume else pod_set.affinity_terms
    keys = [each.key for term in terms for each in term if node.matches_requirement(each) is None]
    label = node.group.label(HOSTNAME) if keys[0] == "metadata.name" else node.label(keys[0])
    what = f"can mount its volume '{obstacle.key}'" if is_volume else "match its node affinity"
    return what, f"{join_words(list(dict.fromkeys(keys)))}: {label.why}"


def _impossible(index: int, each: AssignedPods, by_node: dict[NodeClass, list[_Obstacle]]) -> Iterator[Reason]:
    """Yield what keeps a pod off every node; what does so only together is one reason."""
    nodes = list(by_node)
    definite = [[other for other in found if not other.is_unknown] for found in by_node.values()]
    common = set(definite[0]).intersection(*definite[1:])
    shared = [other for other in definite[0] if other in common]
    for other in shared:
        code, text = _words(each, nodes, other)
        yield Reason(pod_set=index, path=other.path, code=code, message=text)
    if shared:
        return
    # Each part is satisfied somewhere, but no node satisfies all: name the parts, and what the nodes lack.
    parts = list(dict.fromkeys(other for found in definite for other in found))
    texts = [
        _words(each, [node for node in nodes if other in by_node[node]], other)[1].partition("; ")[0] for other in parts
    ]
    yield Reason(
        pod_set=index,
        path=parts[0].path,
        code="no-nodes",
        message=f"no node of {place_of(each)} satisfies all its constraints: {join_words(texts)}; remove one of them",
    )


def place_of(each: AssignedPods) -> str:
    """Return the words for the nodes that the pods may get: those of the flavor."""
    return f"flavor '{each.flavor_name}'" if each.flavor_name is not None else "the fleet"


def _words(each: AssignedPods, nodes: Sequence[NodeClass], obstacle: _Obstacle) -> tuple[str, str]:
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
    values = sorted({value for node in nodes for value in node.label(each.key).values})[:6]
    return f"{written} (they have {join_quoted(values)})" if values else f"{written} (they do not have it)"
