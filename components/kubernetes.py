"""Any manifest as a Pulumi resource, and the options that every object inside a cluster has in common.

`pulumi_kubernetes.apiextensions.CustomResource` knows `metadata` and `spec` only, so it cannot carry the `value` of a
WorkloadPriorityClass. The provider itself takes any object whose token is `kubernetes:<apiVersion>:<Kind>`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import version
from typing import Any, Final, cast

import pulumi

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


class KubernetesObject(pulumi.CustomResource):
    """One Kubernetes object that is exactly its manifest.

    `live` is laid over the manifest where a value must come from another resource: a namespace taken from the
    Namespace's own output, say, which also makes the two wait for each other. The token holds the apiVersion, so a move
    to another version needs an alias. A change of an immutable field replaces the object, the old one first: its name
    is its own. Kueue lets no flavor, topology or check go that is still named elsewhere, so a replacement of one waits
    for that, in vain: such a change wants a new name instead.
    """

    metadata: pulumi.Output[Mapping[str, Any]]

    def __init__(
        self,
        name: str,
        manifest: Mapping[str, Any],
        *,
        live: Mapping[str, Any] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        own = pulumi.ResourceOptions(version=_provider_version())
        if fixed := immutable(manifest):
            own.replace_on_changes = fixed
            own.delete_before_replace = True
        super().__init__(token(manifest), name, overlaid(manifest, live or {}), pulumi.ResourceOptions.merge(own, opts))

    @property
    def object_name(self) -> pulumi.Output[str]:
        """The object's name as the cluster knows it; what uses it waits for the object."""
        return cast("pulumi.Output[str]", self.metadata["name"])


def inside(
    parent: pulumi.Resource,
    *,
    provider: pulumi.ProviderResource,
    cluster: pulumi.Resource | None,
    served_by: Sequence[pulumi.Resource] = (),
) -> pulumi.ResourceOptions:
    """Options of an object in a cluster: it waits for what serves its kind, and goes when the cluster goes."""
    return pulumi.ResourceOptions(
        parent=parent, provider=provider, deleted_with=cluster, depends_on=list(served_by) or None
    )


def token(manifest: Mapping[str, Any]) -> str:
    """The type token: `kubernetes:kueue.x-k8s.io/v1beta2:Cohort`; the legacy group is spelt `core`."""
    group_version = str(manifest["apiVersion"])
    return f"kubernetes:{group_version if '/' in group_version else f'core/{group_version}'}:{manifest['kind']}"


def immutable(manifest: Mapping[str, Any]) -> list[str]:
    """The fields of an object that cannot be changed, as paths for `replace_on_changes`."""
    kind, spec = str(manifest["kind"]), manifest.get("spec") or {}
    given = [fields for (of, field), fields in IMMUTABLE_WITH.items() if of == kind and field in spec]
    return [*IMMUTABLE.get(kind, ()), *(each for fields in given for each in fields)]


def overlaid(manifest: Mapping[str, Any], live: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest with `live` laid over it, mapping by mapping; neither is changed."""
    merged = dict(manifest)
    for key, value in live.items():
        deeper = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = overlaid(merged[key], cast("Mapping[str, Any]", value)) if deeper else value
    return merged


@cache
def _provider_version() -> str:
    """The version of the plugin that belongs to the installed SDK; the engine needs it to find the plugin."""
    return version("pulumi_kubernetes")
