"""Kueue's topologies. Does not own the flavors that use them, or the nodes."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi

from berth.manifests.kueue import topology
from berth.plan.kueue import TopologyPlan

from ..kubernetes import KubernetesObject, cluster_options


class Topologies(pulumi.ComponentResource):
    """Every Topology of the fleet, by name in `objects`. They depend only on Kueue, whose release is `kueue`."""

    objects: dict[str, KubernetesObject]

    def __init__(
        self,
        name: str,
        plan: Sequence[TopologyPlan],
        *,
        served_by: Sequence[pulumi.Resource] = (),
        cluster: pulumi.Resource | None = None,
        kueue: str | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:kueue:Topologies", name, None, opts)
        options = cluster_options(self, cluster=cluster, served_by=served_by)
        self.objects = {
            each.name: KubernetesObject(f"{name}-{each.name}", topology(each), kueue=kueue, opts=options)
            for each in plan
        }
        self.register_outputs({"topologies": [each.name for each in plan]})
