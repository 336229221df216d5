"""Leave out of objects what an API server fills in, so that only what somebody chose is compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

_DEFAULTS: Mapping[str, Mapping[str, object]] = {
    "ClusterQueue": {
        "stopPolicy": "None",
        "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
        "fairSharing": {"weight": "1"},
        "namespaceSelector": {},
        "withinClusterQueue": "Never",
        "reclaimWithinCohort": "Never",
        "borrowWithinCohort": {"policy": "Never"},
    },
    "LocalQueue": {"stopPolicy": "None", "fairSharing": {"weight": "1"}},
    "Cohort": {"fairSharing": {"weight": "1"}},
    "Namespace": {"finalizers": ["kubernetes"]},
    "PriorityClass": {"globalDefault": False, "preemptionPolicy": "PreemptLowerPriority"},
    "ServiceAccount": {"automountServiceAccountToken": True},
    "ValidatingAdmissionPolicy": {
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
        "scope": "*",
    },
}
"""Kind → field → the value that a field without one gets, wherever it is in the object."""


def without_defaults(kind: str, resource: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of an object that have a value other than the default."""
    known = _DEFAULTS.get(kind, {})
    fields = _without(known, resource)
    return {key: value for key, value in cast("dict[str, object]", fields or {}).items() if value not in ("", [], {})}


def _without(known: Mapping[str, object], value: object) -> object:
    """Return a part of an object; None if it has only defaults. An empty part stays: some select everything."""
    if isinstance(value, list):
        return [_without(known, each) for each in cast("list[object]", value)]
    if not isinstance(value, Mapping) or value == {}:
        return cast("object", value)
    fields = cast("Mapping[str, object]", value).items()
    kept = {key: _without(known, inner) for key, inner in fields if not (key in known and known[key] == inner)}
    return {key: inner for key, inner in kept.items() if inner is not None} or None
