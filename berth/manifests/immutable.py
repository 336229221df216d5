"""Immutable fields of the Kubernetes objects that Berth creates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

IMMUTABLE: Final[Mapping[str, tuple[str, ...]]] = {
    "PriorityClass": ("value", "preemptionPolicy"),
    "LocalQueue": ("spec.clusterQueue",),
    "AdmissionCheck": ("spec.controllerName",),
    "Topology": ("spec.levels",),
    "JobSet": ("spec.replicatedJobs", "spec.failurePolicy"),
    "ProvisioningRequest": ("spec",),
    "ComputeDomain": ("spec",),
    "TrainJob": ("spec.runtimeRef", "spec.trainer"),
}
"""Fields that the API server does not let change (Kubernetes 1.36 `ValidatePriorityClassUpdate`; Kueue 0.19.2 CRD
rules; JobSet 0.12 webhook; the CRDs of the cluster autoscaler, of Kubeflow Trainer 2.2 and of NVIDIA's DRA driver),
for kinds where the provider does not know it: without this table, a successful preview would end in a failed update."""

IMMUTABLE_WITH: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("ResourceFlavor", "topologyName"): ("spec.nodeLabels", "spec.tolerations"),
}
"""Kind → field of `spec` that makes other fields immutable, and those fields (Kueue 0.19.2, ResourceFlavor's CRD).

They do not include the topology: adding one is an update, which must not replace a flavor in use.
"""

MUTABLE_SINCE: Final[Mapping[str, tuple[int, int]]] = {"ResourceFlavor": (0, 20), "Topology": (0, 20)}
"""Kind → the minor of Kueue from which the fields above can change (Kueue 0.20.0, #13738, #13622, #13910): those of a
Topology only while its lowest level is the host, before and after."""

_HOST: Final = "kubernetes.io/hostname"
_MINOR: Final = re.compile(r"(\d+)\.(\d+)\.")


def immutable_paths(manifest: Mapping[str, Any], kueue: str | None = None) -> list[str]:
    """Return the immutable fields of an object, as paths for `replace_on_changes`.

    `kueue` is the release that serves the object, such as 0.19.2. Of an unknown one (None), the fields count as
    immutable, as they are in every release up to the pin.
    """
    kind: str = manifest["kind"]
    spec: Mapping[str, Any] = manifest.get("spec") or {}
    minor = _MINOR.match(kueue or "")
    if minor and (int(minor[1]), int(minor[2])) >= MUTABLE_SINCE.get(kind, (int(minor[1]) + 1, 0)):
        levels = spec.get("levels")
        if not levels or levels[-1]["nodeLabel"] == _HOST:
            return []
    conditional = [fields for (of, field), fields in IMMUTABLE_WITH.items() if of == kind and field in spec]
    return [*IMMUTABLE.get(kind, ()), *(each for fields in conditional for each in fields)]
