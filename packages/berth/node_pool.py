"""A pool of accelerator machines in any GKE cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pulumi

from berth.diagnostics import Problem, Severity
from berth.plan.fleet import FleetPlan
from berth.plan.gke import NodePoolPlan
from components.gke.node_pool import NodePool as GkeNodePool
from components.gke.workload_policy import WorkloadPolicy
from packages.berth.arguments import Arguments, read_arguments, refuse, warn
from packages.berth.partial import plan_part
from packages.berth.scopes import scope_below
from stacks.connections import google_provider

_OWN: Final = ("name", "project", "region", "protect")
_RESERVATION: Final = "reservation-of-the-component"
_MOST_MACHINES: Final = 1_000_000
"""The count of a reservation of which only the name is known."""


class NodePool(pulumi.ComponentResource):
    """TPU slices or GPU nodes of one kind: a node pool, or one for each slice of several hosts."""

    def __init__(self, name: str, args: Mapping[str, Any], opts: pulumi.ResourceOptions | None = None) -> None:
        arguments = read_arguments("NodePool", args)
        reservation = arguments.live.get("reservation")
        plan, problems = _plan(arguments, name, reserved=reservation is not None)
        super().__init__("berth:index:NodePool", name, None, opts)
        warn(self, problems)
        scope = scope_below(self, name, arguments)
        opts_of_parts = scope.options(google_provider(plan, scope), project=plan.project)
        policies = {
            each.name: WorkloadPolicy(f"{name}-{each.key}", each, opts=opts_of_parts).policy_name
            for each in plan.workload_policies
        }

        def create(each: NodePoolPlan) -> pulumi.Output[str]:
            return GkeNodePool(
                f"{name}-{each.key}",
                each,
                cluster=arguments.live["cluster"],
                location=plan.region or "",
                service_account=arguments.live["nodeServiceAccount"],
                reservation=reservation,
                placement_policy=policies.get(each.placement.policy or "") if each.placement else None,
                opts=opts_of_parts,
            ).pool_name

        self.outputs: Mapping[str, pulumi.Input[Any]] = {
            "nodePools": [create(each) for pool in plan.pools for each in pool.node_pools],
            "nodeLabels": _node_labels(plan, reservation),
        }
        self.register_outputs(dict(self.outputs))


def _node_labels(plan: FleetPlan, reservation: pulumi.Output[str] | None) -> Mapping[str, pulumi.Input[str]]:
    """Return the labels of the nodes; one of them has the name of the reservation, which the plan does not know."""
    labels: dict[str, pulumi.Input[str]] = dict(plan.flavors[0].node_labels)
    return {
        key: reservation if reservation is not None and each == _RESERVATION else each for key, each in labels.items()
    }


def _plan(arguments: Arguments, name: str, *, reserved: bool) -> tuple[FleetPlan, Any]:
    """Return the plan of a fleet that has the pool alone, and the warnings about it."""
    pool_name = str(arguments.plain.get("name", name))
    pool = arguments.of_model(*_OWN)
    fleet: dict[str, Any] = {key: arguments.plain[key] for key in _OWN[1:] if key in arguments.plain}
    if reserved:
        if "capacity" in pool:
            message = "a reservation is given too, and is where the machines come from; remove one of the two"
            refuse(arguments, name, [Problem(Severity.FAULT, "contradiction", ("capacity",), message)])
        fleet["reservations"] = {_RESERVATION: _described(pool)}
        pool["capacity"] = {"reservation": _RESERVATION}
    part = ("pools", pool_name)
    plan, problems = plan_part(arguments, name, {**fleet, "pools": {pool_name: pool}}, part=part)
    if plan.accelerator_networks or plan.installers is not None:
        key = "networking" if plan.accelerator_networks else "driverVersion"
        message = (
            f"'{pool.get(key)}' needs objects inside the cluster, which only a Fleet creates; remove it, or use a Fleet"
        )
        refuse(arguments, name, [Problem(Severity.FAULT, "contradiction", (key,), message)])
    return plan, problems


def _described(pool: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the reservation as it must be to hold the pool: its real name arrives with the update."""
    same = {key: pool[key] for key in ("machineType", "zone", "acceptZone", "accelerator") if key in pool}
    zones: Any = pool.get("zones", [])
    zone = {"zone": zones[0]} if len(zones) == 1 else {}
    return {**zone, **same, "name": _RESERVATION, "count": _MOST_MACHINES, "existing": True}
