"""What a pod requests and which nodes it accepts, from its template.

Requests are counted as Kubernetes counts them (`k8s.io/component-helpers/resource`): containers together, or the
largest init container if that is more, sidecars with both, overhead on top; a limit without a request is a request.
"""

from __future__ import annotations

from collections.abc import Iterator

from berth.jobs.pod_set import Expression, PodSet, Toleration
from berth.jobs.quantities import amount
from berth.jobs.values import At, as_mapping, deep, shown

_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"

Amounts = dict[str, int]


def pod_set(template: At, name: str, count: int) -> PodSet | None:
    """The pods of a template; None after a fault."""
    spec = pod_spec(template)
    if spec is None and "spec" not in as_mapping(template.value) and isinstance(template.value, dict):
        template.fault("missing-key", "'spec' is missing; write it")
    requests = _requests(template, spec) if spec is not None else None
    if spec is None or requests is None:
        return None
    selector = spec["nodeSelector"].entries("a mapping of node labels") if "nodeSelector" in spec else {}
    affinity = tuple(_affinity(spec))
    if selector is None:
        return None
    return PodSet(
        name=name,
        count=count,
        requests=requests,
        selector={key: str(value.value) for key, value in selector.items()},
        affinity=affinity,
        tolerations=tuple(_tolerations(spec)),
    )


def pod_spec(template: At) -> dict[str, At] | None:
    """The spec of a pod template."""
    found = template.entries("a pod template")
    if found is None or "spec" not in found:
        return None
    return found["spec"].entries("a pod's spec")


def _requests(template: At, spec: dict[str, At]) -> Amounts | None:
    containers = spec["containers"].items("a list of containers") if "containers" in spec else None
    if not containers:
        if "containers" not in spec or containers is not None:
            template.fault("missing-key", "its pods have no containers; write them")
        return None
    running = [_of_container(container) for container in containers]
    inits = spec["initContainers"].items("a list of containers") if "initContainers" in spec else []
    starting = [(_is_sidecar(each), _of_container(each)) for each in inits or ()]
    overhead = _amounts(spec["overhead"]) if "overhead" in spec else {}
    whole = _of_pod(spec)
    if inits is None or overhead is None or whole is None or None in running or any(r is None for _, r in starting):
        return None
    total = _counted([r for r in running if r is not None], [(s, r) for s, r in starting if r is not None]) | whole
    return _sum(total, overhead)


def _counted(running: list[Amounts], starting: list[tuple[bool, Amounts]]) -> Amounts:
    """Containers and sidecars together, or what is needed at the worst moment of the start."""
    beside: Amounts = {}
    worst: Amounts = {}
    for sidecar, requests in starting:
        together = _sum(beside, requests)
        worst = _most(worst, together)
        if sidecar:
            beside = together
    total = beside
    for requests in running:
        total = _sum(total, requests)
    return _most(total, worst)


def _of_container(container: At) -> Amounts | None:
    found = container.entries("a container")
    if found is None:
        return None
    return _of_resources(found["resources"]) if "resources" in found else {}


def _of_pod(spec: dict[str, At]) -> Amounts | None:
    """Requests of the pod as a whole, which replace those of its containers."""
    return _of_resources(spec["resources"]) if "resources" in spec else {}


def _of_resources(resources: At) -> Amounts | None:
    found = resources.entries("a mapping with requests and limits")
    if found is None:
        return None
    limits = _amounts(found["limits"]) if "limits" in found else {}
    requests = _amounts(found["requests"]) if "requests" in found else {}
    return None if limits is None or requests is None else {**limits, **requests}


def _amounts(of: At) -> Amounts | None:
    """Resources and quantities."""
    if of.value is None:
        return {}
    found: Amounts = {}
    for resource, written in (of.entries("a mapping of resources to quantities") or {}).items():
        number = amount(resource, written.value)
        if number is None:
            written.fault("bad-quantity", f"{shown(written.value)} is no quantity; write one such as 4, 500m or 16Gi")
            return None
        found[resource] = number
    return found if isinstance(of.value, dict) else None


def _is_sidecar(container: At) -> bool:
    return deep(container.value, "restartPolicy") == "Always"


def _sum(one: Amounts, other: Amounts) -> Amounts:
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}


def _most(one: Amounts, other: Amounts) -> Amounts:
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in {**one, **other}}


# --- which nodes ------------------------------------------------------------------------------------------------------


def _affinity(spec: dict[str, At]) -> Iterator[tuple[Expression, ...]]:
    """The terms of the required node affinity."""
    if "affinity" not in spec:
        return
    found = deep(spec["affinity"].value, "nodeAffinity", _REQUIRED, "nodeSelectorTerms")
    if found is None:
        return
    of = spec["affinity"].under("nodeAffinity", {}).under(_REQUIRED, {}).under("nodeSelectorTerms", found)
    for term in of.items("a list of terms") or ():
        expressions = (term.entries("a term") or {}).get("matchExpressions")
        found = [
            _expression(each) for each in (expressions.items("a list of expressions") if expressions else None) or ()
        ]
        yield tuple(each for each in found if each is not None)


def _expression(of: At) -> Expression | None:
    found = of.keys(("key", "operator"), ("values",))
    if found is None:
        return None
    key, operator = found["key"].text("a label's key"), found["operator"].one_of(_OPERATORS)
    values = (
        [str(value.value) for value in (found["values"].items("a list of values") or ())] if "values" in found else []
    )
    if operator in ("In", "NotIn", "Gt", "Lt") and not values:
        of.fault("missing-key", f"'values' is missing; {operator} needs it")
        return None
    return Expression(key, operator, tuple(values)) if key and operator else None


def _tolerations(spec: dict[str, At]) -> Iterator[Toleration]:
    for each in (spec["tolerations"].items("a list of tolerations") if "tolerations" in spec else None) or ():
        found = each.keys((), ("key", "operator", "value", "effect", "tolerationSeconds"))
        if found is not None:
            said = {key: str(value.value) for key, value in found.items()}
            operator = said.get("operator", "Equal")
            yield Toleration(said.get("key"), operator, said.get("value", ""), said.get("effect"))
