"""Whether the scheduler places the pods of a job once Kueue has assigned flavors, on nodes without other pods.

Kueue adds the labels of the flavor to the node selector, and its tolerations; with a topology it also names each pod's
node. Source: Kubernetes 1.36 `pkg/scheduler/framework/plugins`, read 2026-11-25.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from berth.diagnostics import join_words
from berth.jobs.pod_set import FieldSteps
from berth.nodes.model import HOSTNAME
from berth.placement.arrangement import arrange
from berth.placement.node_classes import NodeClass
from berth.placement.obstacles import eligible_nodes, unknowable_reasons
from berth.placement.own_pods import OwnPods, own_scope
from berth.placement.reasons import AssignedPods, Reason, place_of
from berth.placement.room import ALL_RULES, Demand, PodRule, pods_per_node, rules_of
from berth.plan.node_settings import NETWORK_RESOURCE
from berth.text import pluralize

_BESIDE_SYSTEM = "whether its pods fit beside the kernel and the pods of the system is not known"
_RULE_PATHS: dict[PodRule, FieldSteps] = {
    PodRule.PORTS: ("spec", "containers", 0, "ports"),
    PodRule.ANTI_AFFINITY: ("spec", "affinity", "podAntiAffinity"),
    PodRule.AFFINITY: ("spec", "affinity", "podAffinity"),
    PodRule.SPREAD: ("spec", "topologySpreadConstraints"),
    PodRule.EXCLUSIVE: ("spec",),
}


def unplaceable_reasons(assigned: Sequence[AssignedPods], classes: Sequence[NodeClass]) -> list[Reason]:
    """Return every reason why the scheduler leaves pods pending, or why that is unknown; empty if it places all."""
    reasons: list[Reason] = []
    demands: list[Demand] = []
    # The pods as if the scheduler chose their nodes; of nodes that Kueue names, spreading compares only one.
    free = [
        each if each.nodes is None else replace(each, nodes=None, pod_set=replace(each.pod_set, spread=()))
        for each in assigned
    ]
    for index, (each, alone) in enumerate(zip(assigned, free, strict=True)):
        if not each.pod_set.count:
            continue
        reasons += unknowable_reasons(index, each.pod_set)
        open_to, found = eligible_nodes(index, alone, classes)
        reasons += found
        reasons += _unknown_domains(index, each, open_to.classes)
        demands.append(open_to)
    if any(not each.is_unknown for each in reasons) or not demands:
        return [each for each in reasons if not each.is_unknown] or reasons
    # First the rules that the named nodes break, then what no nodes at all allow.
    named = [found for index, each in enumerate(assigned) if each.nodes is not None for found in _on_named(index, each)]
    found = named or list(_crowded(free, demands)) or reasons or list(_if_all_pools_run(free, demands))
    return found or _near_the_limit(free, classes)


def _unknown_domains(index: int, each: AssignedPods, classes: Sequence[NodeClass]) -> Iterator[Reason]:
    """Yield topology keys of rules that need a label of which nobody knows whether the nodes have it."""
    pod_set = each.pod_set
    keys = [("topologySpreadConstraints", other.topology_key) for other in pod_set.spread]
    keys += [("affinity", term.topology_key) for term in pod_set.pod_affinity]
    for field, key in dict.fromkeys(keys):
        answers = [node.label(key) for node in classes]
        if answers and key != HOSTNAME and all(answer.present is None for answer in answers):
            yield Reason(
                pod_set=index,
                path=("spec", field),
                code="placement-unknown",
                message=f"whether nodes of {place_of(each)} have the label {key}, which its {field} needs, is not known"
                f": {answers[0].why}",
                is_unknown=True,
            )


def _if_all_pools_run(assigned: Sequence[AssignedPods], demands: Sequence[Demand]) -> Iterator[Reason]:
    """Yield what is unknown of pods that count nodes of other pools, which may have none, to be spread over them."""
    if all(other.honours_affinity for each in demands for other in each.pod_set.spread):
        return
    for each in _crowded(assigned, [replace(demand, is_full=True) for demand in demands]):
        why = f"its nodeAffinityPolicy counts nodes of other pools, which come and go: {each.message}"
        message = f"whether its pods can be spread is not known: {why}"
        yield replace(each, code="placement-unknown", message=message, is_unknown=True)


def _near_the_limit(assigned: Sequence[AssignedPods], classes: Sequence[NodeClass]) -> list[Reason]:
    """Return what is unknown of pods that fit only if the kernel and the system's own pods take little of the nodes."""
    if all(each.least is None for each in classes):
        return []
    found = unplaceable_reasons(assigned, [each.certain for each in classes])
    return [
        replace(each, code="placement-unknown", message=f"{_BESIDE_SYSTEM}: {each.message}", is_unknown=True)
        for each in found
    ]


# --- all pods ---------------------------------------------------------------------------------------------------------


def _crowded(assigned: Sequence[AssignedPods], demands: Sequence[Demand]) -> Iterator[Reason]:
    """Yield why the pods do not fit on the nodes together, though each of them would by itself."""
    indices = [index for index, each in enumerate(assigned) if each.pod_set.count]
    if all(fits == demand.pod_set.count for fits, demand in zip(arrange(demands), demands, strict=True)):
        return
    plain = arrange(demands, frozenset())
    crowded = [
        (index, demand, fits)
        for index, demand, fits in zip(indices, demands, plain, strict=True)
        if fits < demand.pod_set.count
    ]
    if crowded:
        for index, demand, fits in crowded:
            yield _no_room(index, assigned[index], demand, fits, alone=len(demands) == 1)
        return
    found = False
    for rule in PodRule:
        counts = arrange(demands, frozenset({rule})) if any(rule in rules_of(each.pod_set) for each in demands) else []
        for index, demand, fits in zip(indices, demands, counts, strict=False):
            if fits < demand.pod_set.count:
                found = True
                yield _kept_apart(index, assigned[index], rule, fits)
    if not found:
        counts = arrange(demands, ALL_RULES)
        short = next(at for at, demand in enumerate(demands) if counts[at] < demand.pod_set.count)
        index, pod_set = indices[short], demands[short].pod_set
        named = join_words([f"its {rule}" for rule in rules_of(pod_set)] or ["the other pods' rules"])
        message = f"{named} leave room for {counts[short]} of its {pod_set.count} pods on {place_of(assigned[index])}"
        yield Reason(pod_set=index, path=("spec",), code="no-place", message=f"{message}; remove one of them")


def _no_room(index: int, each: AssignedPods, demand: Demand, fits: int, *, alone: bool) -> Reason:
    """Return the reason that nodes are too few for the pods, with the resource that limits them."""
    pod_set = each.pod_set
    node = max(demand.classes, key=lambda other: pods_per_node(pod_set, other))
    room = pods_per_node(pod_set, node)
    limits = {
        resource: amount // requested
        for resource, requested in pod_set.node_requests.items()
        if requested and (amount := node.amount(resource)) is not None
    }
    resource = min(limits, key=limits.__getitem__)
    nodes = min(sum(other.count for other in demand.classes), demand.classes[0].group.pool_nodes.max)
    together = "" if alone else " beside the job's other pods"
    where = f"{pluralize(nodes, 'node')} of {place_of(each)}{together}"
    network = resource.removeprefix(NETWORK_RESOURCE) if resource.startswith(NETWORK_RESOURCE) else None
    message = (
        f"{fits} of its {pod_set.count} pods fit on the {where}: a node of {node.group.machine_type} has "
        f"{f'the network {network}' if network else resource} for {room}"
    )
    less = "remove the network from its annotation" if network else f"request less {resource}"
    remedy = f"write at most {pluralize(fits, 'pod')}, or {less}" if fits else less
    return Reason(pod_set=index, path=pod_set.request_path(resource), code="no-place", message=f"{message}; {remedy}")


def _kept_apart(index: int, each: AssignedPods, rule: PodRule, fits: int) -> Reason:
    """Return the reason that a rule between the job's pods leaves some of them without a node."""
    pod_set = each.pod_set
    key = {
        PodRule.ANTI_AFFINITY: [term.topology_key for term in pod_set.pod_anti_affinity],
        PodRule.AFFINITY: [term.topology_key for term in pod_set.pod_affinity],
        PodRule.SPREAD: [other.topology_key for other in pod_set.spread],
        PodRule.EXCLUSIVE: [pod_set.exclusive_topology or ""],
        PodRule.PORTS: [f"port {port.port}" for port in pod_set.host_ports],
    }[rule]
    named = join_words(list(dict.fromkeys(key))) or "of the other pods"
    message = f"its {rule} ({named}) leaves room for {fits} of its {pod_set.count} pods on {place_of(each)}"
    remedy = (
        f"write at most {pluralize(fits, 'pod')}, or remove it"
        if fits
        else "write a label that the nodes have, or remove it"
    )
    return Reason(pod_set=index, path=_RULE_PATHS[rule], code="no-place", message=f"{message}; {remedy}")


# --- nodes that Kueue names -------------------------------------------------------------------------------------------


def _on_named(index: int, each: AssignedPods) -> Iterator[Reason]:
    """Yield the rules that pods break on the nodes that Kueue names for them: the scheduler has no other choice.

    Spreading is satisfied there: each pod selects one node, so there is one domain to compare with.
    """
    pod_set = each.pod_set
    if pod_set.host_ports and any(count > 1 for _, count in each.nodes or ()):
        yield _pinned(index, each, PodRule.PORTS, "several of its pods on one node")
    for term in pod_set.pod_anti_affinity:
        found = _spread_over(each, term.topology_key, own_scope(term.selector, term, pod_set))
        if any(count > 1 for domains in found for key, count in domains.items() if key is not None):
            yield _pinned(index, each, PodRule.ANTI_AFFINITY, f"several of its pods in one {term.topology_key}")
            break
    for term in pod_set.pod_affinity:
        found = _spread_over(each, term.topology_key, own_scope(term.selector, term, pod_set))
        if any(len(domains) > 1 or None in domains for domains in found):
            yield _pinned(index, each, PodRule.AFFINITY, f"its pods outside one {term.topology_key}")
            break
    if any(None in domains for other in pod_set.spread for domains in _spread_over(each, other.topology_key)):
        yield _pinned(index, each, PodRule.SPREAD, "its pods on nodes without the label")
    if pod_set.exclusive_topology is not None and not _is_exclusive(each, pod_set.exclusive_topology):
        yield _pinned(
            index, each, PodRule.EXCLUSIVE, f"child jobs in one {pod_set.exclusive_topology}, or across several"
        )


def _spread_over(each: AssignedPods, key: str, scope: OwnPods = OwnPods.ALL) -> list[Counter[object]]:
    """Return the number of pods in each domain of a topology key, for each group of pods that a selector selects.

    Kueue fills the nodes that it names in the order of the pods.
    """
    if scope not in (OwnPods.ALL, OwnPods.CHILD):
        return []
    flat = [domain for leaf, count in each.nodes or () for domain in [leaf.node_class.domain_of(leaf, key)] * count]
    size = max(1, each.pod_set.count // (1 if scope is OwnPods.ALL else max(1, each.pod_set.child_jobs)))
    return [Counter(flat[start : start + size]) for start in range(0, len(flat), size)]


def _is_exclusive(each: AssignedPods, key: str) -> bool:
    """Return whether the nodes that Kueue names keep child jobs apart."""
    groups = _spread_over(each, key, OwnPods.CHILD)
    alone = all(len(group) == 1 and None not in group for group in groups)
    return alone and len({next(iter(group)) for group in groups}) == len(groups)


def _pinned(index: int, each: AssignedPods, rule: PodRule, what: str) -> Reason:
    message = f"Kueue places {what} of {place_of(each)}, and its {rule} forbids that"
    return Reason(
        pod_set=index, path=_RULE_PATHS[rule], code="no-place", message=f"{message}; remove it, or the topology request"
    )
