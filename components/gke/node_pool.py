"""Node pools of a Standard cluster."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
import pulumi_gcp as gcp

from berth.google.node_pool import node_pool
from berth.plan.gke import NodePoolPlan
from components.options import resource_options


class NodePool(pulumi.ComponentResource):
    """A node pool as in its plan.

    Owns the pool. Does not own its reservation, placement policy or networks, which are deleted after it, or the number
    of nodes if it is autoscaled. `reservation`, `placement_policy` and `interfaces` (network and subnetwork, in the
    plan's order) are live names of resources of the same program, so that the pool is created after them.
    """

    def __init__(
        self,
        name: str,
        plan: NodePoolPlan,
        *,
        cluster: pulumi.Input[str],
        location: pulumi.Input[str],
        service_account: pulumi.Input[str] | None,
        reservation: pulumi.Input[str] | None = None,
        placement_policy: pulumi.Input[str] | None = None,
        interfaces: Sequence[tuple[pulumi.Input[str], pulumi.Input[str]]] = (),
        depends_on: Sequence[pulumi.Resource] = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:gke:NodePool", name, None, opts)
        made = node_pool(
            plan,
            cluster=cluster,
            location=location,
            service_account=service_account,
            reservation=reservation,
            placement_policy=placement_policy,
            interfaces=interfaces,
        )
        pool = gcp.container.NodePool(f"{name}-pool", **made.arguments, opts=resource_options(made, self, depends_on))
        self.pool_name: pulumi.Output[str] = pool.name
        self.register_outputs({"poolName": self.pool_name})
