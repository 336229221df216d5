"""The ACK One fleet instance: the API server that teams submit to, and the membership of its clusters."""

from __future__ import annotations

from collections.abc import Mapping

import pulumi
import pulumi_alicloud as alicloud

from berth.plan.ack import AckOnePlan


class FleetInstance(pulumi.ComponentResource):
    """A new fleet instance, or the ID of an existing one, and the membership of each of its clusters.

    Owns the memberships and, unless it exists, the instance; not the members. `members` maps name → live cluster ID.
    """

    def __init__(
        self,
        name: str,
        plan: AckOnePlan,
        *,
        members: Mapping[str, pulumi.Input[str]],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:ack:FleetInstance", name, None, opts)
        self.fleet_id: pulumi.Output[str] = (
            self._instance(name, plan).id if plan.existing is None else pulumi.Output.from_input(plan.existing)
        )
        self.memberships: list[pulumi.Resource] = [
            self._membership(f"{name}-{member}", cluster_id) for member, cluster_id in sorted(members.items())
        ]
        self.register_outputs({"fleetId": self.fleet_id})

    def _instance(self, name: str, plan: AckOnePlan) -> alicloud.ackone.Cluster:
        return alicloud.ackone.Cluster(
            f"{name}-instance",
            cluster_name=plan.name,
            network=alicloud.ackone.ClusterNetworkArgs(vpc_id=plan.vpc, vswitches=[*plan.vswitches]),
            argocd_enabled=False,
            opts=pulumi.ResourceOptions(parent=self, protect=plan.protect, delete_before_replace=True),
        )

    def _membership(self, name: str, cluster_id: pulumi.Input[str]) -> alicloud.ackone.MembershipAttachment:
        return alicloud.ackone.MembershipAttachment(
            name,
            cluster_id=self.fleet_id,
            sub_cluster_id=cluster_id,
            opts=pulumi.ResourceOptions(parent=self, delete_before_replace=True),
        )
