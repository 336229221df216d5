"""The VPC of a cluster with its subnet, router, NAT and firewall rule for webhooks; and the VPCs for GPUDirect."""

from __future__ import annotations

from collections.abc import Sequence

from berth.names import MAX_COMPUTE_NAME, shorten
from berth.plan.gke import NetworkPlan, WebhookFirewallPlan
from berth.plan.node_settings import AcceleratorSubnetPlan, AcceleratorVpcPlan
from berth.registration import Registration, without_none


def vpc(plan: NetworkPlan) -> Registration:
    """Return the VPC, without subnets that Google chooses."""
    arguments = {
        "name": plan.name,
        "auto_create_subnetworks": False,
        "routing_mode": "GLOBAL",
        "mtu": plan.mtu,
    }
    return Registration(type="gcp:compute/network:Network", arguments=without_none(arguments))


def subnetwork(plan: NetworkPlan, network: object) -> Registration:
    """Return the subnet of nodes, with secondary ranges for pods and services; `network` is the ID of the VPC."""
    ranges = ((plan.pod_range_name, plan.pod_range), (plan.service_range_name, plan.service_range))
    return Registration(
        type="gcp:compute/subnetwork:Subnetwork",
        arguments={
            "name": plan.name,
            "region": plan.region,
            "network": network,
            "ip_cidr_range": plan.node_range,
            "private_ip_google_access": True,
            "secondary_ip_ranges": [{"range_name": name, "ip_cidr_range": cidr} for name, cidr in ranges],
        },
    )


def router(plan: NetworkPlan, network: object) -> Registration:
    """Return the router that NAT belongs to, for a plan with `nat`; `network` is the ID of the VPC."""
    return Registration(
        type="gcp:compute/router:Router",
        arguments={"name": plan.name, "region": plan.region, "network": network},
    )


def nat_address(plan: NetworkPlan) -> Registration | None:
    """Return the reserved address of NAT, if any: it stays the same, so that others can authorize it."""
    if not plan.nat or plan.nat_address is None:
        return None
    return Registration(
        type="gcp:compute/address:Address",
        arguments={
            "name": plan.nat_address,
            "region": plan.region,
            "address_type": "EXTERNAL",
            "description": "NAT of this network; MultiKueue workers authorize it",
        },
    )


def nat(plan: NetworkPlan, router_name: object, addresses: Sequence[object] = ()) -> Registration:
    """Return NAT of every subnet, which uses `addresses` (links to them) alone, or allocates its own without them."""
    arguments = {
        "name": plan.name,
        "region": plan.region,
        "router": router_name,
        "nat_ip_allocate_option": "MANUAL_ONLY" if addresses else "AUTO_ONLY",
        "nat_ips": [*addresses] or None,
        "source_subnetwork_ip_ranges_to_nat": "ALL_SUBNETWORKS_ALL_IP_RANGES",
        "log_config": {"enable": True, "filter": "ERRORS_ONLY"},
    }
    return Registration(type="gcp:compute/routerNat:RouterNat", arguments=without_none(arguments))


def webhook_firewall(plan: WebhookFirewallPlan, *, network: object, node_service_account: object) -> Registration:
    """Return the rule that lets the control plane's range reach ports of the nodes, by their service account."""
    return Registration(
        type="gcp:compute/firewall:Firewall",
        arguments={
            "name": plan.name,
            "network": network,
            "direction": "INGRESS",
            "description": "The control plane of the cluster reaches the webhooks of its controllers",
            "source_ranges": [plan.source_range],
            "target_service_accounts": [node_service_account],
            "allows": [{"protocol": "tcp", "ports": [str(port) for port in sorted(plan.ports)]}],
        },
    )


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
