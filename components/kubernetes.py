"""Any manifest as a Pulumi resource, and the options that every object inside a cluster has in common.

`pulumi_kubernetes.apiextensions.CustomResource` knows `metadata` and `spec` only, so it cannot carry the `value` of a
WorkloadPriorityClass. The provider itself takes any object whose token is `kubernetes:<apiVersion>:<Kind>`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import version
from typing import Any, cast

import pulumi
import pulumi_kubernetes as kubernetes

from berth.manifests.immutable import immutable_fields


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
        if fixed_fields := immutable_fields(manifest):
            own.replace_on_changes = fixed_fields
            own.delete_before_replace = True
        super().__init__(
            type_token(manifest), name, overlay(manifest, live or {}), pulumi.ResourceOptions.merge(own, opts)
        )

    @property
    def object_name(self) -> pulumi.Output[str]:
        """The object's name as the cluster knows it; what uses it waits for the object."""
        return cast("pulumi.Output[str]", self.metadata["name"])


def cluster_provider(
    name: str,
    *,
    kubeconfig: pulumi.Input[str] | None,
    cluster_identifier: str,
    context: str | None = None,
    parent: pulumi.Resource | None = None,
) -> kubernetes.Provider:
    """What reaches one cluster, which by its `cluster_identifier` is the same one whatever the kubeconfig says.

    ConfigMaps and Secrets change in place, as they do in Kubernetes. Left to itself the provider replaces them, and the
    old one goes first, for names are our own: a manager would be without its kubeconfig of a worker for a while.
    """
    return kubernetes.Provider(
        name,
        kubeconfig=kubeconfig,
        context=context,
        cluster_identifier=cluster_identifier,
        enable_config_map_mutable=True,
        enable_secret_mutable=True,
        opts=pulumi.ResourceOptions(parent=parent),
    )


def cluster_options(
    parent: pulumi.Resource,
    *,
    cluster: pulumi.Resource | None,
    served_by: Sequence[pulumi.Resource] = (),
) -> pulumi.ResourceOptions:
    """Options of an object in a cluster: it waits for what serves its kind, and goes when the cluster goes."""
    return pulumi.ResourceOptions(parent=parent, deleted_with=cluster, depends_on=list(served_by) or None)


def type_token(manifest: Mapping[str, Any]) -> str:
    """The type token: `kubernetes:kueue.x-k8s.io/v1beta2:Cohort`; the legacy group is spelt `core`."""
    group_version = str(manifest["apiVersion"])
    return f"kubernetes:{group_version if '/' in group_version else f'core/{group_version}'}:{manifest['kind']}"


def overlay(manifest: Mapping[str, Any], live: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest with `live` laid over it, mapping by mapping; neither is changed."""
    merged = dict(manifest)
    for key, value in live.items():
        is_nested = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = overlay(merged[key], cast("Mapping[str, Any]", value)) if is_nested else value
    return merged


@cache
def _provider_version() -> str:
    """The version of the plugin that belongs to the installed SDK; the engine needs it to find the plugin."""
    return version("pulumi_kubernetes")
