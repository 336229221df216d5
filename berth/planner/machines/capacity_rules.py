"""Check pools with the capacity rules of GKE (`berth.rules.gke`) before anything is created."""

from __future__ import annotations

from collections.abc import Iterable

from berth.catalog import Machine, SliceShape
from berth.diagnostics import FieldPath, Severity
from berth.plan.node_settings import Bounds
from berth.planner.context import PlanningContext
from berth.planner.machines.hardware import find_machine, known_machine
from berth.planner.machines.reservations import declared_reservation, is_existing, reservation_name
from berth.rules.gke.capacity import capacity_notes, pool_violations
from berth.rules.gke.pool_request import (
    ClusterFeatures,
    GkeViolation,
    PoolRequest,
    ReservationRequest,
    SettingKey,
)
from berth.rules.gke.reservations import reservation_mismatches
from berth.rules.gke.zones import pool_zone_violation
from berth.spec.amounts import FixedCount
from berth.spec.machines.capacity import Capacity
from berth.spec.machines.pools import NodeSettings, PoolSpec
from berth.spec.parse import SpecPart

_PATH_BY_KEY: dict[SettingKey, tuple[str, ...]] = {
    "reservation": ("capacity", "reservation"),
    "placement": ("compactPlacement",),
}
"""Key of a rule → path within a pool, if they differ."""

_OPTIONS_KEY: dict[str, str] = {"flex-start": "flexStart", "queued": "queued"}
"""Capacity → the key of its options."""


def pool_request(
    context: PlanningContext,
    spec: PoolSpec,
    machine: Machine,
    shape: SliceShape | None,
    nodes: Bounds,
    zones: tuple[str, ...],
) -> PoolRequest:
    """Return the input of the rules: a pool with its machines, its reservation and what its cluster offers."""
    return PoolRequest(
        machine=machine,
        nodes=nodes,
        capacity=spec.capacity.kind,
        reservation=reservation_request(context, spec.capacity),
        max_run_seconds=spec.capacity.max_run_seconds,
        shape=shape,
        autoscaled=not isinstance(spec.slices or spec.nodes, FixedCount),
        region="" if context.is_set_aside("region", "") else context.region,
        zones=zones,
        auto_provisioned=spec.auto_provisioned or spec.compute_class is not None,
        compute_class=spec.compute_class is not None,
        cluster=cluster_features(context),
        settings=spec.model_part(NodeSettings),
    )


def cluster_features(context: PlanningContext) -> ClusterFeatures:
    """Convert the cluster to ClusterFeatures, the input of the rules."""
    autopilot, maintenance = context.spec.cluster.mode == "autopilot", context.spec.cluster.maintenance
    scopes = {each.scope for each in maintenance.exclusions} if maintenance else set[str]()
    return ClusterFeatures(
        autopilot=autopilot,
        dcgm=not autopilot,
        version=None if context.is_set_aside("cluster", "version") else context.spec.cluster.version,
        keeps_nodes=not scopes.isdisjoint(("NO_UPGRADES", "NO_MINOR_OR_NODE_UPGRADES")),
        image_streaming=autopilot or context.spec.cluster.image_streaming,
        confidential=None if autopilot else context.spec.cluster.confidential_nodes,
        compute_domains=context.spec.nvidia_dra_driver is not None,
        channel=context.spec.cluster.release_channel,
        only_connects=context.only_connects,
    )


def reservation_request(context: PlanningContext, capacity: Capacity) -> ReservationRequest | None:
    """Return the reservation that a capacity uses, as input of the rules; None without one."""
    if capacity.kind != "reservation":
        return None
    key = capacity.reservation
    if key is None:
        return ReservationRequest(form="any-or-fail" if capacity.then_fail else "any")
    name = reservation_name(context, key)
    if key in context.named_reservations:
        return ReservationRequest(form="named", name=name)
    spec = context.spec.reservations[key]
    existing, future = is_existing(context, key), spec.future
    return ReservationRequest(
        form="named" if existing else "own",
        name=name,
        project=spec.project if existing else None,
        block=spec.block if existing else None,
        sub_block=spec.sub_block if existing else None,
        begins=future.start[:_DATE_LENGTH] if future else None,
        ends=future.end[:_DATE_LENGTH] if future else None,
    )


def setting_path(request: PoolRequest, key: SettingKey) -> FieldPath:
    """Return the path of a rule's key within a pool or a priority of a compute class."""
    if key == "maxRunDuration":
        return ("capacity", _OPTIONS_KEY.get(request.capacity, ""), key)
    return _PATH_BY_KEY.get(key, (key,))


_DATE_LENGTH = len("2026-12-01")


def check_reservation(context: PlanningContext, name: str, request: PoolRequest) -> bool:
    """Return whether the reservation that a pool names has the pool's machines; report every difference."""
    key = context.spec.pools[name].capacity.reservation
    if key is None or key in context.named_reservations:
        return True
    spec = context.spec.reservations[key]
    reservation = declared_reservation(spec, key, find_machine(spec.machine_type, spec.accelerator))
    return report(context, ("pools", name), ("pools", name), request, reservation_mismatches(reservation, request))


def check_rules(context: PlanningContext, name: str, request: PoolRequest) -> bool:
    """Report violations and notes of a pool; return False if it has a fault."""
    path = part = ("pools", name)
    pool_spec = context.spec.pools[name]
    is_valid = report(context, part, path, request, pool_violations(request))
    check_zones_list_machine(context, part, path, request, accepted=pool_spec.accept_zone or pool_spec.adopted)
    if request.capacity == "queued" and is_valid:
        context.problems.note("resize-requests", ("pools", name, "capacity"), capacity_notes(request)[0])
    return is_valid


def check_zones_list_machine(
    context: PlanningContext, part: SpecPart, path: FieldPath, request: PoolRequest, *, accepted: bool
) -> None:
    """Report zones that do not list the machine, or the region if no zone is set; the entry stays in the plan."""
    auto_provisioning = context.spec.cluster.node_auto_provisioning
    provisioning_zones = (auto_provisioning.zones if auto_provisioning else ()) or context.spec.cluster.zones
    if accepted or not context.are_zones_comparable((*request.zones, *provisioning_zones)):
        return
    violation = pool_zone_violation(request, context.region, provisioning_zones, machines_of_cluster(context))
    if violation:
        key = "zone" if part[0] == "pools" and context.spec.pools[part[1]].zone else "zones"
        context.problems.add(violation.severity, violation.code, (*path, key), violation.message)


def machines_of_cluster(context: PlanningContext) -> tuple[Machine, ...]:
    """Return the machines of the pools whose zones are not accepted: another region has to have them all.

    They are looked up once, not for every pool.
    """
    if context.pool_machines is None:
        specs = (spec for spec in context.spec.pools.values() if not spec.accept_zone)
        context.pool_machines = tuple(dict.fromkeys(filter(None, map(known_machine, specs))))
    return context.pool_machines


def report(
    context: PlanningContext,
    part: SpecPart,
    base_path: FieldPath,
    request: PoolRequest,
    violations: Iterable[GkeViolation],
) -> bool:
    """Report violations of the entry at `base_path`; on a fault set `part` aside and return False."""
    is_valid = True
    for violation in violations:
        if context.only_connects and violation.key == "zones":
            continue
        path: FieldPath = (*base_path, *setting_path(request, violation.key))
        if violation.key == "zones" and part[0] == "pools" and context.spec.pools[part[1]].zone:
            path = (*base_path, "zone")
        if violation.severity == Severity.FAULT:
            context.reject(*part, violation.code, path, violation.message)
            is_valid = False
        elif violation.severity == Severity.WARNING:
            context.problems.warning(violation.code, path, violation.message)
        else:
            context.problems.note(violation.code, path, violation.message)
    return is_valid
