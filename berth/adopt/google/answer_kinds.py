"""Recognize answers of gcloud and kubectl by their content, and report those that are not complete."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, cast

from berth.adopt.api_objects import ApiObject, InvalidInventory, value_at
from berth.adopt.google.answer_shapes import (
    ALERT_POLICY_SHAPES,
    CLUSTER_SHAPES,
    FUTURE_RESERVATION_SHAPES,
    NODE_POOL_REQUIRED,
    NODE_POOL_SHAPES,
    RESERVATION_SHAPES,
    TEXTS,
    shape_problem,
)
from berth.adopt.kubernetes.object_shapes import object_problem

ACCEPTED_COMMANDS: Final = (
    "gcloud container clusters describe, container node-pools list, or another command of docs/adopt.md, each with "
    "--format json, or kubectl get with -o json"
)

CLUSTER, NODE_POOL, RESERVATION, SUBNETWORK, OBJECT = "cluster", "node pool", "reservation", "subnetwork", "object"
FUTURE_RESERVATION, DASHBOARD, ALERT_POLICY = "future reservation", "dashboard", "alert policy"
IAM_POLICY, PROJECT_POLICY, SERVICE_ACCOUNT = "IAM policy", "project's IAM policy", "service account"
FIREWALL, SERVICE, PLACEMENT_POLICY = "firewall rule", "enabled API", "placement policy"
ANSWER_KINDS: Final = (
    *(CLUSTER, NODE_POOL, RESERVATION, SUBNETWORK, OBJECT, FUTURE_RESERVATION, DASHBOARD, ALERT_POLICY),
    *(IAM_POLICY, PROJECT_POLICY, SERVICE_ACCOUNT, FIREWALL, SERVICE, PLACEMENT_POLICY),
)

_LONGEST: Final = 80
"""Maximum length of a value in a message."""
_AS_IT_IS: Final = "give gcloud's answer as it is"
_NAME_FIELD: Mapping[str, str] = {IAM_POLICY: "resource", PROJECT_POLICY: "etag", SERVICE_ACCOUNT: "email"}
"""Field that names an answer of a kind; `name` of all others."""


def classify_answers(file: str, text: str) -> Iterator[tuple[str, ApiObject]]:
    """Return the contents of one file, with their kind. Raises InvalidInventory."""
    try:
        value: object = json.loads(text.removeprefix("\ufeff"))  # some shells begin a file with it
    except (ValueError, RecursionError) as error:
        at = f"line {error.lineno}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else "somewhere"
        raise InvalidInventory(f"{file}: not JSON ({at}); export it with --format json, or kubectl -o json") from None
    if (refusal := _refusal(value)) is not None:
        raise InvalidInventory(f"{file}: {refusal}")
    for item in _items(value):
        if not isinstance(item, dict):
            raise InvalidInventory(
                f"{file}: '{_shorten_text(json.dumps(item))}' is not an object; give the answer of {ACCEPTED_COMMANDS}"
            )
        answer = cast("dict[str, Any]", item)
        kind = next((kind for kind, is_kind in _MARKS.items() if is_kind(answer)), None)
        if kind is None:
            keys = f"keys {', '.join(sorted(answer)[:4])}" if answer else "it is empty"
            raise InvalidInventory(f"{file}: unknown kind of answer ({keys}); give the answer of {ACCEPTED_COMMANDS}")
        if problem := _incomplete(kind, answer):
            raise InvalidInventory(f"{file}: {problem}")
        yield kind, answer


_WRAPPERS: Final = (
    *("nodePools", "clusters", "items", "accounts", "services", "dashboards", "alertPolicies", "results"),
)
"""Fields in which Google's REST APIs list their answers."""


def _refusal(value: object) -> str | None:
    """Return why a file is no whole answer: it is an error of the API, or more pages follow."""
    first = value
    if isinstance(value, list) and value:
        (first, *_) = cast("list[object]", value)
    document = cast("ApiObject", first if isinstance(first, dict) else {})
    error = document.get("error")
    if isinstance(error, dict) or (document.get("kind") == "Status" and document.get("status") == "Failure"):
        words = ("error.status", "error.code", "reason", "message", "code")
        why = next((value for each in words if (value := value_at(document, each))), "without a reason")
        return f"it is an error of the API ({_shorten_text(str(why))}); export it again with the permission to read it"
    if document.get("nextPageToken") or value_at(document, "metadata.continue"):
        return "it is one page of several; export it with gcloud --format json or kubectl -o json, without --limit"
    return None


def _items(value: object) -> list[object]:
    if isinstance(value, dict):
        document = cast("dict[str, Any]", value)
        if str(document.get("kind", "")).endswith("List"):  # Compute Engine leaves out the items of an empty list
            return _listed(document.get("items") or [])
        for wrapper in _WRAPPERS:
            if "name" not in document and "apiVersion" not in document and isinstance(document.get(wrapper), list):
                return cast("list[object]", document[wrapper])
    return cast("list[object]", value) if isinstance(value, list) else [value]


def _listed(items: object) -> list[object]:
    """Return the items of a list; those of an aggregated one are by zone or region, in a field of their kind."""
    if not isinstance(items, dict):
        return cast("list[object]", items) if isinstance(items, list) else [items]
    places = [cast("ApiObject", each) for each in cast("ApiObject", items).values() if isinstance(each, dict)]
    fields = [values for place in places for key, values in place.items() if key != "warning"]
    return [each for values in fields if isinstance(values, list) for each in cast("list[object]", values)]


_MARKS: Mapping[str, Callable[[ApiObject], bool]] = {
    OBJECT: lambda answer: "apiVersion" in answer and "metadata" in answer,
    CLUSTER: lambda answer: "currentMasterVersion" in answer or "masterAuth" in answer,
    NODE_POOL: lambda answer: "/nodePools/" in str(answer.get("selfLink", "")),
    FUTURE_RESERVATION: lambda answer: "timeWindow" in answer or answer.get("kind") == "compute#futureReservation",
    RESERVATION: lambda answer: "specificReservation" in answer or "aggregateReservation" in answer,
    SUBNETWORK: lambda answer: "ipCidrRange" in answer,
    FIREWALL: lambda answer: answer.get("kind") == "compute#firewall",
    SERVICE: lambda answer: "/services/" in str(answer.get("name")) and "state" in answer,
    DASHBOARD: lambda answer: "/dashboards/" in str(answer.get("name")),
    ALERT_POLICY: lambda answer: "/alertPolicies/" in str(answer.get("name")),
    SERVICE_ACCOUNT: lambda answer: "/serviceAccounts/" in str(answer.get("name")) and "email" in answer,
    IAM_POLICY: lambda answer: "resource" in answer and "policy" in answer,
    PROJECT_POLICY: lambda answer: "etag" in answer and {*answer} <= {"bindings", "etag", "version", "auditConfigs"},
    PLACEMENT_POLICY: lambda answer: "/resourcePolicies/" in str(answer.get("selfLink")),
}
"""How an answer of each kind is recognized, in the order of the checks."""


# --- what is missing --------------------------------------------------------------------------------------------------


def _incomplete(kind: str, answer: ApiObject) -> str | None:
    """Return what an answer of this kind must have, if it lacks it."""
    if kind == OBJECT:
        is_named = (
            isinstance(answer["metadata"], dict)
            and "name" in answer["metadata"]
            and isinstance(answer.get("kind"), str)
        )
        if not is_named:
            return "an object without kind and metadata.name; give the answer of kubectl as it is"
        metadata = cast("ApiObject", answer["metadata"])
        title = f"{_shorten_text(answer['kind'])} '{_shorten_text(str(metadata['name']))}'"
        if not isinstance(answer.get("spec", {}), dict):
            return f"{title}: spec is not an object; give the answer of kubectl as it is"
        if (problem := object_problem(answer)) is not None:
            return f"{title}: {problem}; give the answer of kubectl as it is"
        return f"{title} is being deleted; {_WHEN_GONE}" if metadata.get("deletionTimestamp") else None
    name = _NAME_FIELD.get(kind, "name")
    if not isinstance(answer.get(name), str):
        return f"{_article(kind)} {kind} without {_article(name)} {name}; {_AS_IT_IS}"
    problem = _PARTS[kind](answer) if kind in _PARTS else None
    parts = [(kind, answer)]
    if problem is None and kind == CLUSTER:
        pools = cast("list[ApiObject]", answer.get("nodePools") or [])
        problems = (shape_problem(each, NODE_POOL_SHAPES, NODE_POOL_REQUIRED) for each in pools)
        problem = next((f"nodePools: {each}" for each in problems if each is not None), None)
        parts += [(NODE_POOL, each) for each in pools]
    for part, each in parts if problem is None else ():
        if isinstance(status := each.get("status"), str) and status in _PASSING:
            name = _shorten_text(str(each.get("name")))
            return f"{part} '{name}' {_PASSING[status]} (status {status}); {_WHEN_GONE}"
    return None if problem is None else f"{kind} '{_shorten_text(str(answer[name]))}': {problem}; {_AS_IT_IS}"


_WHEN_GONE: Final = "export the answers again when that is done"
_PASSING: Final = {
    "STOPPING": "is being deleted",
    "DELETING": "is being deleted",
    "PROVISIONING": "is being created",
    "CREATING": "is being created",
}
"""Status of clusters, node pools and reservations that are not there for long, or not yet."""


def _article(noun: str) -> str:
    return "an" if noun[0] in "aeiouI" else "a"


def _future_problem(answer: ApiObject) -> str | None:
    if (problem := shape_problem(answer, FUTURE_RESERVATION_SHAPES)) is not None:
        return problem
    if value_at(answer, "timeWindow.startTime") is None:
        return "timeWindow has no startTime"
    if answer.get("zone") is None:
        return "zone is missing"
    if answer.get("specificSkuProperties") is None and answer.get("aggregateReservation") is None:
        return "neither specificSkuProperties nor aggregateReservation is an object"
    return None


def _bindings_problem(policy: ApiObject) -> str | None:
    bindings = policy.get("bindings", [])
    if not isinstance(bindings, list):
        return "bindings is not a list"
    for index, binding in enumerate(cast("list[object]", bindings)):
        if not isinstance(binding, dict):
            return f"bindings[{index}] is not an object"
        entry = cast("dict[str, Any]", binding)
        if not isinstance(entry.get("role"), str):
            return f"bindings[{index}] has no role"
        if not TEXTS[1](entry.get("members", [])):
            return f"bindings[{index}].members is not {TEXTS[0]}"
    return None


_PARTS: Mapping[str, Callable[[ApiObject], str | None]] = {
    FUTURE_RESERVATION: _future_problem,
    DASHBOARD: lambda answer: None if isinstance(answer.get("displayName"), str) else "displayName is not a text",
    ALERT_POLICY: lambda answer: shape_problem(answer, ALERT_POLICY_SHAPES, frozenset({"displayName", "conditions"})),
    IAM_POLICY: lambda answer: (
        _bindings_problem(answer["policy"]) if isinstance(answer.get("policy"), dict) else "policy is not an object"
    ),
    PROJECT_POLICY: _bindings_problem,
    CLUSTER: lambda answer: shape_problem(answer, CLUSTER_SHAPES),
    NODE_POOL: lambda answer: shape_problem(answer, NODE_POOL_SHAPES, NODE_POOL_REQUIRED),
    RESERVATION: lambda answer: shape_problem(answer, RESERVATION_SHAPES),
}
"""What else an answer must have."""


def _shorten_text(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
