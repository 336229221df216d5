"""Buckets that the jobs of a team mount with Cloud Storage FUSE: volumes, options, room for the caches of the sidecar.

Sources: GKE docs on the driver's volume attributes, mount options and sidecar (its volume `gke-gcsfuse-cache` holds the
file cache, an emptyDir on the node's storage unless the pod has its own); read 2026-11-29.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from berth.diagnostics import Problems
from berth.jobs.gke_webhooks import (
    CACHE_VOLUME,
    FUSE_DRIVER,
    FUSE_VOLUMES,
    SIDECAR,
    sidecar_keys,
    sidecar_requests,
)
from berth.jobs.values import SourceValue
from berth.manifests.quantities import quantity
from berth.manifests.workloads.values import as_mapping
from berth.plan.teams import BucketMountSpec, TeamPlan
from berth.plan.workloads import MountPlan
from berth.workloads.pod_templates import inline_volumes

_MIB: Final = 2**20


def bucket_mounts(
    team: TeamPlan, template: Mapping[str, object] | None, *, host_network: bool = False
) -> tuple[MountPlan, ...]:
    """Return the volumes of a team's pods for its buckets, without those that their template mounts already.

    On the host network the driver acts as the nodes' account, unless a volume says that it acts as the pod's.
    """
    mounts = _mounts(team, template)
    made = [
        MountPlan(
            name=name,
            volume=_volume(each, host_network=host_network),
            path=each.path or f"/{name}",
            read_only=each.read_only,
        )
        for name, each in mounts.items()
    ]
    if (cache := _cache_volume(mounts)) is not None:
        made.append(MountPlan(name=CACHE_VOLUME, volume=cache))
    return tuple(made)


def mount_annotations(team: TeamPlan, template: Mapping[str, object] | None) -> dict[str, str]:
    """Return the annotations of pods with these volumes: the sidecar, with room for its caches.

    What a template says of a resource of the sidecar stays as it is: a limit below its request would refuse the pods.
    """
    mounts = _mounts(team, template)
    if not mounts:
        return {}
    caches = [each.file_cache for each in mounts.values() if each.file_cache]
    files = sum(each.capacity for each in caches)
    medium = caches[0].medium if caches else ""
    names = [each.metadata_cache for each in mounts.values() if each.metadata_cache]
    memory = sum(each.stat_capacity + each.type_capacity for each in names) + (files if medium == "memory" else 0)
    storage = files if medium in ("node-disk", "local-ssd") else 0
    added = {"memory": memory, "ephemeral-storage": storage}
    own = _annotations(template)
    limits = {
        sidecar_keys(resource)[1]: quantity(resource, SIDECAR[resource] + amount)
        for resource, amount in added.items()
        if amount and own.keys().isdisjoint(sidecar_keys(resource))
    }
    return {FUSE_VOLUMES: "true", **limits}


def sidecar_of(team: TeamPlan, template: Mapping[str, object] | None) -> dict[str, int]:
    """Return what the sidecar of Cloud Storage FUSE requests beside the containers of a pod; empty without it."""
    annotations = {**mount_annotations(team, template), **_annotations(template)}
    return sidecar_requests(SourceValue({"metadata": {"annotations": annotations}}, (), Problems()))


def _annotations(template: Mapping[str, object] | None) -> Mapping[str, object]:
    return as_mapping(as_mapping((template or {}).get("metadata")).get("annotations"))


def _mounts(team: TeamPlan, template: Mapping[str, object] | None) -> dict[str, BucketMountSpec]:
    """Return the mounts of a team that a template lacks."""
    taken = {as_mapping(each.get("volumeAttributes")).get("bucketName") for each in inline_volumes(template)}
    return {name: each for name, each in sorted(team.settings.bucket_mounts.items()) if each.bucket not in taken}


def _volume(mount: BucketMountSpec, *, host_network: bool) -> dict[str, object]:
    """Return a volume of the driver; its options are those of Cloud Storage FUSE, separated by commas."""
    options: list[str] = []
    if (files := mount.file_cache) is not None:
        options.append(f"file-cache:max-size-mb:{max(1, files.capacity // _MIB)}")
    if mount.parallel_downloads:
        options.append("file-cache:enable-parallel-downloads:true")
    if (names := mount.metadata_cache) is not None:
        options.append(f"metadata-cache:ttl-secs:{names.ttl_seconds}")
        options.append(f"metadata-cache:stat-cache-max-size-mb:{max(1, names.stat_capacity // _MIB)}")
        options.append(f"metadata-cache:type-cache-max-size-mb:{max(1, names.type_capacity // _MIB)}")
    attributes = {"bucketName": mount.bucket, **({"mountOptions": ",".join(options)} if options else {})}
    attributes |= {"hostNetworkPodKSA": "true"} if host_network else {}
    read_only = {"readOnly": True} if mount.read_only else {}
    return {"csi": {"driver": FUSE_DRIVER, **read_only, "volumeAttributes": attributes}}


def _cache_volume(mounts: Mapping[str, BucketMountSpec]) -> dict[str, object] | None:
    """Return the volume for the file caches of a pod; None for the sidecar's own, on the node's storage."""
    caches = [each.file_cache for each in mounts.values() if each.file_cache]
    size = quantity("memory", sum(each.capacity for each in caches))
    if caches and caches[0].medium == "memory":
        return {"emptyDir": {"medium": "Memory", "sizeLimit": size}}
    if caches and caches[0].medium == "persistent-disk":
        claim = {"accessModes": ["ReadWriteOnce"], "storageClassName": "premium-rwo"}
        spec = {**claim, "resources": {"requests": {"storage": size}}}
        return {"ephemeral": {"volumeClaimTemplate": {"spec": spec}}}
    return None
