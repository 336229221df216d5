"""Kueue's resource flavors. Does not own the nodes they select."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi

from berth.manifests.kueue import resource_flavor
from berth.plan.kueue import FlavorPlan

from ..kubernetes import KubernetesObject, cluster_options


class Flavors(pulumi.ComponentResource):
    """Every ResourceFlavor of the fleet, by name in `objects`. They do not depend on pools, which may be out of stock.

    A flavor depends on Kueue and on its topology, which Kueue deletes only after it. `topologies` maps name → object.
    """

    objects: dict[str, KubernetesObject]

    def __init__(
        self,
        name: str,
        plan: Sequence[FlavorPlan],
        *,
        topologies: Mapping[str, pulumi.Resource] | None = None,
        served_by: Sequence[pulumi.Resource] = (),
        cluster: pulumi.Resource | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:kueue:Flavors", name, None, opts)
        self.objects = {}
        for flavor in plan:
            own_topology = [topology for key, topology in (topologies or {}).items() if key == flavor.topology]
            options = cluster_options(self, cluster=cluster, served_by=[*served_by, *own_topology])
            self.objects[flavor.name] = KubernetesObject(f"{name}-{flavor.name}", resource_flavor(flavor), opts=options)
        self.register_outputs({"flavors": [flavor.name for flavor in plan]})
