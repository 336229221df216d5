"""Plan reservations: their machines, their time windows, and the pools that use them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from berth import catalog
from berth.catalog import Machine
from berth.diagnostics import FieldPath
from berth.plan.capacity import AggregatePlan, FutureReservationPlan, HeldPlan
from berth.plan.gke import ReservationPlan
from berth.plan.node_settings import Bounds
from berth.planner.allowances import is_protected
from berth.planner.context import PlanningContext
from berth.planner.machines.hardware import reservation_machine
from berth.rules.gke.reservations import DeclaredReservation
from berth.spec.machines.reservations import ReservationSpec

MISSING_COUNT: Final = "is missing; write count: 4"


class ReservationDemand(Struct, frozen=True):
    """What one pool takes of a reservation, in machines or chips, and whether they form slices of several hosts."""

    amount: Bounds
    multi_host: bool


DemandsByReservation = Mapping[str, Mapping[str, ReservationDemand]]
"""Reservation → pool → demand."""


def reserved_machines(context: PlanningContext) -> dict[str, Machine]:
    """Return reservation → machine type, without reservations that have faults."""
    machines = {
        name: reservation_machine(context, name, spec) for name, spec in sorted(context.spec.reservations.items())
    }
    return {name: machine for name, machine in machines.items() if machine and _has_amount(context, name, machine)}


def _has_amount(context: PlanningContext, key: str, machine: Machine) -> bool:
    """Report a reservation without a number of machines or chips, and one of chips that cannot be; return False."""
    spec, path = context.spec.reservations[key], ("reservations", key)
    code, name, message = "reservation-form", "chips", ""
    if spec.chips is None and spec.count is None:
        code, name, message = "missing-key", "count", MISSING_COUNT
    elif spec.chips is not None and spec.count is not None:
        message = f"'{spec.chips}' chips and {spec.count} machines are both set; remove chips or count"
    elif spec.chips is not None and machine.generation is None:
        message = f"'{spec.chips}' chips are of TPUs, and {machine.name} has none; write count, the number of machines"
    elif spec.chips is not None and not is_existing(context, key):
        if spec.future is None:
            message = (
                f"'{spec.chips}' chips are reserved by Google's sales or a future reservation, not by Berth; write "
                "existing: true, or future"
            )
        elif machine.aggregate_type is None:
            message = (
                f"'{spec.chips}' chips cannot be requested, because Berth does not know how Google calls chips of "
                f"{machine.generation}; write count, the number of machines"
            )
    if message:
        context.reject("reservations", key, code, (*path, name), message)
    return not message


def reservation_name(context: PlanningContext, key: str) -> str | None:
    """Return the name of a reservation in Google Cloud; None if only the resource knows it."""
    if key in context.named_reservations:
        return context.named_reservations[key]
    return declared_name(context, key)


def declared_name(context: PlanningContext, key: str) -> str:
    """Return the name that the stack file gives a reservation, or that follows from the stack."""
    return context.spec.reservations[key].name or f"{context.stack}-{key}"


def is_existing(context: PlanningContext, key: str) -> bool:
    """Return whether a reservation is an existing one that Berth does not create."""
    spec = context.spec.reservations[key]
    if spec.existing is not None:
        return spec.existing
    machine = catalog.machines().get(spec.machine_type)
    return machine is not None and machine.kind == "tpu"


def is_delivered(context: PlanningContext, key: str | None) -> bool:
    """Return whether pools can use a reservation now: Google creates a future one some time after the request."""
    declared = context.spec.reservations.get(key or "")
    future = declared.future if declared else None
    return future is None or future.delivered


def has_reservation(context: PlanningContext, pool: str, key: str | None) -> bool:
    """Return whether the reservation that a pool names is known without faults; True if it names none."""
    if key is None or key in context.named_reservations:
        return True
    path: FieldPath = ("pools", pool, "capacity", "reservation")
    if context.resolve("reservations", key, context.spec.reservations, path) and not context.is_set_aside(
        "reservations", key
    ):
        return True
    context.set_entry_aside("pools", pool)
    return False


def declared_reservation(spec: ReservationSpec, key: str, machine: Machine) -> DeclaredReservation:
    """Convert a reservation to the input of the rules."""
    return DeclaredReservation(
        name=key,
        machine=machine,
        zone=spec.zone,
        count=spec.chips or spec.count or 0,
        of_chips=spec.chips is not None,
        local_ssds=spec.local_ssd,
        accept_overlap=spec.accept_overlap is not None,
        maintenance_interval=spec.maintenance_interval,
    )


# --- plans ------------------------------------------------------------------------------------------------------------


def held_plans(
    context: PlanningContext, machines: Mapping[str, Machine], demands: DemandsByReservation
) -> tuple[HeldPlan, ...]:
    """Return a summary of every reservation, with the pools that use it."""
    return tuple(_held_plan(context, key, tuple(sorted(demands.get(key, ())))) for key in machines)


def _held_plan(context: PlanningContext, key: str, pools: tuple[str, ...]) -> HeldPlan:
    spec = context.spec.reservations[key]
    future = spec.future
    return HeldPlan(
        key=key,
        name=declared_name(context, key),
        existing=is_existing(context, key),
        project=spec.project,
        block=spec.block,
        sub_block=spec.sub_block,
        machine_type=spec.machine_type,
        zone=spec.zone,
        count=spec.count,
        chips=spec.chips,
        may_overlap=spec.accept_overlap is not None,
        pools=pools,
        start=future.start if future else None,
        end=future.end if future else None,
        mode=future.mode if future else None,
        delivered=is_delivered(context, key),
    )


def reservation_plans(context: PlanningContext, machines: Mapping[str, Machine]) -> tuple[ReservationPlan, ...]:
    """Return the reservations that the stack creates now."""
    berth_reservations = ((key, m) for key, m in machines.items() if not is_existing(context, key))
    return tuple(
        _reservation_plan(context, key, m)
        for key, m in berth_reservations
        if context.spec.reservations[key].future is None
    )


def _reservation_plan(context: PlanningContext, key: str, machine: Machine) -> ReservationPlan:
    spec, gpus = context.spec.reservations[key], machine.kind == "gpu"
    return ReservationPlan(
        key=key,
        name=declared_name(context, key),
        zone=spec.zone,
        machine_type=spec.machine_type,
        count=spec.count or 0,
        gpu_type=machine.accelerator if gpus else None,
        gpu_count=machine.accelerators if gpus else 0,
        local_ssds=spec.local_ssd or 0,
        attached_ssds=machine.ssd_automatic > 0 and not spec.local_ssd,
        maintenance_interval=spec.maintenance_interval,
        share_with=tuple(sorted(spec.shared_with)),
        protect=is_protected(context, f"reservations.{key}"),
    )


def future_reservations(
    context: PlanningContext, machines: Mapping[str, Machine], demands: DemandsByReservation
) -> tuple[FutureReservationPlan, ...]:
    """Return the requests for future reservations that the stack creates."""
    plans = (
        _future_plan(context, key, m, demands.get(key, {}))
        for key, m in machines.items()
        if not is_existing(context, key)
    )
    return tuple(plan for plan in plans if plan)


def _future_plan(
    context: PlanningContext, key: str, machine: Machine, demands: Mapping[str, ReservationDemand]
) -> FutureReservationPlan | None:
    """Return the request of a future reservation; TPUs that Google reserves by the chip are requested as a total."""
    spec, gpus, name = context.spec.reservations[key], machine.kind == "gpu", declared_name(context, key)
    if spec.future is None:
        return None
    aggregate = _aggregate_plan(context, spec, machine, demands)
    return FutureReservationPlan(
        key=key,
        name=name,
        zone=spec.zone,
        start=spec.future.start,
        end=spec.future.end,
        reservation_name=name,
        mode=spec.future.mode.upper(),
        machine_type=None if aggregate else spec.machine_type,
        count=0 if aggregate else spec.count or 0,
        gpu_type=machine.accelerator if gpus else None,
        gpu_count=machine.accelerators if gpus else 0,
        local_ssds=spec.local_ssd or 0,
        attached_ssds=machine.ssd_automatic > 0 and not spec.local_ssd,
        maintenance_interval=spec.maintenance_interval,
        aggregate=aggregate,
        deployment_type="DENSE" if machine.provisioning.reservations == "dense" else None,
        share_with=tuple(sorted(spec.shared_with)),
        protect=is_protected(context, f"reservations.{key}"),
    )


def _aggregate_plan(
    context: PlanningContext, spec: ReservationSpec, machine: Machine, demands: Mapping[str, ReservationDemand]
) -> AggregatePlan | None:
    if machine.aggregate_type is None or machine.aggregate_family is None:
        return None
    is_batch = not demands or any(demand.multi_host for demand in demands.values())
    return AggregatePlan(
        accelerator_type=f"projects/{context.project}/zones/{spec.zone}/acceleratorTypes/{machine.aggregate_type}",
        accelerator_count=spec.chips or (spec.count or 0) * machine.accelerators,
        vm_family=machine.aggregate_family,
        workload_type="BATCH" if is_batch else "SERVING",
    )
