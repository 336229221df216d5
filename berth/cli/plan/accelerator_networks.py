"""What `berth plan` says of networks of accelerators: VPCs, ranges, and the names by which pods ask for interfaces."""

from __future__ import annotations

from typing import Any

from berth.cli.tables import table
from berth.diagnostics import join_words
from berth.plan.fleet import FleetPlan


def as_json(plan: FleetPlan) -> list[dict[str, Any]]:
    """A record for each interface, in the order in which a node has them, set by set."""
    return [
        {
            "set": networks.key,
            "network": vpc.name,
            "subnetwork": subnet.name,
            "ipRange": subnet.ip_range,
            "device": subnet.device,
            "deviceMode": subnet.device_mode,
            "pools": list(plan.pools_on(networks.key)),
        }
        for networks in plan.accelerator_networks
        for vpc in networks.vpcs
        for subnet in vpc.subnets
    ]


def text(plan: FleetPlan) -> str:
    """A row for each VPC; empty where accelerators have the cluster's network alone."""
    rows = [
        [
            networks.key,
            vpc.name,
            _first_to_last([subnet.device for subnet in vpc.subnets], " – "),
            _first_to_last([subnet.ip_range for subnet in vpc.subnets], " – "),
            join_words(list(plan.pools_on(networks.key))),
        ]
        for networks in plan.accelerator_networks
        for vpc in networks.vpcs
    ]
    return table(["Networks", "VPC", "interfaces", "ranges", "pools"], rows)


def _first_to_last(names: list[str], to: str) -> str:
    return to.join(dict.fromkeys((names[0], names[-1])))
