"""The ACK One fleet instance, and the membership of its clusters."""

from __future__ import annotations

from berth.plan.ack import AckOnePlan
from berth.registration import Registration


def fleet_instance(plan: AckOnePlan) -> Registration | None:
    """Return a new fleet instance; None for an existing one."""
    if plan.existing is not None:
        return None
    return Registration(
        type="alicloud:ackone/cluster:Cluster",
        arguments={
            "cluster_name": plan.name,
            "network": {"vpc_id": plan.vpc, "vswitches": [*plan.vswitches]},
            "argocd_enabled": False,
        },
        protect=plan.protect,
        delete_before_replace=True,
    )


def membership(fleet: object, member: object) -> Registration:
    """Return the membership of a cluster; `fleet` and `member` are IDs of clusters."""
    return Registration(
        type="alicloud:ackone/membershipAttachment:MembershipAttachment",
        arguments={"cluster_id": fleet, "sub_cluster_id": member},
        delete_before_replace=True,
    )
