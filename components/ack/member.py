"""Member clusters of an ACK One fleet."""

from __future__ import annotations

from collections.abc import Mapping

import pulumi
import pulumi_alicloud as alicloud

from berth.alibaba.member import member_cluster, member_node_pool
from berth.plan.ack import MemberPlan

from ..options import resource_options


class Member(pulumi.ComponentResource):
    """A new ACK Pro cluster with its GPU node pools, or the ID of an existing one.

    Owns the cluster and its node pools; owns nothing of an existing cluster. Does not own the VPC, the vSwitches, or
    the number of nodes of a pool that scales. Names of node pools start with `pool_prefix`, by default the component's
    name and a dash.
    """

    def __init__(
        self,
        name: str,
        plan: MemberPlan,
        *,
        tags: Mapping[str, str],
        pool_prefix: str | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:ack:Member", name, None, opts)
        self.cluster_id: pulumi.Output[str] = pulumi.Output.from_input(plan.existing or "")
        if plan.existing is None:
            made = member_cluster(plan, tags)
            self.cluster_id = alicloud.cs.ManagedKubernetes(
                f"{name}-cluster", **made.arguments, opts=resource_options(made, self)
            ).id
            names = f"{name}-" if pool_prefix is None else pool_prefix
            for pool in plan.node_pools:
                made = member_node_pool(pool, self.cluster_id, tags)
                alicloud.cs.NodePool(f"{names}{pool.name}", **made.arguments, opts=resource_options(made, self))
        self.register_outputs({"clusterId": self.cluster_id})
