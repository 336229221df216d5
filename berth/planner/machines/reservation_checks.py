"""Report what is wrong with each reservation, and with all pools that use it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from berth import catalog
from berth.catalog import Machine
from berth.diagnostics import FieldPath, format_value
from berth.names import is_compute_name
from berth.planner.context import PlanningContext
from berth.planner.machines.capacity_rules import machines_of_cluster
from berth.planner.machines.reservations import (
    DemandsByReservation,
    ReservationDemand,
    declared_name,
    declared_reservation,
    is_existing,
)
from berth.rules.dates import past_reservation
from berth.rules.gke.gpu import local_ssd_error
from berth.rules.gke.reservations import DeclaredReservation, overuse_violation, window_violations
from berth.rules.gke.zones import zone_violation
from berth.spec.machines.reservations import ReservationSpec


def check_reservations(
    context: PlanningContext, machines: Mapping[str, Machine], demands: DemandsByReservation | None
) -> None:
    """Report what is wrong with each reservation, and with all pools that use it; `demands` None: those are unknown."""
    _check_names(context)
    _check_keys(context)
    for key, machine in machines.items():
        spec, path = context.spec.reservations[key], ("reservations", key)
        _check_zone(context, (*path, "zone"), spec, machine)
        if spec.local_ssd is not None and (message := local_ssd_error(machine, spec.local_ssd)):
            context.problems.fault("local-ssds", (*path, "localSsd"), message)
        _check_window(context, (*path, "future"), spec)
        if demands is not None:
            _check_usage(context, declared_reservation(spec, key, machine), demands.get(key, {}))


def _check_keys(context: PlanningContext) -> None:
    """Report keys of an existing reservation on one that Berth creates, and the reverse."""
    for key, spec in sorted(context.spec.reservations.items()):
        path: FieldPath = ("reservations", key)
        if is_existing(context, key):
            _check_existing(context, path, spec)
            continue
        for name, written in (("project", spec.project), ("block", spec.block), ("subBlock", spec.sub_block)):
            if written:
                context.problems.fault(
                    "reservation-form",
                    (*path, name),
                    f"'{format_value(written)}' applies only to an existing reservation; write existing: true, or "
                    f"remove {name}",
                )


def _check_existing(context: PlanningContext, path: FieldPath, spec: ReservationSpec) -> None:
    if not spec.name:
        context.problems.fault(
            "missing-key", (*path, "name"), "is missing; write the name of the existing reservation in Google Cloud"
        )
    if spec.sub_block and not spec.block:
        message = f"'{format_value(spec.sub_block)}' is part of a block; write block too"
        context.problems.fault("reservation-form", (*path, "subBlock"), message)
    if spec.shared_with:
        message = f"'{format_value(spec.shared_with[0])}' cannot be set on an existing reservation; remove sharedWith"
        context.problems.fault("reservation-form", (*path, "sharedWith"), message)


def _check_zone(context: PlanningContext, path: FieldPath, spec: ReservationSpec, machine: Machine) -> None:
    """Report an unknown zone, and one that does not list the machine."""
    context.check_zone(path, spec.zone, accepted=spec.accept_zone, machine=machine)
    region, others = catalog.region_of_zone(spec.zone), machines_of_cluster(context)
    violation = zone_violation(machine, (spec.zone,), region, others=others)
    if violation and not spec.accept_zone and spec.zone in catalog.zone_table().regions.get(context.region, ()):
        context.problems.add(violation.severity, violation.code, path, violation.message)


def _check_window(context: PlanningContext, path: FieldPath, spec: ReservationSpec) -> None:
    if spec.future is None:
        return
    start, end = (datetime.fromisoformat(time) for time in (spec.future.start, spec.future.end))
    for violation in window_violations(start, end, calendar=spec.future.mode == "calendar"):
        context.problems.fault(violation.code, (*path, violation.key), violation.message)
    if outdated := past_reservation(spec.future.start, spec.future.end, delivered=spec.future.delivered):
        context.problems.warning("date-past", (*path, outdated[0]), outdated[1])


def _check_usage(
    context: PlanningContext, reservation: DeclaredReservation, demands: Mapping[str, ReservationDemand]
) -> None:
    """Report pools that need more than is reserved, and warn of reserved machines that no pool uses."""
    requested = {pool: demand.amount for pool, demand in demands.items()}
    path, most = ("reservations", reservation.name), sum(amount.max for amount in requested.values())
    if violation := overuse_violation(reservation, requested):
        context.problems.add(violation.severity, violation.code, (*path, violation.key), violation.message)
    elif most < reservation.count and not context.lacks_entries("pools"):
        key = "chips" if reservation.of_chips else "count"
        context.problems.warning(
            "reservation-unused",
            (*path, key),
            f"'{reservation.count}' {reservation.noun} are reserved and paid for, but pools use at most {most} of "
            f"them; write a smaller {key}, or larger pools",
        )


def _check_names(context: PlanningContext) -> None:
    """Report reservations that are one of Google's, but for blocks of it, and names that Google rejects."""
    key_by_name: dict[tuple[str | None, ...], str] = {}
    for key, spec in sorted(context.spec.reservations.items()):
        name, path = declared_name(context, key), ("reservations", key, "name")
        if not is_compute_name(name):
            context.problems.fault(
                "bad-stack-name",
                path,
                f"the name '{format_value(name)}', derived from the stack, is not valid; write a name for the "
                "reservation",
            )
        first_key = key_by_name.setdefault((spec.zone, name, spec.project, spec.block, spec.sub_block), key)
        if first_key != key:
            remedy = (
                f"write it once: name reservations.{first_key} in the pools, and remove this entry (chips instead of "
                "count let several machine types use it)"
                if is_existing(context, key) and is_existing(context, first_key)
                else "write another name"
            )
            message = f"'{name}' is already the name of reservations.{first_key} in {spec.zone}; {remedy}"
            context.problems.fault("duplicate-name", path, message)
