"""File caches of Cloud Storage FUSE that are larger than what the sidecar of their pods may use.

The sidecar keeps files in the storage of its node, or in the pod's volume `gke-gcsfuse-cache`; beyond its limit the pod
is evicted (storage) or the sidecar killed (memory). Sources: GKE docs on the sidecar and on volume attributes, read
2026-11-29.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from berth.jobs.gke_webhooks import CACHE_VOLUME, FUSE_DRIVER, SIDECAR, sidecar_keys
from berth.jobs.quantities import format_quantity, parse_quantity
from berth.jobs.values import get_nested
from berth.lint.fleet import SubmittedJob
from berth.lint.job_pods import JobPods, list_job_pods
from berth.manifests.workloads.values import as_mapping

_SIZE: Final = re.compile(r"file-cache:max-size-mb:(\d+)")
_MIB: Final = 2**20


def check_fuse_caches(job: SubmittedJob) -> None:
    """Warn of file caches of buckets for which the sidecar of a pod has no room."""
    for pods in list_job_pods(job):
        buckets = [each for each in pods.pod_set.volumes if each.kind == "csi" and each.target == FUSE_DRIVER]
        caches = {each.path: _capacity(pods.settings.volume_fields(each)) for each in buckets}
        wanted = sum(caches.values())
        own = next((each for each in pods.pod_set.volumes if each.name == CACHE_VOLUME), None)
        in_memory = own is not None and get_nested(pods.settings.volume_fields(own), "medium") == "Memory"
        if not wanted or (own is not None and not in_memory):
            continue
        resource = "memory" if in_memory else "ephemeral-storage"
        room = _limit(pods, resource)
        if room is None or wanted <= room:
            continue
        path = next(path for path, capacity in caches.items() if capacity)
        size, limit = format_quantity(resource, wanted), format_quantity(resource, room)
        effect = "GKE kills the sidecar" if in_memory else "the kubelet evicts the pod"
        enough = format_quantity(resource, wanted + SIDECAR[resource])
        message = f"file caches of {size} in a sidecar with {limit} of {resource}: {effect} when they fill"
        remedy = f"write the annotation {sidecar_keys(resource)[1]}: {enough}, or a smaller cache"
        job.warn("fuse-cache", pods.at(path).path, f"{message}; {remedy}")


def _capacity(volume: Mapping[str, object]) -> int:
    """Return the most bytes that a volume's file cache takes; 0 without one, and without a limit of its own."""
    attributes = as_mapping(volume.get("volumeAttributes"))
    written = parse_quantity("memory", attributes.get("fileCacheCapacity"))
    found = _SIZE.search(str(attributes.get("mountOptions") or ""))
    return int(found[1]) * _MIB if found else written or 0


def _limit(pods: JobPods, resource: str) -> int | None:
    """Return the sidecar's limit of a resource; None if it has none (0), or if that cannot be read."""
    request, limit = (pods.settings.annotations.get(key) for key in sidecar_keys(resource))
    written = request if limit is None else limit
    return SIDECAR[resource] if written is None else parse_quantity(resource, written) or None
