"""Accelerator networks in `berth plan`: VPCs, ranges, and the names by which pods request interfaces."""

from __future__ import annotations

from typing import Any

from berth.cli.tables import table
from berth.diagnostics import join_words
from berth.plan.fleet import FleetPlan


def as_json(plan: FleetPlan) -> list[dict[str, Any]]:
    """Return a record for each interface, by set of networks, in the order of the node's interfaces."""
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
    """Return a table with a row for each VPC; "" if accelerators use only the cluster's network."""
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
