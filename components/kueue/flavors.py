"""Kueue's resource flavors. Does not own the nodes they select."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi

from components.kubernetes import KubernetesObject, inside
from components.kueue.manifests import resource_flavor
from components.plan.kueue import FlavorPlan


class Flavors(pulumi.ComponentResource):
    """Every ResourceFlavor of the fleet. They wait for Kueue alone: a pool out of stock holds back no queue."""

    def __init__(
        self,
        name: str,
        plan: Sequence[FlavorPlan],
        *,
        provider: pulumi.ProviderResource,
        served_by: Sequence[pulumi.Resource] = (),
        cluster: pulumi.Resource | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:kueue:Flavors", name, None, opts)
        options = inside(self, provider=provider, cluster=cluster, served_by=served_by)
        for flavor in plan:
            KubernetesObject(f"{name}-{flavor.name}", resource_flavor(flavor), opts=options)
        self.register_outputs({"flavors": [flavor.name for flavor in plan]})
