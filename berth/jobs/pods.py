"""The facts of the pods of a template; their requests are computed here.

Requests are computed as in Kubernetes (`k8s.io/component-helpers/resource`): the sum of containers, or the largest init
container if it is larger, sidecars with both, plus overhead. A limit without a request counts as a request. A container
without either gets the default of the namespace's LimitRange.
"""

from __future__ import annotations

from collections.abc import Mapping

from berth.jobs.gke_webhooks import added_paths, added_requests
from berth.jobs.placement_fields import placement_facts
from berth.jobs.pod_references import reference_facts
from berth.jobs.pod_set import FieldSteps, PodSet
from berth.jobs.quantities import format_quantity, parse_quantity
from berth.jobs.values import SourceValue, describe_value, get_nested
from berth.manifests.workloads.values import as_list, as_mapping

ResourceList = dict[str, int]
_BOTH = ("requests", "limits")
NO_DEFAULTS: Mapping[str, int] = {}
"""Requests that a namespace without a LimitRange gives containers: none."""


def build_pod_set(
    template: SourceValue,
    name: str,
    count: int,
    defaults: Mapping[str, int] = NO_DEFAULTS,
    added_labels: Mapping[str, str] | None = None,
) -> PodSet | None:
    """Return the pods of a template; None after a fault.

    `defaults` are the requests that a LimitRange gives each container, `added_labels` those of a controller.
    """
    spec, is_pod = _pod_spec(template), get_nested(template.value, "kind") == "Pod"
    if spec is None and "spec" not in as_mapping(template.value) and isinstance(template.value, dict):
        template.fault("missing-key", "'spec' is missing; write it")
    amounts = _pod_requests(template, spec, defaults) if spec is not None else None
    if spec is None or amounts is None:
        return None
    requests, on_node = amounts
    selector = spec["nodeSelector"].mapping("a mapping of node labels") if "nodeSelector" in spec else {}
    facts = placement_facts(template, spec, added_labels or {})
    if selector is None:
        return None
    values = {key: each.value for key, each in spec.items()}
    of_pod = _requested(values)  # a further container does not raise what the pod itself requests
    added = {name: amount for name, amount in added_requests(template).items() if name not in of_pod}
    on_node = _add(on_node, added)
    if is_pod:  # Kueue counts a Pod as the webhooks leave it
        requests = _add(requests, {name: amount for name, amount in added.items() if "/" not in name})
    return PodSet(
        name=name,
        count=count,
        requests=requests,
        defaulted={name: amount for name, amount in on_node.items() if amount != requests.get(name)},
        added=added,
        node_selector={key: str(value.value) for key, value in selector.items()},
        added_labels=added_labels or {},
        request_paths={**added_paths(template, added), **_request_paths(values)},
        **facts,
        **reference_facts(values),
    )


def _pod_spec(template: SourceValue) -> dict[str, SourceValue] | None:
    """Return the spec of a pod template."""
    fields = template.mapping("a pod template")
    if fields is None or "spec" not in fields:
        return None
    return fields["spec"].mapping("a pod's spec")


def _request_paths(spec: Mapping[str, object]) -> dict[str, FieldSteps]:
    """Return the first field of a template that requests each resource."""
    paths: dict[str, FieldSteps] = {}
    for key in ("containers", "initContainers"):
        for index, container in enumerate(as_list(spec.get(key))):
            for section in ("requests", "limits"):
                for resource in as_mapping(get_nested(container, "resources", section)):
                    paths.setdefault(str(resource), ("spec", key, index, "resources", section, str(resource)))
    return paths


def _pod_requests(
    template: SourceValue, spec: dict[str, SourceValue], defaults: Mapping[str, int]
) -> tuple[ResourceList, ResourceList] | None:
    """Return the requests of a pod as Kueue counts them, and as the API server defaults them; None after a fault."""
    containers = spec["containers"].sequence("a list of containers") if "containers" in spec else None
    if not containers:
        if "containers" not in spec or containers is not None:
            template.fault("missing-key", "its pods have no containers; write them")
        return None
    container_requests = [_container_requests(container, defaults) for container in containers]
    init_containers = spec["initContainers"].sequence("a list of containers") if "initContainers" in spec else []
    init_requests = [
        (get_nested(each.value, "restartPolicy") == "Always", _container_requests(each, defaults))
        for each in init_containers or ()
    ]
    overhead = _parse_amounts(spec["overhead"]) if "overhead" in spec else {}
    pod_level = _resource_requests(spec["resources"]) if "resources" in spec else {}
    if (
        init_containers is None
        or overhead is None
        or pod_level is None
        or None in container_requests
        or any(r is None for _, r in init_requests)
    ):
        return None
    of_containers = _effective_requests(
        [r for r in container_requests if r is not None], [(s, r) for s, r in init_requests if r is not None]
    )
    defaulted = pod_level
    if pod_level:
        written = {name for each in (*init_containers, *containers) for name in _requested(each.value)}
        defaulted = _defaulted_pod_level(spec["resources"], of_containers, written)
        _check_pod_level(spec["resources"], defaulted, of_containers)
        # Kueue counts a limit of a template as its request; a Pod has the API server's default when Kueue counts it.
        pod_level = defaulted if get_nested(template.value, "kind") == "Pod" else pod_level
    # Requests of the pod replace those of its containers.
    return _add(of_containers | pod_level, overhead), _add(of_containers | defaulted, overhead)


def _requested(holder: object) -> set[str]:
    """Return the resources that a container, or a pod itself, requests or limits."""
    return {str(name) for each in _BOTH for name in as_mapping(get_nested(holder, "resources", each))}


def _defaulted_pod_level(resources: SourceValue, of_containers: ResourceList, written: set[str]) -> ResourceList:
    """Return the requests of a whole pod: a limit is one only for what no container requests (`defaultPodRequests`)."""
    requests, limits = (
        _parse_amounts(resources.child(each, get_nested(resources.value, each))) or {} for each in _BOTH
    )
    return {name: of_containers[name] if name in written else most for name, most in limits.items()} | requests


def _check_pod_level(resources: SourceValue, pod_level: ResourceList, of_containers: ResourceList) -> None:
    """Report resources of a pod that the API server refuses (Kubernetes 1.36 `validatePodResourceConsistency`)."""
    for section, bounds in zip(_BOTH, (of_containers, pod_level), strict=True):
        amounts = resources.child(section, get_nested(resources.value, section))
        for name, written in as_mapping(amounts.value).items():
            source, number = amounts.child(str(name), written), parse_quantity(str(name), written)
            least = bounds.get(str(name), 0)
            if name not in ("cpu", "memory") and not str(name).startswith("hugepages-"):
                message = f"the API server refuses {name} of a whole pod; request it in a container"
                source.fault("refused", message)
            elif number is not None and number < least:
                enough, who = format_quantity(str(name), least), "whose containers request"
                if section == "limits" and name in as_mapping(get_nested(resources.value, "requests")):
                    who = "that requests"
                message = f"the API server refuses {written} {name} of a pod {who} {enough}"
                source.fault("refused", f"{message}; write at least {enough}")


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


def _container_requests(container: SourceValue, defaults: Mapping[str, int]) -> ResourceList | None:
    fields = container.mapping("a container")
    if fields is None:
        return None
    requests = _resource_requests(fields["resources"]) if "resources" in fields else {}
    return None if requests is None else {**defaults, **requests}


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
