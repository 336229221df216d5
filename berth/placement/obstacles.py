"""What keeps a single pod of a job off nodes that are empty, in the words of the field that says so.

Source: Kubernetes 1.36 `pkg/scheduler/framework/plugins/{nodeaffinity,tainttoleration,noderesources}`, read 2026-11-25.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from berth import catalog
from berth.diagnostics import join_words
from berth.jobs.pod_set import FieldSteps, PodSet
from berth.placement.matching import tolerates
from berth.placement.node_classes import NodeClass
from berth.placement.own_pods import OwnPods, own_scope
from berth.placement.reasons import AssignedPods, Obstacle, Reason, obstacle_words, place_of, unknown_words
from berth.placement.room import Demand

DEFAULT_SCHEDULER = "default-scheduler"
"""The scheduler of pods that name none."""
_NODE_AFFINITY: FieldSteps = ("spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")


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


def _choices(pod_set: PodSet, node: NodeClass) -> Iterator[Obstacle]:
    """Yield what pods choose that nodes are not, or may not be."""
    for key, value in pod_set.node_selector.items():
        answer = node.matches({key: value})
        if answer is not True:
            yield Obstacle(("spec", "nodeSelector", key), "selector", key, answer is None)
    if pod_set.affinity_terms:
        answer = node.matches_terms(pod_set.affinity_terms)
        if answer is not True:
            yield Obstacle(_NODE_AFFINITY, "affinity", "", answer is None)
    for volume in pod_set.volume_nodes:
        answer = node.matches_terms(volume.terms)
        if answer is not True:
            yield Obstacle(volume.path, "volume", volume.name, answer is None)


def _obstacles(each: AssignedPods, node: NodeClass) -> Iterator[Obstacle]:
    pod_set = each.pod_set
    yield from _choices(pod_set, node)
    added = each.flavor.tolerations if each.flavor is not None else ()
    sandbox = catalog.taints().sandbox
    if pod_set.runtime_class == sandbox.value:  # as the RuntimeClass of GKE adds it to pods
        added = (*added, sandbox.tolerated)
        if (answer := node.matches({sandbox.key: sandbox.value})) is not True:
            yield Obstacle(("spec", "runtimeClassName"), "selector", sandbox.key, answer is None)
    for taint in node.group.taints:
        if not tolerates(pod_set.tolerations, taint, added):
            yield Obstacle(("spec", "tolerations"), "taint", f"{taint.key}={taint.value}:{taint.effect}")
    for resource, amount in pod_set.node_requests.items():
        most = node.most(resource)
        if most is not None and amount > most:
            yield Obstacle(pod_set.request_path(resource), "resource", resource)
        elif most is None and amount and resource in pod_set.request_paths:
            yield Obstacle(pod_set.request_path(resource), "resource", resource, is_unknown=True)


def eligible_nodes(index: int, each: AssignedPods, classes: Sequence[NodeClass]) -> tuple[Demand, list[Reason]]:
    """Return the nodes that take one of the pods by itself; the reasons why none does, or why that is unknown."""
    pod_set = each.pod_set
    labels: Mapping[str, str] = each.flavor.node_labels if each.flavor is not None else {}
    own = [node for node in classes if node.matches(labels) is not False]
    certain: list[NodeClass] = []
    allowed: list[NodeClass] = []
    by_node: dict[NodeClass, list[Obstacle]] = {}
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
    index: int, each: AssignedPods, demand: Demand, possible: dict[NodeClass, list[Obstacle]]
) -> tuple[Demand, list[Reason]]:
    """Return the nodes that may take a pod, with what is not known of them."""
    demand.classes = demand.spread_classes = list(possible)
    if not possible:
        message = f"no node has the labels of flavor '{each.flavor_name}'" if each.flavor else "the fleet has no nodes"
        return demand, [Reason(pod_set=index, path=("spec",), code="no-nodes", message=message)]
    reasons: dict[tuple[FieldSteps, str], Reason] = {}
    for node, found in possible.items():
        for other in found:
            what, why = unknown_words(each.pod_set, node, other)
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


def _impossible(index: int, each: AssignedPods, by_node: dict[NodeClass, list[Obstacle]]) -> Iterator[Reason]:
    """Yield what keeps a pod off every node; what does so only together is one reason."""
    definite_by_node = {node: [other for other in found if not other.is_unknown] for node, found in by_node.items()}
    # Nodes that are only too small say most; without such, all nodes do.
    small = {
        node: found for node, found in definite_by_node.items() if all(other.kind == "resource" for other in found)
    }
    nodes, definite = list(small or definite_by_node), list((small or definite_by_node).values())
    common = set(definite[0]).intersection(*definite[1:])
    shared = [other for other in definite[0] if other in common]
    for other in shared:
        code, text = obstacle_words(each, nodes, other)
        yield Reason(pod_set=index, path=other.path, code=code, message=text)
    if shared:
        return
    # Each part is satisfied somewhere, but no node satisfies all: name the parts, and what the nodes lack.
    parts = list(dict.fromkeys(other for found in definite for other in found))
    texts = [
        obstacle_words(each, [node for node in nodes if other in by_node[node]], other)[1].partition("; ")[0]
        for other in parts
    ]
    yield Reason(
        pod_set=index,
        path=parts[0].path,
        code="no-nodes",
        message=f"no node of {place_of(each)} satisfies all its constraints: {join_words(texts)}; remove one of them",
    )
