"""Networks of accelerators have an address for every node that the pools can reach."""

from __future__ import annotations

from ipaddress import IPv4Network

from berth.diagnostics import Path, Problems, in_words
from berth.validation.quota_claims import Ledger

_GOOGLES = 4
"""Addresses that Google Cloud keeps of every subnet."""


def accelerator_addresses_suffice(ledger: Ledger, found: Problems) -> None:
    """Each node takes one address of every subnet of its set."""
    path: Path = ("cluster", "network", "acceleratorCidrBlock")
    for networks in ledger.plan.accelerator_networks:
        pools = ledger.plan.pools_on(networks.key)
        nodes = sum(pool.nodes.max for pool in ledger.plan.pools if pool.name in pools)
        smallest = min((subnet for vpc in networks.vpcs for subnet in vpc.subnets), key=lambda s: _room(s.ip_range))
        if nodes > _room(smallest.ip_range):
            message = (
                f"subnet {smallest.ip_range} of '{networks.key}' has room for {_room(smallest.ip_range)} nodes, and "
                f"{in_words(list(pools))} {'reaches' if len(pools) == 1 else 'reach'} {nodes}; write a larger range"
            )
            found.fault("range-too-small", path, message)


def _room(ip_range: str) -> int:
    return IPv4Network(ip_range).num_addresses - _GOOGLES
