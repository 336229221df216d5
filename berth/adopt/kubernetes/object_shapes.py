"""Types of the fields that Berth reads of Kubernetes objects: a problem is named by its field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

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
    shapes = {**_OF_EVERY_KIND, **_OF_KIND.get(str(answer["kind"]), {})}
    return shape_problem(answer, shapes, _REQUIRED)
