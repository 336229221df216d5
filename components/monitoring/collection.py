"""Collection of metrics in a cluster and, for an in-cluster Prometheus, alerts and dashboards."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi

from berth.manifests.monitoring import monitoring_manifests
from berth.plan.monitoring import MonitoringPlan

from ..kubernetes import KubernetesObject, cluster_options


class Collection(pulumi.ComponentResource):
    """Targets and permissions to read them and, for an in-cluster Prometheus, alerts and dashboards.

    `served_by` are the releases that serve the kinds: Kueue's for its namespace and role, the operator's for monitors.
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
        for manifest in monitoring_manifests(plan, stack):
            options = cluster_options(self, cluster=cluster, served_by=served_by)
            if manifest["kind"] == "Secret":
                # Kubernetes adds the token, and the provider reads it back as a secret, never in plain text.
                options.additional_secret_outputs = ["data", "stringData"]
                # Kubernetes deletes it if its account does not exist yet (tokens controller).
                options.depends_on = [*served_by, *objects.values()]
            key = _key(manifest)
            objects[key] = KubernetesObject(f"{name}-{key}", manifest, opts=options)
        self.register_outputs({"objects": list(objects)})


def _key(manifest: dict[str, object]) -> str:
    metadata = manifest["metadata"]
    assert isinstance(metadata, dict)
    return f"{str(manifest['kind']).lower()}-{metadata['name']}"
