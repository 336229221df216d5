"""Volumes of a pod, and how its containers mount them, as the API server takes them.

Source: Kubernetes 1.36 `pkg/apis/core/validation/validation.go`, asked by dry run on 2026-11-28.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from berth.diagnostics import FieldPath
from berth.jobs.quantities import parse_quantity
from berth.jobs.values import get_nested
from berth.lint.validity.schema import Refusal, api_refusal
from berth.manifests.workloads.values import as_list, as_mapping

_BLOCK = ("persistentVolumeClaim", "ephemeral")
"""Volumes that a container can have as a device."""


def volume_refusals(spec: object, path: FieldPath) -> Iterator[Refusal]:
    """Yield what is wrong in the volumes of a pod's spec."""
    for index, volume in enumerate(as_list(get_nested(spec, "volumes"))):
        place = (*path, "volumes", index)
        claim = get_nested(volume, "ephemeral", "volumeClaimTemplate")
        if get_nested(claim, "metadata", "name"):
            message = "a name of a claim that is made for each pod; remove it"
            yield api_refusal((*place, "ephemeral", "volumeClaimTemplate", "metadata", "name"), message)
        yield from claim_refusals(claim, (*place, "ephemeral", "volumeClaimTemplate"))
        for at, item in enumerate(as_list(get_nested(volume, "downwardAPI", "items"))):
            resource = get_nested(item, "resourceFieldRef")
            if resource is not None and not get_nested(resource, "containerName"):
                message = "a resource in a volume without its container; write containerName"
                yield api_refusal((*place, "downwardAPI", "items", at, "resourceFieldRef"), message)
        yield from _projected(get_nested(volume, "projected"), (*place, "projected"))


def claim_refusals(claim: object, path: FieldPath) -> Iterator[Refusal]:
    """Yield what is wrong in the template of a claim, besides its name."""
    modes = as_list(get_nested(claim, "spec", "accessModes"))
    if "ReadWriteOncePod" in modes and len(modes) > 1:
        message = "ReadWriteOncePod beside other accessModes; write one of them"
        yield api_refusal((*path, "spec", "accessModes"), message)
    resources = as_mapping(get_nested(claim, "spec", "resources"))
    if isinstance(resources.get("requests"), dict) and not parse_quantity(
        "", get_nested(resources, "requests", "storage")
    ):
        message = "a claim that requests no storage; write storage: 10Gi"
        yield api_refusal((*path, "spec", "resources", "requests"), message)


def _projected(projected: object, path: FieldPath) -> Iterator[Refusal]:
    """Yield two sources of a volume that write one file."""
    taken: set[str] = set()
    for index, source in enumerate(as_list(get_nested(projected, "sources"))):
        for kind, inside in as_mapping(source).items():
            files = {
                str(file)
                for item in as_list(get_nested(inside, "items"))
                if (file := get_nested(item, "path")) is not None
            }
            for file in sorted(files & taken):
                message = f"two sources of a volume with the file '{file}'; write another path"
                yield api_refusal((*path, "sources", index, kind), message)
            taken |= files


def mount_refusals(
    container: Mapping[str, object], path: FieldPath, volumes: Mapping[str, object], more: frozenset[str]
) -> Iterator[Refusal]:
    """Yield what is wrong in the mounts of a container; `more` are volumes that a controller adds."""
    mounted = {str(get_nested(each, "name")) for each in as_list(container.get("volumeMounts"))}
    for field in ("volumeMounts", "volumeDevices"):
        for index, mount in enumerate(as_list(container.get(field))):
            written, place = get_nested(mount, "name"), (*path, field, index)
            name = written if isinstance(written, str) else ""
            if name and name not in volumes and name not in more:
                all_names = sorted({*volumes, *more})
                known = f"write one of {', '.join(all_names)}, or add it" if all_names else "add it to volumes"
                yield api_refusal((*place, "name"), f"a mount of '{name}', which is no volume of the pod; {known}")
            elif field == "volumeDevices" and name in mounted:
                message = f"'{name}' as a device and as a mount; remove one of them"
                yield api_refusal((*place, "name"), message)
            elif field == "volumeDevices" and name in volumes and not {*_BLOCK} & {*as_mapping(volumes[name])}:
                message = f"'{name}' as a device, which is no claim; write it in volumeMounts"
                yield api_refusal((*place, "name"), message)
            if field == "volumeMounts":
                yield from _mount(as_mapping(mount), place, container)


def _mount(mount: Mapping[str, object], path: FieldPath, container: Mapping[str, object]) -> Iterator[Refusal]:
    sub_path = str(mount.get("subPath") or "")
    if sub_path.startswith("/") or ".." in sub_path.split("/"):
        message = f"the subPath '{sub_path}', which leaves the volume; write a path inside it"
        yield api_refusal((*path, "subPath"), message)
    if sub_path and mount.get("subPathExpr"):
        yield api_refusal((*path, "subPathExpr"), "subPath and subPathExpr together; write one of them")
    if mount.get("mountPropagation") == "Bidirectional" and (
        get_nested(container, "securityContext", "privileged") is not True
    ):
        message = "Bidirectional mounts of a container that is not privileged; write HostToContainer"
        yield api_refusal((*path, "mountPropagation"), message)
    if mount.get("recursiveReadOnly") not in (None, "Disabled") and mount.get("readOnly") is not True:
        message = "recursiveReadOnly of a mount that can be written; write readOnly: true too"
        yield api_refusal((*path, "recursiveReadOnly"), message)
