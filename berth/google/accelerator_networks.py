"""VPCs for GPUDirect, in addition to the cluster's VPC."""

from __future__ import annotations

from berth.names import MAX_COMPUTE_NAME, shorten
from berth.plan.node_settings import AcceleratorSubnetPlan, AcceleratorVpcPlan
from berth.registration import Registration, without_none


def accelerator_vpc(plan: AcceleratorVpcPlan) -> Registration:
    """Return a VPC, without subnets that Google chooses."""
    arguments = {
        "name": plan.name,
        "auto_create_subnetworks": False,
        "routing_mode": "REGIONAL",
        "mtu": plan.mtu,
        "network_profile": plan.profile,
    }
    return Registration(type="gcp:compute/network:Network", arguments=without_none(arguments))


def accelerator_firewall(plan: AcceleratorVpcPlan, network: object) -> Registration | None:
    """Return the rule for traffic between nodes, if the VPC has one; `network` is the ID of the VPC."""
    if not plan.allowed_ranges:
        return None
    return Registration(
        type="gcp:compute/firewall:Firewall",
        arguments={
            "name": shorten(f"{plan.name}-internal", MAX_COMPUTE_NAME),
            "network": network,
            "direction": "INGRESS",
            "source_ranges": sorted(plan.allowed_ranges),
            "allows": [{"protocol": protocol} for protocol in ("icmp", "tcp", "udp")],
        },
    )


def accelerator_subnetwork(plan: AcceleratorSubnetPlan, region: str, network: object) -> Registration:
    """Return the subnet for one interface of every node; `network` is the ID of the VPC."""
    return Registration(
        type="gcp:compute/subnetwork:Subnetwork",
        arguments={"name": plan.name, "region": region, "network": network, "ip_cidr_range": plan.ip_range},
    )
