"""Reservations: the machines that they hold, from when until when, and whether pools may have them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from berth import catalog
from berth.catalog import Machine
from berth.diagnostics import Path, shown
from berth.names import is_compute_name
from berth.plan.capacity import AggregatePlan, FutureReservationPlan, HeldPlan, ReservedSsdPlan
from berth.plan.gke import ReservationPlan
from berth.planner.allowances import protected
from berth.planner.context import Draft
from berth.planner.machines.hardware import reservation_machine
from berth.rules.gke.gpu import local_ssds
from berth.rules.gke.reservations import Reserved, overused, window
from berth.spec.machines.reservations import ReservationSpec


class Demand(Struct, frozen=True):
    """What one pool asks of a reservation: machines at the most, and whether they form slices of several hosts."""

    nodes: int
    multi_host: bool


Demands = Mapping[str, Mapping[str, Demand]]
"""Reservation → pool → what it asks for."""


def reserved_machines(draft: Draft) -> dict[str, Machine]:
    """Reservation → what it holds, but for those that cannot exist."""
    found = {name: reservation_machine(draft, name, spec) for name, spec in sorted(draft.spec.reservations.items())}
    return {name: machine for name, machine in found.items() if machine}


def reservation_name(draft: Draft, key: str) -> str:
    """The name that Google knows a reservation by."""
    return draft.spec.reservations[key].name or f"{draft.stack}-{key}"


def is_existing(draft: Draft, key: str) -> bool:
    """Whether somebody else made a reservation; those of TPUs are sold by Google, or asked for ahead."""
    spec = draft.spec.reservations[key]
    if spec.existing is not None:
        return spec.existing
    machine = catalog.machines().get(spec.machine_type)
    return machine is not None and machine.kind == "tpu"


def is_there(draft: Draft, key: str | None) -> bool:
    """Whether pools can name a reservation: one that begins later is made by Google some time after the request."""
    future = draft.spec.reservations[key].future if key else None
    return future is None or future.delivered


def reservation_known(draft: Draft, pool: str, key: str | None) -> bool:
    """Whether the reservation that a pool names, if it does, is one of the fleet's that can exist."""
    if key is None:
        return True
    path: Path = ("pools", pool, "capacity", "reservation")
    if draft.find("reservations", key, draft.spec.reservations, path) and not draft.lost("reservations", key):
        return True
    draft.leave_out("pools", pool)
    return False


def reserved(spec: ReservationSpec, key: str, machine: Machine) -> Reserved:
    """A reservation in the words of the rules."""
    return Reserved(name=key, machine=machine, zone=spec.zone, count=spec.count, local_ssds=spec.local_ssd)


def check(draft: Draft, machines: Mapping[str, Machine], demands: Demands) -> None:
    """Report what is wrong with each reservation, and with all pools that take from one."""
    _named(draft)
    _forms(draft)
    for key, machine in machines.items():
        spec, path = draft.spec.reservations[key], ("reservations", key)
        draft.check_zone((*path, "zone"), spec.zone)
        if spec.local_ssd is not None and (message := local_ssds(machine, spec.local_ssd)):
            draft.problems.fault("local-ssds", (*path, "localSsd"), message)
        _in_time(draft, (*path, "future"), spec)
        _used_up(draft, reserved(spec, key, machine), demands.get(key, {}))


# --- plans ------------------------------------------------------------------------------------------------------------


def held(draft: Draft, machines: Mapping[str, Machine], demands: Demands) -> tuple[HeldPlan, ...]:
    """Every reservation as people read it, with the pools that take from it."""
    return tuple(_held(draft, key, tuple(sorted(demands.get(key, ())))) for key in machines)


def _held(draft: Draft, key: str, pools: tuple[str, ...]) -> HeldPlan:
    spec = draft.spec.reservations[key]
    future = spec.future
    return HeldPlan(
        key=key,
        name=reservation_name(draft, key),
        existing=is_existing(draft, key),
        project=spec.project,
        block=spec.block,
        sub_block=spec.sub_block,
        machine_type=spec.machine_type,
        zone=spec.zone,
        count=spec.count,
        pools=pools,
        start=future.start if future else None,
        end=future.end if future else None,
        mode=future.mode if future else None,
        delivered=is_there(draft, key),
    )


def reservations(draft: Draft, machines: Mapping[str, Machine]) -> tuple[ReservationPlan, ...]:
    """The reservations that the fleet makes now."""
    own = ((key, m) for key, m in machines.items() if not is_existing(draft, key))
    return tuple(_plan(draft, key, m) for key, m in own if draft.spec.reservations[key].future is None)


def _plan(draft: Draft, key: str, machine: Machine) -> ReservationPlan:
    spec, gpus = draft.spec.reservations[key], machine.kind == "gpu"
    return ReservationPlan(
        key=key,
        name=reservation_name(draft, key),
        zone=spec.zone,
        machine_type=spec.machine_type,
        count=spec.count,
        gpu_type=machine.accelerator if gpus else None,
        gpu_count=machine.accelerators if gpus else 0,
        local_ssds=_disks(spec),
        share_with=tuple(sorted(spec.shared_with)),
        protect=protected(draft, f"reservations.{key}"),
    )


def future_reservations(
    draft: Draft, machines: Mapping[str, Machine], demands: Demands
) -> tuple[FutureReservationPlan, ...]:
    """The requests that the fleet makes for machines in a time to come."""
    found = (
        _request(draft, key, m, demands.get(key, {})) for key, m in machines.items() if not is_existing(draft, key)
    )
    return tuple(plan for plan in found if plan)


def _request(draft: Draft, key: str, machine: Machine, users: Mapping[str, Demand]) -> FutureReservationPlan | None:
    """What is delivered has the name of the request. TPUs that Google reserves by the chip are asked for as a total."""
    spec, gpus, name = draft.spec.reservations[key], machine.kind == "gpu", reservation_name(draft, key)
    if spec.future is None:
        return None
    total = _aggregate(draft, spec, machine, users)
    return FutureReservationPlan(
        key=key,
        name=name,
        zone=spec.zone,
        start=spec.future.start,
        end=spec.future.end,
        reservation_name=name,
        mode=spec.future.mode.upper(),
        machine_type=None if total else spec.machine_type,
        count=0 if total else spec.count,
        gpu_type=machine.accelerator if gpus else None,
        gpu_count=machine.accelerators if gpus else 0,
        local_ssds=_disks(spec),
        aggregate=total,
        deployment_type="DENSE" if machine.provisioning.reservations == "dense" else None,
        share_with=tuple(sorted(spec.shared_with)),
        protect=protected(draft, f"reservations.{key}"),
    )


def _aggregate(
    draft: Draft, spec: ReservationSpec, machine: Machine, users: Mapping[str, Demand]
) -> AggregatePlan | None:
    if machine.aggregate_type is None or machine.aggregate_family is None:
        return None
    batch = not users or any(user.multi_host for user in users.values())
    return AggregatePlan(
        accelerator_type=f"projects/{draft.project}/zones/{spec.zone}/acceleratorTypes/{machine.aggregate_type}",
        accelerator_count=spec.count * machine.accelerators,
        vm_family=machine.aggregate_family,
        workload_type="BATCH" if batch else "SERVING",
    )


def _disks(spec: ReservationSpec) -> tuple[ReservedSsdPlan, ...]:
    return (ReservedSsdPlan(),) * (spec.local_ssd or 0)


# --- what is wrong ----------------------------------------------------------------------------------------------------


def _forms(draft: Draft) -> None:
    """What says where in somebody else's reservation to look has no meaning in one of the fleet's own, and back."""
    for key, spec in sorted(draft.spec.reservations.items()):
        path: Path = ("reservations", key)
        if is_existing(draft, key):
            _of_others(draft, path, spec)
            continue
        for field, written in (("project", spec.project), ("block", spec.block), ("subBlock", spec.sub_block)):
            if written:
                message = f"'{shown(written)}': the fleet makes this one itself; write existing: true, or leave it out"
                draft.problems.fault("reservation-form", (*path, field), message)


def _of_others(draft: Draft, path: Path, spec: ReservationSpec) -> None:
    if not spec.name:
        message = "is missing; write the name by which Google knows the existing reservation"
        draft.problems.fault("missing-key", (*path, "name"), message)
    if spec.sub_block and not spec.block:
        message = f"'{shown(spec.sub_block)}' lies in a block; write the block too"
        draft.problems.fault("reservation-form", (*path, "subBlock"), message)
    if spec.shared_with:
        message = f"'{shown(spec.shared_with[0])}': whoever made this one shares it; leave sharedWith out"
        draft.problems.fault("reservation-form", (*path, "sharedWith"), message)


def _in_time(draft: Draft, path: Path, spec: ReservationSpec) -> None:
    if spec.future is None:
        return
    start, end = (datetime.fromisoformat(time) for time in (spec.future.start, spec.future.end))
    for found in window(start, end, calendar=spec.future.mode == "calendar"):
        draft.problems.fault(found.code, (*path, found.key), found.message)


def _used_up(draft: Draft, held: Reserved, users: Mapping[str, Demand]) -> None:
    """Pools ask a reservation for no more than it holds; what they leave of it is paid for all the same."""
    asked, path = {pool: user.nodes for pool, user in users.items()}, ("reservations", held.name, "count")
    if over := overused(held, asked):
        draft.problems.fault(over.code, path, over.message)
    elif sum(asked.values()) < held.count and not any(section == "pools" for section, _ in draft.set_aside):
        message = f"'{held.count}' machines are reserved and paid for, and pools ask for {sum(asked.values())} of them"
        draft.problems.warning("reservation-unused", path, message)


def _named(draft: Draft) -> None:
    """No two reservations have one name in a zone, and each has one that Google takes."""
    taken: dict[tuple[str, str], str] = {}
    for key, spec in sorted(draft.spec.reservations.items()):
        name, path = reservation_name(draft, key), ("reservations", key, "name")
        if not is_compute_name(name):
            message = f"'{shown(name)}', after the stack, is no name for a reservation; write its name here"
            draft.problems.fault("bad-stack-name", path, message)
        first = taken.setdefault((spec.zone, name), key)
        if first != key:
            message = f"'{name}' is already the name of reservations.{first} in {spec.zone}; name it otherwise"
            draft.problems.fault("duplicate-name", path, message)
