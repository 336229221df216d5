"""Where volumes can be mounted: the nodes that a PersistentVolume or a StorageClass of the manifests names.

Source: Kubernetes 1.36 `pkg/scheduler/framework/plugins/volumebinding` and API reference of PersistentVolume and
StorageClass, read 2026-11-27.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from berth.jobs.files import ManifestDocument
from berth.jobs.job_manifests import JobManifest
from berth.jobs.pod_set import NodeSelectorRequirement, PodSet, VolumeNodes
from berth.jobs.values import get_nested
from berth.manifests.workloads.values import as_list

_KINDS = ("PersistentVolume", "PersistentVolumeClaim", "StorageClass")
_Terms = tuple[tuple[NodeSelectorRequirement, ...], ...]


class VolumeZones:
    """The PersistentVolumes, claims and StorageClasses of manifests, and on which nodes they can be mounted."""

    def __init__(self, documents: Iterable[ManifestDocument] = ()) -> None:
        self._objects: dict[tuple[str, str, str], object] = {}
        for document in documents:
            listed = get_nested(document.value, "kind") == "List"
            for value in as_list(get_nested(document.value, "items")) if listed else (document.value,):
                kind = str(get_nested(value, "kind"))
                if kind in _KINDS:
                    space = str(get_nested(value, "metadata", "namespace") or "default")
                    name = str(get_nested(value, "metadata", "name"))
                    self._objects[kind, space if kind == "PersistentVolumeClaim" else "", name] = value

    def on_job(self, job: JobManifest) -> JobManifest:
        """Return the job with the nodes on which its volumes can be mounted."""
        if not self._objects or not job.pod_sets:
            return job
        return replace(
            job,
            pod_sets=tuple(self._on_pods(each, job.namespace) for each in job.pod_sets),
            group=tuple(self._on_pods(each, job.namespace) for each in job.group),
        )

    def _on_pods(self, pod_set: PodSet, namespace: str) -> PodSet:
        return replace(pod_set, volume_nodes=tuple(self._volumes(pod_set, namespace)))

    def _volumes(self, pod_set: PodSet, namespace: str) -> Iterator[VolumeNodes]:
        for volume in pod_set.volumes:
            terms: _Terms = ()
            if volume.kind == "persistentVolumeClaim":
                terms = self._of_claim(namespace, str(volume.target))
            elif volume.kind == "ephemeral":
                terms = self._of_class(volume.target)
            if terms:
                yield VolumeNodes(str(volume.target), terms, volume.path)

    def _of_claim(self, namespace: str, name: str) -> _Terms:
        """Return the terms of the volume that a claim names, or else that its class allows."""
        claim = self._objects.get(("PersistentVolumeClaim", namespace, name))
        volume = self._objects.get(("PersistentVolume", "", str(get_nested(claim, "spec", "volumeName"))))
        if volume is None:
            bound = (name, namespace)
            volume = next(
                (
                    each
                    for (kind, _, _), each in self._objects.items()
                    if kind == "PersistentVolume"
                    and tuple(get_nested(each, "spec", "claimRef", key) for key in ("name", "namespace")) == bound
                ),
                None,
            )
        if volume is not None:
            terms = get_nested(volume, "spec", "nodeAffinity", "required", "nodeSelectorTerms")
            return tuple(tuple(_expressions(each, "matchExpressions")) for each in as_list(terms))
        return self._of_class(get_nested(claim, "spec", "storageClassName"))

    def _of_class(self, name: object) -> _Terms:
        """Return the terms of a StorageClass: a new volume is made in one of its topologies."""
        found = self._objects.get(("StorageClass", "", str(name)))
        allowed = as_list(get_nested(found, "allowedTopologies"))
        return tuple(tuple(_expressions(each, "matchLabelExpressions")) for each in allowed)


def _expressions(term: object, key: str) -> Iterator[NodeSelectorRequirement]:
    for each in as_list(get_nested(term, key)):
        label, operator = get_nested(each, "key"), get_nested(each, "operator") or "In"
        values = tuple(str(value) for value in as_list(get_nested(each, "values")))
        if isinstance(label, str) and operator in ("In", "NotIn", "Exists", "DoesNotExist"):
            yield NodeSelectorRequirement(label, str(operator), values)
