"""Which fields of the Kubernetes objects that Berth makes can never be changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

IMMUTABLE: Final[Mapping[str, tuple[str, ...]]] = {
    "PriorityClass": ("value", "preemptionPolicy"),
    "LocalQueue": ("spec.clusterQueue",),
    "AdmissionCheck": ("spec.controllerName",),
    "Topology": ("spec.levels",),
    "JobSet": ("spec.replicatedJobs", "spec.failurePolicy"),
    "ProvisioningRequest": ("spec",),
}
"""Fields the API server refuses to change (Kubernetes 1.36 `ValidatePriorityClassUpdate`; Kueue 0.19.2 CRD rules;
JobSet 0.12 webhook; the cluster autoscaler's CRD), of kinds for which the provider does not know it: without this a
green preview ends in a failed update."""

IMMUTABLE_WITH: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("ResourceFlavor", "topologyName"): ("spec.nodeLabels", "spec.tolerations"),
}
"""The same for objects whose `spec` has the field that stands with the kind (Kueue 0.19.2, ResourceFlavor's CRD).

The topology itself is not among them: to add one is a plain update, which must not replace a flavor in use.
"""


def immutable_fields(manifest: Mapping[str, Any]) -> list[str]:
    """The fields of an object that cannot be changed, as paths for `replace_on_changes`."""
    kind: str = manifest["kind"]
    spec: Mapping[str, Any] = manifest.get("spec") or {}
    conditional = [fields for (of, field), fields in IMMUTABLE_WITH.items() if of == kind and field in spec]
    return [*IMMUTABLE.get(kind, ()), *(each for fields in conditional for each in fields)]
