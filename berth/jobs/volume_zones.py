"""Where volumes can be mounted: the nodes that a PersistentVolume or a StorageClass of the manifests names.

Source: Kubernetes 1.36 `pkg/scheduler/framework/plugins/volumebinding` and API reference of PersistentVolume and
StorageClass, read 2026-11-27.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec.structs import replace

from berth.jobs.job_manifests import JobManifest
from berth.jobs.namespaces import KnownObjects
from berth.jobs.pod_set import NodeSelectorRequirement, PodSet, VolumeNodes
from berth.jobs.values import get_nested
from berth.manifests.workloads.values import as_list

_CLAIM, _VOLUME = "PersistentVolumeClaim", "PersistentVolume"
_DISKS = ("pd.csi.storage.gke.io", "kubernetes.io/gce-pd")
"""Provisioners of disks, each of which is in one zone."""
_Terms = tuple[tuple[NodeSelectorRequirement, ...], ...]


class VolumeZones:
    """The PersistentVolumes, claims and StorageClasses of manifests, and on which nodes they can be mounted."""

    def __init__(self, objects: KnownObjects | None = None) -> None:
        self._objects = objects or KnownObjects()

    def on_job(self, job: JobManifest) -> JobManifest:
        """Return the job with the nodes on which its volumes can be mounted."""
        if not job.pod_sets:
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

    def open_question(self, namespace: str, claim_name: str) -> str:
        """Return what the manifests do not say of a claim, as a clause; empty if they say where its volume can be."""
        claim = self._objects.get(_CLAIM, namespace, claim_name)
        if claim is None and self._bound_to(namespace, claim_name) is None:
            return "it is not in the files"
        volume = get_nested(claim, "spec", "volumeName")
        if volume and not self._objects.has(_VOLUME, "", str(volume)):
            return f"its PersistentVolume '{volume}' is not in the files"
        return ""

    def is_bound(self, namespace: str, claim_name: str) -> bool:
        """Return whether a claim names its volume, or a volume of the files names the claim."""
        claim = self._objects.get(_CLAIM, namespace, claim_name)
        return bool(get_nested(claim, "spec", "volumeName")) or self._bound_to(namespace, claim_name) is not None

    def early_class(self, namespace: str, claim_name: str, known: Collection[str]) -> str | None:
        """Return the StorageClass that makes a claim's disk before a pod has a node, in any zone; None without one.

        `known` are such classes of the cluster itself.
        """
        claim = self._objects.get(_CLAIM, namespace, claim_name)
        name = get_nested(claim, "spec", "storageClassName")
        if not isinstance(name, str) or self.is_bound(namespace, claim_name):
            return None
        written = self._objects.get("StorageClass", "", name)
        if written is None:
            return name if name in known else None
        waits = get_nested(written, "volumeBindingMode") == "WaitForFirstConsumer"
        is_disk = get_nested(written, "provisioner") in _DISKS
        return None if waits or not is_disk or get_nested(written, "allowedTopologies") else name

    def _bound_to(self, namespace: str, name: str) -> object:
        """Return the volume that names a claim; None without one."""
        for each in self._objects.of_kind(_VOLUME):
            claim = get_nested(each, "spec", "claimRef")
            if (get_nested(claim, "namespace"), get_nested(claim, "name")) == (namespace, name):
                return each
        return None

    def _of_claim(self, namespace: str, name: str) -> _Terms:
        """Return the terms of the volume that a claim names, or else that its class allows."""
        claim = self._objects.get(_CLAIM, namespace, name)
        volume = self._objects.get(_VOLUME, "", get_nested(claim, "spec", "volumeName"))
        volume = self._bound_to(namespace, name) if volume is None else volume
        if volume is not None:
            terms = get_nested(volume, "spec", "nodeAffinity", "required", "nodeSelectorTerms")
            return tuple(tuple(_expressions(each, "matchExpressions")) for each in as_list(terms))
        return self._of_class(get_nested(claim, "spec", "storageClassName"))

    def _of_class(self, name: object) -> _Terms:
        """Return the terms of a StorageClass: a new volume is made in one of its topologies."""
        allowed = as_list(get_nested(self._objects.get("StorageClass", "", name), "allowedTopologies"))
        return tuple(tuple(_expressions(each, "matchLabelExpressions")) for each in allowed)


def _expressions(term: object, key: str) -> Iterator[NodeSelectorRequirement]:
    for each in as_list(get_nested(term, key)):
        label, operator = get_nested(each, "key"), get_nested(each, "operator") or "In"
        values = tuple(str(value) for value in as_list(get_nested(each, "values")))
        if isinstance(label, str) and operator in ("In", "NotIn", "Exists", "DoesNotExist"):
            yield NodeSelectorRequirement(label, str(operator), values)
