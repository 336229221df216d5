"""Fields of a pod template that decide on which nodes its pods run: affinity, tolerations, spreading, topology, ports.

Sources: Kubernetes 1.36 `pkg/apis/core/validation` (what the API server refuses); Kueue 0.19.2
`pkg/controller/jobframework/tas.go` (annotations); read 2026-11-25.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from berth.jobs.pod_set import (
    DIFFERENT,
    SAME,
    HostPort,
    NodeSelectorRequirement,
    PodAffinityTerm,
    SpreadConstraint,
    TopologyRequest,
)
from berth.jobs.values import SourceValue, describe_value, get_nested
from berth.manifests.workloads.values import as_list, as_mapping
from berth.plan.node_settings import Toleration

Spec = dict[str, SourceValue]
"""The fields of a pod's spec, by key."""

TOPOLOGY_PREFIX = "kueue.x-k8s.io/podset-"
"""Prefix of the annotations with which pods ask Kueue for a topology."""
_NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""Label with a namespace's own name, which Kubernetes sets."""
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_NODE_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_LABEL_OPERATORS = _NODE_OPERATORS[:4]


def placement_facts(template: SourceValue, spec: Spec, added: Collection[str]) -> dict[str, Any]:
    """Return the facts of a PodSet that these fields hold, by name; wrong values become faults.

    `added` are the keys of labels that a controller adds to the pods.
    """
    written = as_mapping(get_nested(template.value, "metadata", "labels"))
    labels = {**dict.fromkeys(added), **{str(key): str(value) for key, value in written.items()}}
    host_network = "hostNetwork" in spec and spec["hostNetwork"].value is True
    return {
        "affinity_terms": tuple(_node_terms(spec)),
        "tolerations": tuple(_tolerations(spec)),
        "topology": topology_request(template),
        "labels": {key: value for key, value in labels.items() if value is not None},
        "pod_affinity": tuple(_pod_terms(spec, "podAffinity", labels)),
        "pod_anti_affinity": tuple(_pod_terms(spec, "podAntiAffinity", labels)),
        "spread": tuple(_spread_constraints(spec, labels)),
        "host_ports": tuple(_host_ports(spec, host_network=host_network)),
        "host_network": host_network,
    }


# --- nodes ------------------------------------------------------------------------------------------------------------


def _inside(spec: Spec, *keys: str) -> SourceValue | None:
    """Return the value at nested keys of a spec; None if one is missing."""
    source = spec.get(keys[0])
    for key in keys[1:]:
        value = None if source is None else as_mapping(source.value).get(key)
        source = None if source is None or value is None else source.child(key, value)
    return source


def _items(source: SourceValue | None, noun: str) -> list[SourceValue]:
    return (source.sequence(noun) or []) if source is not None else []


def _node_terms(spec: Spec) -> Iterator[tuple[NodeSelectorRequirement, ...]]:
    """Yield the terms of the required node affinity."""
    for term in _items(_inside(spec, "affinity", "nodeAffinity", _REQUIRED, "nodeSelectorTerms"), "a list of terms"):
        fields = term.mapping("a term") or {}
        labels = [
            _requirement(each, _NODE_OPERATORS)
            for each in _items(fields.get("matchExpressions"), "a list of expressions")
        ]
        names = [_node_field(each) for each in _items(fields.get("matchFields"), "a list of expressions")]
        if None not in labels and None not in names:  # else the term has a fault of its own
            yield tuple(each for each in (*labels, *names) if each is not None)


def _requirement(source: SourceValue, operators: tuple[str, ...]) -> NodeSelectorRequirement | None:
    """Return an expression; None after the fault for which the API server refuses it."""
    fields = source.known_fields(("key", "operator"), ("values",))
    if fields is None:
        return None
    key, operator = fields["key"].text("a label's key"), fields["operator"].one_of(operators)
    listed = [str(value.value) for value in _items(fields.get("values"), "a list of values")]
    if not key or not operator:
        return None
    if operator in ("Exists", "DoesNotExist"):
        if listed:
            fields["values"].fault("bad-value", f"{operator} has no values; remove values, or write the operator In")
            return None
    elif not listed:
        source.fault("missing-key", f"'values' is missing; {operator} needs it")
        return None
    elif operator in ("Gt", "Lt") and (len(listed) > 1 or not listed[0].removeprefix("-").isdecimal()):
        fields["values"].fault("bad-value", f"{operator} compares whole numbers; write one in quotes, such as ['4']")
        return None
    return NodeSelectorRequirement(key, operator, tuple(listed))


def _node_field(source: SourceValue) -> NodeSelectorRequirement | None:
    """Return an expression of matchFields, which knows only the node's name."""
    found = _requirement(source, ("In", "NotIn"))
    if found is None:
        return None
    if found.key != "metadata.name" or len(found.values) != 1:
        source.fault("bad-value", "matchFields has one key, metadata.name, and one value; write a label instead")
        return None
    return NodeSelectorRequirement(found.key, found.operator, found.values, is_field=True)


def _tolerations(spec: Spec) -> Iterator[Toleration]:
    for entry in _items(spec.get("tolerations"), "a list of tolerations"):
        fields = entry.known_fields((), ("key", "operator", "value", "effect", "tolerationSeconds"))
        if fields is not None:
            texts = {key: str(value.value) for key, value in fields.items() if value.value is not None}
            operator = texts.get("operator", "Equal")
            yield Toleration(
                key=texts.get("key"), operator=operator, value=texts.get("value"), effect=texts.get("effect")
            )


# --- other pods -------------------------------------------------------------------------------------------------------


def _expressions(fields: Spec, name: str) -> list[NodeSelectorRequirement] | None:
    """Return the requirements of a label selector; None if it is not there."""
    source = fields.get(name)
    if source is None or source.value is None:
        return None
    inner = source.mapping("a label selector") or {}
    matched = inner["matchLabels"].mapping("a mapping of labels") if "matchLabels" in inner else {}
    found = [NodeSelectorRequirement(key, "In", (str(each.value),)) for key, each in (matched or {}).items()]
    for each in _items(inner.get("matchExpressions"), "a list of expressions"):
        expression = _requirement(each, _LABEL_OPERATORS)
        found += [expression] if expression is not None else []
    return found


def _selector(fields: Spec, labels: Mapping[str, str | None]) -> tuple[NodeSelectorRequirement, ...] | None:
    """Return the requirements of a labelSelector with those of matchLabelKeys; None if there is no selector."""
    found = _expressions(fields, "labelSelector")
    if found is None:
        return None
    # The API server adds the pod's own values of these keys; it skips a key that the pod does not have.
    for key, operator in (("matchLabelKeys", SAME), ("mismatchLabelKeys", DIFFERENT)):
        names = [str(each) for each in as_list(fields[key].value)] if key in fields else []
        found += [NodeSelectorRequirement(name, operator) for name in names if name in labels]
    return tuple(found)


def _topology_key(source: SourceValue, fields: Spec) -> str | None:
    if "topologyKey" not in fields:
        source.fault("missing-key", "'topologyKey' is missing; write it")
        return None
    return fields["topologyKey"].text("a label of nodes, such as kubernetes.io/hostname")


def _pod_terms(spec: Spec, kind: str, labels: Mapping[str, str | None]) -> Iterator[PodAffinityTerm]:
    for source in _items(_inside(spec, "affinity", kind, _REQUIRED), "a list of terms"):
        fields = source.mapping("a term") or {}
        key = _topology_key(source, fields) if fields else None
        if key is None:
            continue
        spaces = _expressions(fields, "namespaceSelector")
        named = [each.values for each in spaces or () if (each.key, each.operator) == (_NAMESPACE_NAME, "In")]
        written = as_list(fields["namespaces"].value) if "namespaces" in fields else []
        is_named = len(named) == len(spaces or ()) == 1
        yield PodAffinityTerm(
            topology_key=key,
            selector=_selector(fields, labels),
            namespaces=(*(str(each) for each in written), *(named[0] if is_named else ())),
            all_namespaces=spaces == [],
            has_namespace_selector=bool(spaces) and not is_named,
        )


def _spread_constraints(spec: Spec, labels: Mapping[str, str | None]) -> Iterator[SpreadConstraint]:
    for source in _items(spec.get("topologySpreadConstraints"), "a list of constraints"):
        fields = source.mapping("a constraint") or {}
        key = _topology_key(source, fields) if fields else None
        hard = fields["whenUnsatisfiable"].value == "DoNotSchedule" if "whenUnsatisfiable" in fields else True
        if not hard and "minDomains" in fields:
            message = "the API server refuses minDomains with ScheduleAnyway; remove it, or write DoNotSchedule"
            fields["minDomains"].fault("refused", message)
        if key is None or not hard:
            continue
        skew = fields["maxSkew"].integer("a whole number of pods from 1", 1) if "maxSkew" in fields else 1
        least = fields.get("minDomains")
        domains = least.integer("a whole number of domains from 1", 1) if least is not None else 1

        def policy(name: str, fields: Spec = fields) -> object:
            return fields[name].value if name in fields else None

        yield SpreadConstraint(
            topology_key=key,
            max_skew=skew or 1,
            selector=_selector(fields, labels),
            min_domains=domains or 1,
            honours_affinity=policy("nodeAffinityPolicy") != "Ignore",
            honours_taints=policy("nodeTaintsPolicy") == "Honor",
        )


def _host_ports(spec: Spec, *, host_network: bool) -> Iterator[HostPort]:
    """Yield the ports of the node that a pod occupies: on the host network each port of a container is one."""
    for key in ("containers", "initContainers"):
        for container in as_list(spec[key].value) if key in spec else ():
            if key == "initContainers" and get_nested(container, "restartPolicy") != "Always":
                continue  # its ports are free again before the others start, and the scheduler does not count them
            for port in as_list(get_nested(container, "ports")):
                number = get_nested(port, "hostPort") or (get_nested(port, "containerPort") if host_network else None)
                if isinstance(number, int) and not isinstance(number, bool) and number > 0:
                    protocol, address = get_nested(port, "protocol"), get_nested(port, "hostIP")
                    yield HostPort(number, str(protocol or "TCP"), str(address or "0.0.0.0"))


# --- Kueue's topology -------------------------------------------------------------------------------------------------


def topology_request(template: SourceValue) -> TopologyRequest | None:
    """Return what the annotations of a template ask of Kueue; None without one that counts.

    Of required, preferred and unconstrained Kueue reads the first that is written; a slice needs both its level and
    its size.
    """
    annotations = as_mapping(get_nested(template.value, "metadata", "annotations"))
    own = {
        str(key).removeprefix(TOPOLOGY_PREFIX): value
        for key, value in annotations.items()
        if str(key).startswith(TOPOLOGY_PREFIX)
    }
    if not own:
        return None

    def text(name: str) -> str | None:
        return None if name not in own else str(own[name])

    required, preferred, free = (text(f"{each}-topology") for each in ("required", "preferred", "unconstrained"))
    level, size = text("slice-required-topology"), text("slice-size")
    whole = level is not None and size is not None and size.isdecimal()
    if required is None and preferred is None and free is None and not whole:
        return None
    chosen = required is None and preferred is None and free is not None
    return TopologyRequest(
        required=required,
        preferred=preferred if required is None else None,
        unconstrained=free in TRUE_WORDS if chosen else None,
        slice_level=level if whole else None,
        slice_size=int(str(size)) if whole else None,
        group=text("group-name") if required is not None or preferred is not None else None,
    )


TRUE_WORDS = ("1", "t", "T", "true", "TRUE", "True")
FALSE_WORDS = ("0", "f", "F", "false", "FALSE", "False")
"""What Go's strconv.ParseBool reads as true, and as false."""


def unread_topology(metadata: SourceValue) -> Iterator[tuple[SourceValue, str]]:
    """Yield topology annotations of pods that Kueue's webhook refuses, with why."""
    annotations = as_mapping(get_nested(metadata.value, "annotations"))
    place = metadata.child("annotations", annotations)

    def at(name: str) -> SourceValue | None:
        key = f"{TOPOLOGY_PREFIX}{name}"
        return place.child(key, annotations[key]) if key in annotations else None

    placed = [each for each in map(at, ("required-topology", "preferred-topology", "unconstrained-topology")) if each]
    for extra in placed[1:]:
        yield extra, f"it is a second topology annotation besides {placed[0].path[-1]}; keep one of them"
    free = at("unconstrained-topology")
    if free is not None and str(free.value) not in (*TRUE_WORDS, *FALSE_WORDS):
        yield free, f'{describe_value(free.value)} is not true or false; write "true"'
    level, size = at("slice-required-topology"), at("slice-size")
    if level is not None and size is None:
        yield level, f"it needs {TOPOLOGY_PREFIX}slice-size too; write the number of pods of a slice"
    if size is not None and level is None:
        yield size, f"it needs {TOPOLOGY_PREFIX}slice-required-topology too; write the level that a slice stays in"
    if size is not None and not (str(size.value).isdecimal() and int(str(size.value)) > 0):
        yield size, f"{describe_value(size.value)} is not a number of pods; write a whole number from 1 in quotes"
    group = at("group-name")
    if group is not None and (level is not None or size is not None):
        yield group, "it cannot be combined with slices; remove one of them"
    elif group is not None and (at("required-topology") or at("preferred-topology")) is None:
        yield group, f"it needs {TOPOLOGY_PREFIX}required-topology or {TOPOLOGY_PREFIX}preferred-topology; write one"
