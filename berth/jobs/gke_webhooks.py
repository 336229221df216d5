"""What webhooks on GKE add to the pods of a job: requests, and the topology request of a dynamic slice.

Kueue counts templates without the requests, which annotations set. Additional networks (GKE docs: multi-network support
for Pods): a network of the type Device is one device of its node. Cloud Storage FUSE: a sidecar with requests of its
own, or those of annotations (GKE docs: configure the sidecar; GoogleCloudPlatform/gcs-fuse-csi-driver 01870a9,
pkg/webhook/config.go, `populateResource`). Read 2026-11-28. Dynamic slices: Kueue's slice controller (xpk,
`slice/internal/webhooks`: Job, JobSet and LeaderWorkerSet with a queue; `defaults.go`), read 2026-11-28.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from berth.jobs.pod_set import FieldSteps, PodSet, TopologyRequest
from berth.jobs.quantities import parse_quantity
from berth.jobs.values import SourceValue, describe_value, inside
from berth.manifests.workloads.values import as_list, as_mapping
from berth.plan.dynamic_slices import SlicingPlan
from berth.plan.node_settings import INTERFACES, NETWORK_RESOURCE

FUSE_VOLUMES: Final = "gke-gcsfuse/volumes"
"""Annotation of pods whose Cloud Storage FUSE volumes need GKE's sidecar."""
FUSE_DRIVER: Final = "gcsfuse.csi.storage.gke.io"
"""CSI driver of Cloud Storage FUSE."""
CACHE_VOLUME: Final = "gke-gcsfuse-cache"
"""Volume of a pod in which the sidecar keeps files of buckets; without it, the storage of the node."""
SIDECAR: Final = {"cpu": 250, "memory": 256 * 2**20, "ephemeral-storage": 5 * 2**30}
"""Requests of the sidecar by default: milli-cpu and bytes."""
_ANNOTATIONS = ("metadata", "annotations")
_OWN_NETWORKS = ("", "default", "pod-network")
"""Names of the network that every pod has, which is no device of its node."""
FUSE_PREFIX: Final = FUSE_VOLUMES.partition("/")[0]


def added_requests(template: SourceValue) -> dict[str, int]:
    """Return what the webhooks add to the requests of a pod; a fault if an annotation cannot be read."""
    return network_requests(template) | sidecar_requests(template)


def added_paths(template: SourceValue, requests: Mapping[str, int]) -> dict[str, FieldSteps]:
    """Return the annotation by which a template asks for each of these requests; a default nobody asks for."""
    annotations = as_mapping(inside(template, *_ANNOTATIONS).value)
    asked = {name: [INTERFACES] if name.startswith(NETWORK_RESOURCE) else sidecar_keys(name) for name in requests}
    written = {name: next((key for key in keys if key in annotations), None) for name, keys in asked.items()}
    return {name: (*_ANNOTATIONS, key) for name, key in written.items() if key is not None}


def sidecar_keys(resource: str) -> list[str]:
    """Return the annotations with the sidecar's request for a resource, and its limit; one alone is both for GKE."""
    return [f"{FUSE_PREFIX}/{resource}-{part}" for part in ("request", "limit")]


# --- networks ---------------------------------------------------------------------------------------------------------


def network_requests(template: SourceValue) -> dict[str, int]:
    """Return a request for each additional network that the pods of a template name; a fault if it cannot be read."""
    written = inside(template, *_ANNOTATIONS, INTERFACES)
    if written.value is None:
        return {}
    interfaces = _read(written.value)
    if interfaces is None:
        example = '[{"interfaceName": "eth0", "network": "default"}]'
        message = f"{describe_value(written.value)} is not a list of interfaces in JSON; write one: {example}"
        written.fault("bad-value", message)
        return {}
    names = [str(each.get("network", "")) for each in interfaces]
    return {f"{NETWORK_RESOURCE}{name}": 1 for name in names if name not in _OWN_NETWORKS}


def _read(text: object) -> Sequence[Mapping[str, object]] | None:
    try:
        value: object = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        return None
    is_list, interfaces = isinstance(value, list), [as_mapping(each) for each in as_list(value)]
    return interfaces if is_list and all("interfaceName" in each for each in interfaces) else None


# --- Cloud Storage FUSE -----------------------------------------------------------------------------------------------


def sidecar_requests(template: SourceValue) -> dict[str, int]:
    """Return the requests of the sidecar that mounts buckets; none without its annotation, or after a fault.

    They are those of annotations, or else their limits, of which 0 means none and leaves the default.
    """
    source = inside(template, *_ANNOTATIONS)
    annotations = as_mapping(source.value)
    if str(annotations.get(FUSE_VOLUMES)).lower() != "true":
        return {}
    requests = dict[str, int]()
    for resource, default in SIDECAR.items():
        amounts = dict[str, int]()
        for key in sidecar_keys(resource):
            if key in annotations:
                amount = parse_quantity(resource, annotations[key])
                if amount is None:
                    message = f"{describe_value(annotations[key])} is not a quantity, so GKE refuses the pods"
                    source.child(key, None).fault("bad-quantity", f"{message}; write one: 256Mi")
                    return {}
                amounts[key] = amount
        request, limit = sidecar_keys(resource)
        requests[resource] = amounts.get(request, amounts.get(limit) or default)
    return requests


READ_FRAMEWORKS: Final = ("batch/job", "jobset.x-k8s.io/jobset", "leaderworkerset.x-k8s.io/leaderworkerset")
"""The kinds that the webhooks read."""
ACCELERATOR: Final = "cloud.google.com/gke-tpu-accelerator"
"""The node label that a pod template must select for the webhooks to read it."""


def with_slice_request(pod_set: PodSet, topology: object, slicing: SlicingPlan) -> PodSet:
    """Return the pods with the topology request of the slice that they ask for; as they are if it cannot be formed."""
    formed = slicing.formed(str(topology))
    if formed is None or not selects_accelerator(pod_set):
        return pod_set
    request = TopologyRequest(required=slicing.outer, slice_level=formed.level, slice_size=formed.size)
    return replace(pod_set, topology=request)


def selects_accelerator(pod_set: PodSet) -> bool:
    """Return whether pods select the accelerator, by a node selector or a required affinity with one value."""
    if ACCELERATOR in pod_set.node_selector:
        return True
    return any(
        each.key == ACCELERATOR and each.operator == "In" and len(each.values) == 1
        for term in pod_set.affinity_terms
        for each in term
    )
