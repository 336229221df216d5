"""The requests and node constraints of a pod, from its template.

Requests are computed as in Kubernetes (`k8s.io/component-helpers/resource`): the sum of containers, or the largest init
container if it is larger, sidecars with both, plus overhead. A limit without a request counts as a request.
"""

from __future__ import annotations

from collections.abc import Iterator

from berth.jobs.pod_set import NodeSelectorRequirement, PodSet
from berth.jobs.quantities import parse_quantity
from berth.jobs.values import SourceValue, describe_value, get_nested
from berth.manifests.workloads.values import as_mapping
from berth.plan.nodes import Toleration

_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"

ResourceList = dict[str, int]


def build_pod_set(template: SourceValue, name: str, count: int) -> PodSet | None:
    """Return the pods of a template; None after a fault."""
    spec = read_pod_spec(template)
    if spec is None and "spec" not in as_mapping(template.value) and isinstance(template.value, dict):
        template.fault("missing-key", "'spec' is missing; write it")
    requests = _pod_requests(template, spec) if spec is not None else None
    if spec is None or requests is None:
        return None
    selector = spec["nodeSelector"].mapping("a mapping of node labels") if "nodeSelector" in spec else {}
    affinity = tuple(_affinity_terms(spec))
    if selector is None:
        return None
    return PodSet(
        name=name,
        count=count,
        requests=requests,
        node_selector={key: str(value.value) for key, value in selector.items()},
        affinity_terms=affinity,
        tolerations=tuple(_parse_tolerations(spec)),
    )


def read_pod_spec(template: SourceValue) -> dict[str, SourceValue] | None:
    """Return the spec of a pod template."""
    fields = template.mapping("a pod template")
    if fields is None or "spec" not in fields:
        return None
    return fields["spec"].mapping("a pod's spec")


def _pod_requests(template: SourceValue, spec: dict[str, SourceValue]) -> ResourceList | None:
    containers = spec["containers"].sequence("a list of containers") if "containers" in spec else None
    if not containers:
        if "containers" not in spec or containers is not None:
            template.fault("missing-key", "its pods have no containers; write them")
        return None
    container_requests = [_container_requests(container) for container in containers]
    init_containers = spec["initContainers"].sequence("a list of containers") if "initContainers" in spec else []
    init_requests = [
        (get_nested(each.value, "restartPolicy") == "Always", _container_requests(each))
        for each in init_containers or ()
    ]
    overhead = _parse_amounts(spec["overhead"]) if "overhead" in spec else {}
    # Requests of the pod replace those of its containers.
    pod_level = _resource_requests(spec["resources"]) if "resources" in spec else {}
    if (
        init_containers is None
        or overhead is None
        or pod_level is None
        or None in container_requests
        or any(r is None for _, r in init_requests)
    ):
        return None
    total = (
        _effective_requests(
            [r for r in container_requests if r is not None], [(s, r) for s, r in init_requests if r is not None]
        )
        | pod_level
    )
    return _add(total, overhead)


def _effective_requests(
    containers: list[ResourceList], init_containers: list[tuple[bool, ResourceList]]
) -> ResourceList:
    """Return the sum of containers and sidecars, or the maximum during the init containers if it is larger."""
    sidecars: ResourceList = {}
    peak: ResourceList = {}
    for sidecar, requests in init_containers:
        with_sidecars = _add(sidecars, requests)
        peak = _maximum(peak, with_sidecars)
        if sidecar:
            sidecars = with_sidecars
    total = sidecars
    for requests in containers:
        total = _add(total, requests)
    return _maximum(total, peak)


def _container_requests(container: SourceValue) -> ResourceList | None:
    fields = container.mapping("a container")
    if fields is None:
        return None
    return _resource_requests(fields["resources"]) if "resources" in fields else {}


def _resource_requests(resources: SourceValue) -> ResourceList | None:
    fields = resources.mapping("a mapping with requests and limits")
    if fields is None:
        return None
    limits = _parse_amounts(fields["limits"]) if "limits" in fields else {}
    requests = _parse_amounts(fields["requests"]) if "requests" in fields else {}
    return None if limits is None or requests is None else {**limits, **requests}


def _parse_amounts(source: SourceValue) -> ResourceList | None:
    """Return resource → amount; None after a fault."""
    if source.value is None:
        return {}
    amounts: ResourceList = {}
    for resource, quantity in (source.mapping("a mapping of resources to quantities") or {}).items():
        number = parse_amount(resource, quantity)
        if number is None:
            return None
        amounts[resource] = number
    return amounts if isinstance(source.value, dict) else None


def parse_amount(resource: str, quantity: SourceValue) -> int | None:
    """Return the amount of a resource as a whole number; None after the fault that it is not a quantity."""
    number = parse_quantity(resource, quantity.value)
    if number is None:
        message = f"{describe_value(quantity.value)} is not a quantity; write one such as 4, 500m or 16Gi"
        quantity.fault("bad-quantity", message)
    return number


def _add(left: ResourceList, right: ResourceList) -> ResourceList:
    return {name: left.get(name, 0) + right.get(name, 0) for name in {**left, **right}}


def _maximum(left: ResourceList, right: ResourceList) -> ResourceList:
    return {name: max(left.get(name, 0), right.get(name, 0)) for name in {**left, **right}}


# --- node constraints -------------------------------------------------------------------------------------------------


def _affinity_terms(spec: dict[str, SourceValue]) -> Iterator[tuple[NodeSelectorRequirement, ...]]:
    """Yield the terms of the required node affinity."""
    if "affinity" not in spec:
        return
    terms = get_nested(spec["affinity"].value, "nodeAffinity", _REQUIRED, "nodeSelectorTerms")
    if terms is None:
        return
    terms_source = spec["affinity"].child("nodeAffinity", {}).child(_REQUIRED, {}).child("nodeSelectorTerms", terms)
    for term in terms_source.sequence("a list of terms") or ():
        expressions = (term.mapping("a term") or {}).get("matchExpressions")
        terms = [
            _parse_expression(each)
            for each in (expressions.sequence("a list of expressions") if expressions else None) or ()
        ]
        yield tuple(each for each in terms if each is not None)


def _parse_expression(source: SourceValue) -> NodeSelectorRequirement | None:
    fields = source.known_fields(("key", "operator"), ("values",))
    if fields is None:
        return None
    key, operator = fields["key"].text("a label's key"), fields["operator"].one_of(_OPERATORS)
    values = (
        [str(value.value) for value in (fields["values"].sequence("a list of values") or ())]
        if "values" in fields
        else []
    )
    if operator in ("In", "NotIn", "Gt", "Lt") and not values:
        source.fault("missing-key", f"'values' is missing; {operator} needs it")
        return None
    return NodeSelectorRequirement(key, operator, tuple(values)) if key and operator else None


def _parse_tolerations(spec: dict[str, SourceValue]) -> Iterator[Toleration]:
    for entry in (spec["tolerations"].sequence("a list of tolerations") if "tolerations" in spec else None) or ():
        fields = entry.known_fields((), ("key", "operator", "value", "effect", "tolerationSeconds"))
        if fields is not None:
            texts = {key: str(value.value) for key, value in fields.items()}
            operator = texts.get("operator", "Equal")
            yield Toleration(
                key=texts.get("key"), operator=operator, value=texts.get("value"), effect=texts.get("effect")
            )
