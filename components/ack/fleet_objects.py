"""What stands on the fleet's own API server: namespaces, priorities, the quota tree, propagation policies."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi

from berth.manifests.ack import named
from berth.plan.ack import AckFleetPlan
from components.kubernetes import KubernetesObject, inside


class FleetObjects(pulumi.ComponentResource):
    """Every object of the fleet, after the members have joined: a policy without members places nothing.

    Does not own what the fleet brings to its members, which goes with the objects here.
    """

    def __init__(
        self,
        name: str,
        plan: AckFleetPlan,
        *,
        provider: pulumi.ProviderResource,
        members: Sequence[pulumi.Resource] = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:ack:FleetObjects", name, None, opts)
        first = inside(self, provider=provider, cluster=None, served_by=members)
        spaces: list[pulumi.Resource] = []
        for role, manifest in named(plan):
            space = manifest["kind"] == "Namespace"
            options = first if space else inside(self, provider=provider, cluster=None, served_by=[*members, *spaces])
            made = KubernetesObject(f"{name}-{role}", manifest, opts=options)
            if space:
                spaces.append(made)
        self.register_outputs({"objects": [role for role, _ in named(plan)]})
