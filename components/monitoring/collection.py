"""How the metrics of what runs in a cluster are collected, and for a Prometheus of its own where they are shown."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi

from berth.manifests.monitoring import all_manifests
from berth.plan.monitoring import MonitoringPlan
from components.kubernetes import KubernetesObject, cluster_options


class Collection(pulumi.ComponentResource):
    """Targets, the rights to read them, and in a cluster's own Prometheus the alerts and dashboards.

    `served_by` is what serves the kinds: Kueue's release for its namespace and role, the operator's for its monitors.
    """

    def __init__(
        self,
        name: str,
        plan: MonitoringPlan,
        *,
        stack: str,
        cluster: pulumi.Resource | None = None,
        served_by: Sequence[pulumi.Resource] = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:monitoring:Collection", name, None, opts)
        objects: dict[str, KubernetesObject] = {}
        for manifest in all_manifests(plan, stack):
            options = cluster_options(self, cluster=cluster, served_by=served_by)
            if manifest["kind"] == "Secret":
                # Kubernetes fills it, and the provider reads it back: the token is never plain in the state.
                options.additional_secret_outputs = ["data", "stringData"]
                # One whose account is not there yet is deleted by Kubernetes (tokens controller).
                options.depends_on = [*served_by, *objects.values()]
            key = _key(manifest)
            objects[key] = KubernetesObject(f"{name}-{key}", manifest, opts=options)
        self.register_outputs({"objects": list(objects)})


def _key(manifest: dict[str, object]) -> str:
    metadata = manifest["metadata"]
    assert isinstance(metadata, dict)
    return f"{str(manifest['kind']).lower()}-{metadata['name']}"
