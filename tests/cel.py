"""ValidatingAdmissionPolicies, evaluated without an API server: by the CEL of cel-python.

Only what `berth.manifests.policy_rules` uses: the standard functions, `split`, and the library `authorizer`, which here
answers that everything is allowed in the whole cluster, or nothing. Defaults that an API server sets are not set.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

celpy = pytest.importorskip("celpy", reason="cel-python is not installed: pip install -r requirements-dev.txt")

Manifest = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """What the API server passes to its policies: an object, its namespace and its user."""

    group: str
    resource: str
    namespace: Manifest
    after: Manifest | None
    before: Manifest | None
    everywhere: bool
    subresource: str = ""
    options: Manifest | None = None

    @property
    def operation(self) -> str:
        """The request's operation; an eviction and a binding are creations."""
        return "DELETE" if self.after is None else "CREATE" if self.before is None else "UPDATE"


class _Authorizer:
    """The answer to every check of a right in the whole cluster, through any chain of calls."""

    def __init__(self, allowed: bool) -> None:
        self.is_allowed = allowed


def _same(receiver: Any, *arguments: Any) -> Any:
    return receiver


def _allowed(receiver: Any) -> Any:
    return celpy.celtypes.BoolType(receiver.is_allowed)


def _split(text: Any, separator: Any) -> Any:
    return celpy.celtypes.ListType([celpy.celtypes.StringType(part) for part in str(text).split(str(separator))])


_FUNCTIONS = {
    **dict.fromkeys(("group", "resource", "subresource", "check"), _same),
    "allowed": _allowed,
    "split": _split,
}


# Making one changes Python's limit of recursion, which Hypothesis refuses during a test.
_ENVIRONMENT = celpy.Environment()


_LEVELS = ("expr", "conditionalor", "conditionaland", "relation", "addition", "multiplication", "unary", "member")
"""Nodes of the grammar that have one child where their operator is not written: then they have its value."""


@cache
def _program(expression: str) -> Any:
    return _ENVIRONMENT.program(_without_levels(_ENVIRONMENT.compile(expression)), functions=_FUNCTIONS)


def _without_levels(node: Any) -> Any:
    """A syntax tree without levels that only pass a value on; evaluation spends most of its time in them."""
    if not hasattr(node, "children"):
        return node
    while node.data in _LEVELS and len(node.children) == 1:
        (node,) = node.children
    node.children = [_without_levels(each) for each in node.children]
    return node


def refusals(manifests: list[Manifest], request: Request) -> list[str]:
    """The messages of every policy that is bound to the namespace and refuses the request."""
    asked = asked_policies(manifests, request).values()
    return [message for policy in asked for message in violations(policy, request)]


def asked_policies(manifests: list[Manifest], request: Request) -> dict[str, Manifest]:
    """The policies that are bound to the namespace and asked about the request, by name."""
    policies = {m["metadata"]["name"]: m["spec"] for m in manifests if m["kind"] == "ValidatingAdmissionPolicy"}
    bindings = [m["spec"] for m in manifests if m["kind"] == "ValidatingAdmissionPolicyBinding"]
    bound = [binding["policyName"] for binding in bindings if _is_selected(binding, request)]
    return {name: policies[name] for name in bound if is_asked(policies[name], request)}


def _is_selected(binding: Manifest, request: Request) -> bool:
    labels = {"kubernetes.io/metadata.name": request.namespace["metadata"]["name"]}
    labels |= request.namespace["metadata"].get("labels", {})
    selector = binding.get("matchResources", {}).get("namespaceSelector", {"matchExpressions": []})
    for expression in selector["matchExpressions"]:
        has_key = expression["key"] in labels
        wanted = expression["operator"] == "Exists" or labels.get(expression["key"]) in expression.get("values", ())
        if not (has_key and wanted):
            return False
    return True


def _matches(policy: Manifest, request: Request) -> bool:
    resource = f"{request.resource}/{request.subresource}" if request.subresource else request.resource
    constraints = policy["matchConstraints"]
    return _is_labelled(constraints.get("objectSelector"), request) and any(
        request.group in rule["apiGroups"] and resource in rule["resources"] and request.operation in rule["operations"]
        for rule in constraints["resourceRules"]
    )


def _is_labelled(selector: Manifest | None, request: Request) -> bool:
    """Whether a selector matches the labels of a request's object, before or after it (Kubernetes API reference)."""
    if selector is None:
        return True
    objects = [each.get("metadata", {}).get("labels", {}) for each in (request.after, request.before) if each]
    return any(
        all(labels.get(each["key"]) in each["values"] for each in selector["matchExpressions"]) for labels in objects
    )


def is_asked(policy: Manifest, request: Request) -> bool:
    """Whether the rules of a policy are asked about a request: its constraints and conditions match."""
    if not _matches(policy, request):
        return False
    values = _values(request)
    return all(bool(_value(each["expression"], values)) for each in policy.get("matchConditions", ()))


def violations(policy: Manifest, request: Request) -> list[str]:
    """The messages of the rules of a policy that refuse a request."""
    values = _values(request)
    variables = celpy.celtypes.MapType()
    values["variables"] = variables
    for each in policy.get("variables", ()):
        variables[celpy.celtypes.StringType(each["name"])] = _value(each["expression"], values)
    return [each["message"] for each in policy["validations"] if not bool(_value(each["expression"], values))]


def _values(request: Request) -> dict[str, Any]:
    requested = {
        "operation": request.operation,
        "options": request.options or {},
        "resource": {"group": request.group, "version": "v1", "resource": request.resource},
        **({"subResource": request.subresource} if request.subresource else {}),
    }
    return {
        "object": None if request.after is None else celpy.json_to_cel(request.after),
        "oldObject": None if request.before is None else celpy.json_to_cel(request.before),
        "request": celpy.json_to_cel(requested),
        "namespaceObject": celpy.json_to_cel(request.namespace),
        "authorizer": _Authorizer(request.everywhere),
    }


def evaluate(expression: str, given: Manifest) -> bool:
    """The value of an expression over these names."""
    return bool(_value(expression, {name: celpy.json_to_cel(value) for name, value in given.items()}))


def _value(expression: str, values: dict[str, Any]) -> Any:
    return _program(expression).evaluate(values)
