"""Kubernetes objects as API servers answer: types of the fields that Berth reads, and values that servers fill in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from berth.adopt.api_objects import ApiObject
from berth.adopt.google.answer_shapes import LABELS, NAME, OBJECT, OBJECTS, TEXT, TEXTS, Shape, shape_problem
from berth.jobs.quantities import parse_quantity

_INTEGER: Final[Shape] = ("an integer", lambda value: isinstance(value, int) and not isinstance(value, bool))
_QUANTITY: Final[Shape] = ("a quantity", lambda value: parse_quantity("", value) is not None)
_OF_EVERY_KIND: Final[Mapping[str, Shape]] = {
    "metadata.name": TEXT,
    "metadata.namespace": NAME,
    "metadata.labels": LABELS,
    "metadata.annotations": LABELS,
}
_GROUPS, _FLAVORS = "spec.resourceGroups", "spec.resourceGroups[].flavors"
_RESOURCES = f"{_FLAVORS}[].resources"
_QUOTAS: Final[Mapping[str, Shape]] = {
    _GROUPS: OBJECTS,
    f"{_GROUPS}[].coveredResources": TEXTS,
    _FLAVORS: OBJECTS,
    f"{_FLAVORS}[].name": TEXT,
    _RESOURCES: OBJECTS,
    f"{_RESOURCES}[].name": TEXT,
    **{f"{_RESOURCES}[].{key}": _QUANTITY for key in ("nominalQuota", "borrowingLimit", "lendingLimit")},
    "spec.fairSharing": OBJECT,
}
_BINDING: Final[Mapping[str, Shape]] = {"roleRef": OBJECT, "subjects": OBJECTS, "subjects[].name": TEXT}
_OF_KIND: Final[Mapping[str, Mapping[str, Shape]]] = {
    "ResourceFlavor": {
        "spec.nodeLabels": LABELS,
        "spec.tolerations": OBJECTS,
        "spec.nodeTaints": OBJECTS,
        "spec.topologyName": NAME,
    },
    "Topology": {"spec.levels": OBJECTS, "spec.levels[].nodeLabel": TEXT},
    "ClusterQueue": {
        "spec.cohortName": NAME,
        **dict.fromkeys(("spec.namespaceSelector", "spec.preemption", "spec.flavorFungibility"), OBJECT),
        "spec.namespaceSelector.matchLabels": LABELS,
        "spec.namespaceSelector.matchExpressions": OBJECTS,
        "spec.admissionChecks": TEXTS,
        "spec.admissionChecksStrategy": OBJECT,
        "spec.admissionChecksStrategy.admissionChecks": OBJECTS,
        "spec.admissionChecksStrategy.admissionChecks[].name": TEXT,
        **_QUOTAS,
    },
    "Cohort": {"spec.parentName": NAME, **_QUOTAS},
    "LocalQueue": {"spec.clusterQueue": TEXT},
    "AdmissionCheck": {"spec.controllerName": NAME, "spec.parameters": OBJECT},
    "ProvisioningRequestConfig": {"spec.provisioningClassName": NAME, "spec.managedResources": TEXTS},
    **{key: {"value": _INTEGER} for key in ("PriorityClass", "WorkloadPriorityClass")},
    **{key: {"rules": OBJECTS} for key in ("Role", "ClusterRole")},
    **dict.fromkeys(("RoleBinding", "ClusterRoleBinding"), _BINDING),
    "ResourceQuota": {"spec.hard": OBJECT},
    "LimitRange": {"spec.limits": OBJECTS},
    "ConfigMap": {"data": LABELS},
    "CheckpointConfiguration": {
        "spec.nodeSelector": LABELS,
        "spec.cloudStorageBucketName": TEXT,
        "spec.inMemoryVolumeSize": _QUANTITY,
    },
    "CapacityBuffer": {
        "spec": OBJECT,
        "spec.podTemplateRef": OBJECT,
        "spec.podTemplateRef.name": TEXT,
        "spec.provisioningStrategy": NAME,
        "spec.replicas": _INTEGER,
        "spec.limits": OBJECT,
    },
    "PodTemplate": {
        "template": OBJECT,
        "template.spec": OBJECT,
        "template.spec.nodeSelector": LABELS,
        "template.spec.containers": OBJECTS,
        "template.spec.containers[].resources": OBJECT,
        "template.spec.containers[].resources.requests": OBJECT,
    },
    "ComputeClass": {"spec.priorities": OBJECTS},
    **{key: {"spec.groups": OBJECTS} for key in ("ClusterRules", "Rules", "PrometheusRule")},
}
_REQUIRED: Final = frozenset(
    {
        *("metadata.name", "spec.clusterQueue", "roleRef", f"{_FLAVORS}[].name", f"{_RESOURCES}[].name"),
        "spec.admissionChecksStrategy.admissionChecks[].name",
    }
)


def object_problem(answer: ApiObject) -> str | None:
    """Return the first field of an object that has another type, or that is missing although it is required."""
    return shape_problem(answer, {**_OF_EVERY_KIND, **_OF_KIND.get(str(answer["kind"]), {})}, _REQUIRED)


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
    "ValidatingAdmissionPolicyBinding": {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}},
}
"""Kind → field → the value that a field without one gets, wherever it is in the object."""


def without_defaults(kind: str, resource: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of an object that have a value other than the default."""
    fields = _without(_DEFAULTS.get(kind, {}), resource)
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
