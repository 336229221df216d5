"""Objects on the fleet's own API server: namespaces, priorities, the quota tree, propagation policies."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi

from berth.manifests.ack import manifests_by_role
from berth.plan.ack import AckFleetPlan

from ..kubernetes import KubernetesObject, cluster_options


class FleetObjects(pulumi.ComponentResource):
    """Every object of the fleet, created after the members have joined: a policy without members places nothing.

    Does not own the copies on members, which the fleet deletes together with these objects.
    """

    def __init__(
        self,
        name: str,
        plan: AckFleetPlan,
        *,
        members: Sequence[pulumi.Resource] = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:ack:FleetObjects", name, None, opts)
        namespace_options = cluster_options(self, cluster=None, served_by=members)
        namespaces: list[pulumi.Resource] = []
        for role, manifest in manifests_by_role(plan):
            is_namespace = manifest["kind"] == "Namespace"
            options = (
                namespace_options
                if is_namespace
                else cluster_options(self, cluster=None, served_by=[*members, *namespaces])
            )
            kubernetes_object = KubernetesObject(f"{name}-{role}", manifest, opts=options)
            if is_namespace:
                namespaces.append(kubernetes_object)
        self.register_outputs({"objects": [role for role, _ in manifests_by_role(plan)]})
