"""What a stack on Alibaba Cloud is made of: members, the fleet above them, and what teams find there."""

from __future__ import annotations

from typing import Any

import pulumi
import pulumi_alicloud as alicloud

from berth.plan.ack import AckFleetPlan
from components.ack.fleet_instance import FleetInstance
from components.ack.fleet_objects import FleetObjects
from components.ack.member import Member
from components.kubernetes import cluster_provider

EXPORT_VERSION = 1
"""Raised when the shape of the `fleet` output changes in a way that its readers would notice."""


def build(plan: AckFleetPlan) -> dict[str, Any]:
    """Register everything in the plan, and return what the stack exports."""
    opts = pulumi.ResourceOptions(providers=[alicloud.Provider("alibaba-cloud", region=plan.region)])
    members = {
        each.name: Member(each.key, each, tags=plan.tags, pool_prefix=f"pool-{each.name}-", opts=opts).cluster_id
        for each in plan.members
    }
    fleet = FleetInstance("fleet", plan.fleet, members=members, opts=opts)
    if plan.fleet.kubeconfig is not None:
        # A path, not what the file holds: the credential stays out of the state.
        provider = cluster_provider("fleet", kubeconfig=plan.fleet.kubeconfig, cluster_identifier=plan.fleet.name)
        FleetObjects("objects", plan, members=fleet.memberships, opts=pulumi.ResourceOptions(providers=[provider]))
    return {
        "fleet": {
            "version": EXPORT_VERSION,
            "region": plan.region,
            "fleet": fleet.fleet_id,
            "members": pulumi.Output.all(**members),
            "teams": {team.name: {"namespaces": [place.name for place in team.namespaces]} for team in plan.teams},
        }
    }
