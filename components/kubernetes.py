"""Any manifest as a Pulumi resource, and common options of all objects in a cluster.

`pulumi_kubernetes.apiextensions.CustomResource` has only `metadata` and `spec`, so it cannot set the `value` of a
WorkloadPriorityClass. The provider itself accepts any object with the type token `kubernetes:<apiVersion>:<Kind>`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any, cast

import pulumi
import pulumi_kubernetes as kubernetes

from berth.manifests.immutable import immutable_paths
from berth.manifests.releases import kubernetes_provider, stays
from berth.manifests.serving.webhooks import is_patch, without_patch

_PLUGIN = version("pulumi_kubernetes")
"""The version of the plugin is that of the installed SDK; the engine needs it to find the plugin."""


class KubernetesObject(pulumi.CustomResource):
    """One Kubernetes object as in its manifest.

    `live` overrides values of the manifest with outputs of other resources, such as the name of a Namespace, which also
    makes the object depend on them. `kueue` is the release of Kueue that serves it. The type token includes the
    apiVersion, so another version needs an alias. A change of an immutable field replaces the object, deleting the old
    one first, because its name is fixed. Kueue does not delete a flavor, topology or check that is in use, so replacing
    one never ends: such a change needs a new name instead.

    A manifest whose kind ends in `Patch` sets its fields in an object that something else creates, by server-side
    apply; deleting it removes them there. The provider compares lists in a patch by position, with those of the whole
    object, so changes of its webhooks are ignored: other webhooks need another name in the program.
    """

    metadata: pulumi.Output[Mapping[str, Any]]

    def __init__(
        self,
        name: str,
        manifest: Mapping[str, Any],
        *,
        live: Mapping[str, Any] | None = None,
        kueue: str | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        own = pulumi.ResourceOptions(version=_PLUGIN)
        if fixed_fields := immutable_paths(manifest, kueue):
            own.replace_on_changes = fixed_fields
            own.delete_before_replace = True
        if stays(manifest):
            own.retain_on_delete = True
        if is_patch(manifest):
            own.ignore_changes = ["webhooks"]
        inputs = overlay(without_patch(manifest), live or {})
        super().__init__(type_token(manifest), name, inputs, pulumi.ResourceOptions.merge(own, opts))

    @property
    def object_name(self) -> pulumi.Output[str]:
        """The object's name in the cluster, as an output; resources that use it depend on the object."""
        return cast("pulumi.Output[str]", self.metadata["name"])


def cluster_provider(
    name: str,
    *,
    kubeconfig: pulumi.Input[str] | None,
    cluster_identifier: str,
    context: str | None = None,
    parent: pulumi.Resource | None = None,
) -> kubernetes.Provider:
    """Return a provider for one cluster, identified by `cluster_identifier` even if the kubeconfig changes."""
    made = kubernetes_provider(kubeconfig=kubeconfig, cluster_identifier=cluster_identifier, context=context)
    return kubernetes.Provider(name, **made.arguments, opts=pulumi.ResourceOptions(parent=parent))


def cluster_options(
    parent: pulumi.Resource,
    *,
    cluster: pulumi.Resource | None,
    served_by: Sequence[pulumi.Resource] = (),
) -> pulumi.ResourceOptions:
    """Return options of an object in a cluster: it depends on what serves its kind, and is deleted with the cluster."""
    return pulumi.ResourceOptions(parent=parent, deleted_with=cluster, depends_on=list(served_by) or None)


def type_token(manifest: Mapping[str, Any]) -> str:
    """Return the type token, such as `kubernetes:kueue.x-k8s.io/v1beta2:Cohort`; the legacy group is `core`."""
    group_version = str(manifest["apiVersion"])
    return f"kubernetes:{group_version if '/' in group_version else f'core/{group_version}'}:{manifest['kind']}"


def overlay(manifest: Mapping[str, Any], live: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of the manifest, recursively overridden by `live`."""
    merged = dict(manifest)
    for key, value in live.items():
        is_nested = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = overlay(merged[key], cast("Mapping[str, Any]", value)) if is_nested else value
    return merged
