"""Composition of a stack on Alibaba Cloud: members, their ACK One fleet, and the fleet's objects."""

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
"""Version of the `fleet` output; raise it for a change that breaks readers of the output."""


def build_ack_fleet(plan: AckFleetPlan) -> dict[str, Any]:
    """Register everything in the plan, and return the stack's outputs."""
    opts = pulumi.ResourceOptions(providers=[alicloud.Provider("alibaba-cloud", region=plan.region)])
    members = {
        each.name: Member(each.key, each, tags=plan.tags, pool_prefix=f"pool-{each.name}-", opts=opts).cluster_id
        for each in plan.members
    }
    fleet = FleetInstance("fleet", plan.fleet, members=members, opts=opts)
    if plan.fleet.kubeconfig is not None:
        # A path, not the content of the file, so that credentials stay out of the state.
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
