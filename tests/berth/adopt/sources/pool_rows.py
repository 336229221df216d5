"""Node pools as one line each: what a published blueprint or command makes, and what a stack file registers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from berth import catalog
from berth.google.fleet import google_resources
from berth.plan.fleet import FleetPlan
from berth.resource import ResourceKind


def pool_rows(plan: FleetPlan) -> list[str]:
    """Return a line for each registered node pool.

    Its columns are name, machine, nodes of all zones, topology, zones, capacity, disk (`-`: the machine's default) and
    placement.
    """
    rows: list[str] = []
    for each in google_resources(plan):
        if each.kind in (ResourceKind.SYSTEM_POOL, ResourceKind.NODE_POOL):
            (registration,) = each.registrations().values()
            rows.append(" ".join(_columns(each.inputs(registration)[0])))
    return sorted(rows)


def _columns(inputs: Mapping[str, Any]) -> Iterator[str]:
    config = inputs["nodeConfig"]
    placement = inputs.get("placementPolicy") or {}
    yield from (inputs["name"], config["machineType"], _nodes(inputs), placement.get("tpuTopology") or "-")
    yield ",".join(inputs.get("nodeLocations", ())) or "-"
    yield _capacity(inputs, config)
    machine = catalog.machines().get(config["machineType"]) or catalog.cpu_machine(config["machineType"])
    is_default = machine is not None and config["diskType"] == machine.default_boot_disk
    yield f"{'-' if is_default else config['diskType']}/{config['diskSizeGb']}"
    yield placement.get("type") or "-"


def _nodes(inputs: Mapping[str, Any]) -> str:
    scaling = inputs.get("autoscaling")
    zones = len(inputs.get("nodeLocations", "?"))
    if not scaling:
        return str(inputs["nodeCount"] * zones)
    if "totalMaxNodeCount" in scaling:
        return f"{scaling['totalMinNodeCount']}-{scaling['totalMaxNodeCount']}"
    return f"{scaling['minNodeCount'] * zones}-{scaling['maxNodeCount'] * zones}"


def _capacity(inputs: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    affinity = config["reservationAffinity"]
    if inputs.get("queuedProvisioning"):
        return "queued"
    if config.get("flexStart"):
        return f"flex-start:{config['maxRunDuration']}" if config.get("maxRunDuration") else "flex-start"
    if config["spot"]:
        return "spot"
    return f"reservation:{affinity['values'][0]}" if affinity.get("values") else "on-demand"
