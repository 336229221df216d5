"""Plan the node pools of one pool in any cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from msgspec import Struct

from berth import catalog
from berth.diagnostics import FieldPath, Problem, Severity
from berth.parts.context import finds_every_fault, is_zone, part_context, part_problems
from berth.plan.capacity import WorkloadPolicyPlan
from berth.plan.gke import NodePoolPlan
from berth.planner.context import PlanningContext
from berth.planner.machines import pools
from berth.planner.machines.node_pools import pool_plan, workload_policies
from berth.planner.queueing.flavors import plan_flavors

_OF_FLEETS: Final = ("project", "region", "protect")
"""Arguments that are keys of a fleet beside its pools."""


class NodePoolPart(Struct, frozen=True):
    """The node pools of a pool, one for each slice of several hosts, and the policies that they refer to by name.

    `node_labels` are those by which a flavor selects the nodes, but for the name of a reservation that only its
    resource knows. With a fault in `problems` the rest is incomplete.
    """

    key: str
    node_pools: tuple[NodePoolPlan, ...]
    policies: tuple[WorkloadPolicyPlan, ...]
    node_labels: Mapping[str, str]
    region: str
    problems: tuple[Problem, ...]


@finds_every_fault
def plan_node_pool(
    name: str,
    arguments: Mapping[str, Any],
    known_problems: Sequence[Problem] = (),
    *,
    located: bool = False,
    location: str | None = None,
    reserved: bool = False,
    reservation: str | None = None,
) -> NodePoolPart:
    """Plan a pool called `name`, or as its argument says.

    If the location of the cluster is given (`located`), `location` is its region or zone, or None where only its
    resource knows it; likewise the name of a `reservation`, if the machines are `reserved`. A reservation in the
    `capacity` is one of any owner, by name.
    """
    key = str(arguments.get("name", name))
    path: FieldPath = ("pools", key)
    pool = {each: value for each, value in arguments.items() if each not in ("name", *_OF_FLEETS)}
    sections: dict[str, Any] = {each: arguments[each] for each in _OF_FLEETS if each in arguments}
    if any(each.path == ("location",) for each in known_problems):
        location = None
    if "region" not in sections and (region := _region(pool, location)):
        sections["region"] = region
    if location is not None and is_zone(location) and not {"zone", "zones"} & pool.keys():
        pool["zone"] = location
    contradicts = reserved and "capacity" in pool
    if reserved:
        pool["capacity"] = {"reservation": key}
    named = {key: reservation} if reserved else dict(_named_in(pool.get("capacity")))
    context = part_context(name, {**sections, "pools": {key: pool}}, path, known_problems, named_reservations=named)
    if contradicts:
        message = "a reservation is given too, and is where the machines come from; remove one of the two"
        context.reject(*path, "contradiction", (*path, "capacity"), message)
    planned = _plan(context)
    problems = part_problems(context.problems.entries, path)
    # Where a fault is about a place, its remedy also says where the cluster is.
    about = {each.path[0] for each in problems if each.severity == Severity.FAULT}
    if not located and "region" not in sections and about.isdisjoint({"region", "location", "zone", "zones"}):
        message = "is missing; write the region of the cluster, or its zone"
        problems = (Problem(Severity.FAULT, "missing-key", ("location",), message), *problems)
    return NodePoolPart(key, *planned, context.region, problems)


def _named_in(capacity: object) -> Iterator[tuple[str, str]]:
    """Yield the reservation that a written capacity names, as its key and its name."""
    name = cast("Mapping[str, object]", capacity).get("reservation") if isinstance(capacity, Mapping) else None
    if isinstance(name, str):
        yield name, name


def _plan(
    context: PlanningContext,
) -> tuple[tuple[NodePoolPlan, ...], tuple[WorkloadPolicyPlan, ...], Mapping[str, str]]:
    context.check_region()
    planned = pools.derive_pools(context, {})
    for pool in planned.values():
        _check_needs_nothing_inside(context, pool)
    flavors = plan_flavors(context, planned)
    plans = [pool_plan(context, each, name, ()) for name, flavor in flavors.items() for each in flavor.pools]
    return (
        tuple(each for plan in plans for each in plan.node_pools),
        workload_policies(context, planned),
        {key: label for flavor in flavors.values() for key, label in flavor.node_labels.items()},
    )


def _check_needs_nothing_inside(context: PlanningContext, pool: pools.PlannedPool) -> None:
    """Report settings that work only with objects inside the cluster."""
    written = {"networking": pool.spec.networking, "driverVersion": pool.spec.driver_version}
    for key, value in written.items():
        if value in ("gpudirect", "rdma", "disabled"):
            message = (
                f"'{value}' needs objects inside the cluster, which only a Fleet creates; remove it, or use a Fleet"
            )
            context.problems.fault("contradiction", ("pools", pool.name, key), message)


def _region(pool: Mapping[str, Any], location: str | None) -> str | None:
    """Return the region that follows from the location of the cluster, or from a zone of the pool."""
    if location is not None:
        return catalog.region_of_zone(location) if is_zone(location) else location
    zones: Any = pool.get("zones")
    for zone in (pool.get("zone"), *(cast("list[object]", zones) if isinstance(zones, list) else [])):
        if isinstance(zone, str) and is_zone(zone):
            return catalog.region_of_zone(zone)
    return None
