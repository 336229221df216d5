"""The objects that the pods of a template need by name, their volumes, images and resource claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from berth.jobs.pod_set import FieldSteps, ObjectReference, PodVolume
from berth.jobs.values import get_nested
from berth.manifests.workloads.values import as_list, as_mapping

_VOLUME_TARGETS: Mapping[str, tuple[str, ...]] = {
    "persistentVolumeClaim": ("claimName",),
    "csi": ("driver",),
    "ephemeral": ("volumeClaimTemplate", "spec", "storageClassName"),
    "secret": ("secretName",),
    "configMap": ("name",),
    "hostPath": ("path",),
}
"""What a volume of each kind names."""
_VOLUME_OBJECTS = {"persistentVolumeClaim": "PersistentVolumeClaim", "secret": "Secret", "configMap": "ConfigMap"}
_ENVIRONMENT = {
    "envFrom": {"secretRef": "Secret", "configMapRef": "ConfigMap"},
    "valueFrom": {"secretKeyRef": "Secret", "configMapKeyRef": "ConfigMap"},
}
_CONTAINERS = ("initContainers", "containers")


def reference_facts(spec: Mapping[str, object]) -> dict[str, Any]:
    """Return the facts of a PodSet that name other objects, by name; a value of a wrong type is passed over."""

    def text(key: str) -> str | None:
        value = spec.get(key)
        return value if isinstance(value, str) and value else None

    volumes = tuple(_volumes(spec))
    return {
        "volumes": volumes,
        "references": (*_of_volumes(spec, volumes), *_of_containers(spec), *_of_pulling(spec)),
        "claims": tuple(_claims(spec)),
        "images": tuple(str(image) for _, each in _containers(spec) if (image := get_nested(each, "image"))),
        "scheduler_name": text("schedulerName"),
        "runtime_class": text("runtimeClassName"),
        "priority_class": text("priorityClassName"),
        "service_account": text("serviceAccountName") or text("serviceAccount"),
        "node_name": text("nodeName"),
        "has_gates": bool(as_list(spec.get("schedulingGates"))),
        "restart_policy": text("restartPolicy"),
    }


def _containers(spec: Mapping[str, object]) -> Iterator[tuple[FieldSteps, object]]:
    for key in _CONTAINERS:
        for index, container in enumerate(as_list(spec.get(key))):
            yield ("spec", key, index), container


def _volumes(spec: Mapping[str, object]) -> Iterator[PodVolume]:
    for index, volume in enumerate(as_list(spec.get("volumes"))):
        fields = as_mapping(volume)
        kind = next((str(key) for key in fields if key != "name"), "emptyDir")
        target = get_nested(fields.get(kind), *_VOLUME_TARGETS.get(kind, ("name",)))
        name = None if target is None else str(target)
        yield PodVolume(str(fields.get("name", "")), kind, name, ("spec", "volumes", index, kind))


def _of_volumes(spec: Mapping[str, object], volumes: tuple[PodVolume, ...]) -> Iterator[ObjectReference]:
    written = as_list(spec.get("volumes"))
    for index, volume in enumerate(volumes):
        source = as_mapping(written[index]).get(volume.kind)
        if volume.kind in _VOLUME_OBJECTS and volume.target:
            path = (*volume.path, *_VOLUME_TARGETS[volume.kind])
            optional = get_nested(source, "optional") is True
            yield ObjectReference(_VOLUME_OBJECTS[volume.kind], volume.target, path, optional)
        for part, entry in enumerate(as_list(get_nested(source, "sources"))):
            for kind in ("secret", "configMap"):
                if (name := get_nested(entry, kind, "name")) is not None:
                    path = (*volume.path, "sources", part, kind, "name")
                    optional = get_nested(entry, kind, "optional") is True
                    yield ObjectReference(_VOLUME_OBJECTS[kind], str(name), path, optional)


def _of_containers(spec: Mapping[str, object]) -> Iterator[ObjectReference]:
    for path, container in _containers(spec):
        for index, entry in enumerate(as_list(get_nested(container, "envFrom"))):
            yield from _named(entry, (*path, "envFrom", index), _ENVIRONMENT["envFrom"])
        for index, entry in enumerate(as_list(get_nested(container, "env"))):
            inside = (*path, "env", index, "valueFrom")
            yield from _named(get_nested(entry, "valueFrom"), inside, _ENVIRONMENT["valueFrom"])


def _named(entry: object, path: FieldSteps, kinds: Mapping[str, str]) -> Iterator[ObjectReference]:
    for key, kind in kinds.items():
        if (name := get_nested(entry, key, "name")) is not None:
            optional = get_nested(entry, key, "optional") is True
            yield ObjectReference(kind, str(name), (*path, key, "name"), optional)


def _of_pulling(spec: Mapping[str, object]) -> Iterator[ObjectReference]:
    for index, entry in enumerate(as_list(spec.get("imagePullSecrets"))):
        if (name := get_nested(entry, "name")) is not None:
            # The kubelet tries without a pull secret that does not exist.
            yield ObjectReference("Secret", str(name), ("spec", "imagePullSecrets", index, "name"), optional=True)


def _claims(spec: Mapping[str, object]) -> Iterator[ObjectReference]:
    for index, entry in enumerate(as_list(spec.get("resourceClaims"))):
        for key, kind in (
            ("resourceClaimName", "ResourceClaim"),
            ("resourceClaimTemplateName", "ResourceClaimTemplate"),
        ):
            if (name := get_nested(entry, key)) is not None:
                yield ObjectReference(kind, str(name), ("spec", "resourceClaims", index, key))
