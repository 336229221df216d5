"""The ACK One fleet instance: the API server that teams submit to, and the membership of its clusters."""

from __future__ import annotations

from collections.abc import Mapping

import pulumi
import pulumi_alicloud as alicloud

from berth.alibaba.fleet_instance import fleet_instance, membership
from berth.plan.ack import AckOnePlan

from ..options import resource_options


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
        self.fleet_id: pulumi.Output[str] = pulumi.Output.from_input(plan.existing or "")
        if (made := fleet_instance(plan)) is not None:
            self.fleet_id = alicloud.ackone.Cluster(
                f"{name}-instance", **made.arguments, opts=resource_options(made, self)
            ).id
        self.memberships: list[pulumi.Resource] = []
        for member, cluster_id in sorted(members.items()):
            made = membership(self.fleet_id, cluster_id)
            self.memberships.append(
                alicloud.ackone.MembershipAttachment(
                    f"{name}-{member}", **made.arguments, opts=resource_options(made, self)
                )
            )
        self.register_outputs({"fleetId": self.fleet_id})
