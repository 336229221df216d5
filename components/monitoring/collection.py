"""Collection of metrics in a cluster and, for an in-cluster Prometheus, alerts and dashboards."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi

from berth.manifests.monitoring import monitoring_manifests
from berth.parts.views import plan_views
from berth.plan.monitoring import MonitoringPlan

from ..arguments.views import ViewsArgs
from ..kubernetes import KubernetesObject, cluster_options


class Collection(pulumi.ComponentResource):
    """Targets and permissions to read them and, for an in-cluster Prometheus, alerts and dashboards.

    The arguments of Views collect what its dashboards show, with Managed Prometheus; a fleet passes its plan and its
    name. `served_by` are the releases that serve the kinds: Kueue's for its namespace and role, the operator's for
    monitors.
    """

    def __init__(
        self,
        name: str,
        args: ViewsArgs | MonitoringPlan,
        *,
        stack: str = "",
        cluster: pulumi.Resource | None = None,
        served_by: Sequence[pulumi.Resource] = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:monitoring:Collection", name, None, opts)
        args = ViewsArgs.of(args, name)
        plan: MonitoringPlan
        if isinstance(args, ViewsArgs):
            given, part = args.planned(self, name, plan_views)
            plan, stack = part.monitoring, given.plain["cluster"]
        else:
            plan = args
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
