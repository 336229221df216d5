"""Check that accelerator networks have an address for every node at the maximum size of the pools."""

from __future__ import annotations

from ipaddress import IPv4Network

from berth.diagnostics import FieldPath, Problems, join_words
from berth.validation.capacity import too_few_nodes
from berth.validation.quota_claims import FleetQuotaClaims

_RESERVED_ADDRESSES = 4
"""Addresses that Google Cloud reserves in every subnet."""


def check_accelerator_addresses(claims: FleetQuotaClaims, problems: Problems) -> None:
    """Report sets of networks that are too small: each node uses one address of every subnet of its set."""
    path: FieldPath = ("cluster", "network", "acceleratorCidrBlock")
    for networks in claims.plan.accelerator_networks:
        pools = claims.plan.pools_on(networks.key)
        nodes = sum(pool.nodes.max for pool in claims.plan.pools if pool.name in pools)
        smallest = min(
            (subnet for vpc in networks.vpcs for subnet in vpc.subnets), key=lambda s: _max_nodes(s.ip_range)
        )
        if nodes > _max_nodes(smallest.ip_range):
            subnet = f"subnet {smallest.ip_range} of '{networks.key}'"
            message = too_few_nodes(subnet, _max_nodes(smallest.ip_range), join_words(list(pools)), nodes)
            problems.fault("range-too-small", path, message)


def _max_nodes(ip_range: str) -> int:
    return IPv4Network(ip_range).num_addresses - _RESERVED_ADDRESSES
