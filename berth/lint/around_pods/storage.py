"""Storage drivers and classes that the volumes of pods need, and file caches of Cloud Storage FUSE.

A class comes from a volume of its own, from a claim template of the job, or from a claim of the files. Source: GKE docs
on each storage driver (`surroundings.yaml`); Kubernetes docs on dynamic provisioning. The sidecar of Cloud Storage FUSE
keeps files in the storage of its node, or in the pod's volume `gke-gcsfuse-cache`; beyond its limit the pod is evicted
(storage) or the sidecar killed (memory). Sources: GKE docs on the sidecar and on volume attributes, read 2026-11-29.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from berth.catalog import fact_tables
from berth.diagnostics import join_words
from berth.jobs.gke_webhooks import CACHE_VOLUME, FUSE_DRIVER, SIDECAR, sidecar_keys
from berth.jobs.quantities import format_quantity, parse_quantity
from berth.jobs.values import SourceValue, get_nested, inside, items
from berth.lint.fleet import JobPods, SubmittedJob, list_job_pods
from berth.manifests.workloads.values import as_mapping
from berth.plan.fleet import ExistingClusterPlan
from berth.yaml_loader import load_table

Findings = Iterator[tuple[str, SourceValue, str]]
"""Code, place and message of what pods need and do not get."""
_CLAIM = "PersistentVolumeClaim"
_CLASS = "storageClassName"


@cache
def surroundings_table() -> dict[str, Any]:
    """Return the drivers, classes and projects that Google provides."""
    return load_table(Path(__file__).with_name("surroundings.yaml"))


def immediate_classes() -> list[str]:
    """Return GKE's StorageClasses that make a volume before a pod has a node."""
    return surroundings_table()["immediate_classes"]


def check_storage_classes(pods: JobPods) -> Findings:
    """Check that the cluster has the class of each volume that is made for the pods, and its driver."""
    for volume in pods.pod_set.volumes:
        if volume.kind == "ephemeral":
            yield from _check_class(pods, pods.at(volume.path), volume.target, volume.name)
    for source in _claim_templates(pods):
        name = str(get_nested(source.value, "metadata", "name"))
        yield from _check_class(pods, source, get_nested(source.value, "spec", _CLASS), name)
    namespace, context = pods.submitted.local_queue.namespace, pods.submitted.context
    for reference in pods.pod_set.references:
        claim = context.objects.get(_CLAIM, namespace, reference.name) if reference.kind == _CLAIM else None
        if claim is not None and not context.volume_zones.is_bound(namespace, reference.name):
            source = pods.at(reference.path)
            yield from _check_class(pods, source, get_nested(claim, "spec", _CLASS), reference.name)


def _check_class(pods: JobPods, source: SourceValue, written: object, volume: str) -> Findings:
    context, what = pods.submitted.context, f"the volume '{volume}'"
    if written is None and isinstance(context.plan.cluster, ExistingClusterPlan):
        message = f"not checked: whether the cluster has a default StorageClass, which {what} needs"
        yield "driver-unknown", source, f"{message}; write {_CLASS}"
    elif written == "":
        message = f"not checked: whether a PersistentVolume waits for {what}, as {_CLASS}: '' makes none"
        yield "driver-unknown", source, f"{message}; add its manifest, or write {_CLASS}: standard-rwo"
    if not isinstance(written, str) or not written:
        return
    own = context.objects.get("StorageClass", "", written)
    driver = surroundings_table()["storage_classes"].get(written)
    if own is not None:
        driver = get_nested(own, "provisioner")
    if isinstance(driver, str):
        yield from check_driver(pods, source, driver, f", which StorageClass '{written}' needs,")
    else:
        value = f"StorageClass '{written}'"
        yield "driver-unknown", source, fact_tables()["surroundings"].unknown(value, "whether the cluster has it is")


def check_driver(pods: JobPods, source: SourceValue, driver: str, of_class: str = "") -> Findings:
    """Check that the cluster has a storage driver."""
    nodes = pods.submitted.context.nodes
    # A job of a manager runs on one of its workers, each of which is a cluster with drivers of its own.
    lacking = [name for name, each in nodes.workers.items() if driver not in each.storage_drivers]
    if not lacking if nodes.workers else driver in nodes.storage_drivers:
        return
    if len(lacking) < len(nodes.workers):
        message = (
            f"not checked: whether its pods run on {join_words(lacking)}, where the driver '{driver}' is off or not"
        )
        yield "driver-unknown", source, f"{message} known; switch it on there too"
        return
    row = surroundings_table()["drivers"].get(driver)
    if row is None:
        yield (
            "driver-unknown",
            source,
            fact_tables()["surroundings"].unknown(f"storage driver '{driver}'", "whether the cluster has it is"),
        )
    elif nodes.open_reason is not None:
        yield "driver-unknown", source, f"not checked: whether the cluster has '{driver}': {nodes.open_reason}"
    else:
        shapes = pods.submitted.context.node_shapes(pods.submitted.queue)
        machine = shapes[0].pool.machine_type if shapes else "MACHINE"
        key = f"cluster.{row['key']}".replace("MACHINE", machine) if "key" in row else "the team's identity.secrets"
        message = f"the driver '{driver}'{of_class} is off in this cluster, so its pods never start"
        yield "no-driver", source, f"{message}; write {key} in the platform's stack file"


def claimed_volumes(pods: JobPods) -> set[str]:
    """Return the volumes from claim templates of a StatefulSet, a LeaderWorkerSet or a JobSet."""
    return {str(get_nested(each.value, "metadata", "name")) for each in _claim_templates(pods)}


def _claim_templates(pods: JobPods) -> Iterator[SourceValue]:
    job = pods.submitted.job.source
    spec = inside(job, "spec")
    holders = [spec, inside(spec, "leaderWorkerTemplate")]
    lists = [inside(each, "volumeClaimTemplates") for each in holders]
    lists += [inside(each, "templates") for each in items(inside(spec, "volumeClaimPolicies"))]
    for templates in lists:
        yield from items(templates)


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
