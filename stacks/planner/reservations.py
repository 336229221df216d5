"""Reservations: the machines that they hold, and whether pools may have them."""

from __future__ import annotations

from collections.abc import Mapping

from components.names import is_compute_name
from components.plan.gke import ReservationPlan
from stacks import accelerators
from stacks.accelerators import Machine
from stacks.planner.allowances import protected
from stacks.planner.draft import Draft
from stacks.planner.hardware import reservation_machine
from stacks.problems import Path, shown
from stacks.spec.pools import PoolSpec


def reserved_machines(draft: Draft) -> dict[str, Machine]:
    """Reservation → what it holds, but for those that cannot exist."""
    found = {name: reservation_machine(draft, name, spec) for name, spec in sorted(draft.spec.reservations.items())}
    return {name: machine for name, machine in found.items() if machine}


def reservation_name(draft: Draft, key: str) -> str:
    """The name that Google knows a reservation by."""
    return draft.spec.reservations[key].name or f"{draft.stack}-{key}"


def is_existing(draft: Draft, key: str) -> bool:
    """Whether somebody else made a reservation; those of TPUs cannot be made through Compute Engine (facts 4.5)."""
    spec = draft.spec.reservations[key]
    if spec.existing is not None:
        return spec.existing
    machine = accelerators.machines().get(spec.machine_type)
    return machine is not None and machine.kind == "tpu"


def reservation_fits(draft: Draft, pool: str, spec: PoolSpec) -> bool:
    """Whether the reservation that a pool names, if it does, holds machines for it."""
    key = spec.capacity.reservation
    if key is None:
        return True
    path: Path = ("pools", pool, "capacity", "reservation")
    reserved = draft.find("reservations", key, draft.spec.reservations, path)
    if reserved is None or draft.lost("reservations", key):
        draft.leave_out("pools", pool)
    elif reserved.machine_type != spec.machine_type:
        message = (
            f"reservation '{key}' holds {reserved.machine_type}, and this pool is {spec.machine_type}; write the same"
        )
        draft.drop("pools", pool, "reservation-mismatch", path, message)
    elif reserved.accelerator != spec.accelerator:
        message = f"reservation '{key}' holds other GPUs than this pool; write the same accelerator on both"
        draft.drop("pools", pool, "reservation-mismatch", path, message)
    elif {spec.zone or reserved.zone, *spec.zones} != {reserved.zone}:
        message = f"reservation '{key}' is in {reserved.zone}, and this pool is not; leave its zone out"
        draft.drop("pools", pool, "reservation-mismatch", path, message)
    return ("pools", pool) not in draft.set_aside


def reservations(
    draft: Draft, machines: Mapping[str, Machine], demand: Mapping[str, Mapping[str, int]]
) -> tuple[ReservationPlan, ...]:
    """The reservations that the fleet owns; `demand` is reservation → pool → machines that it asks for."""
    _named(draft)
    _forms(draft)
    for name in machines:
        draft.check_zone(("reservations", name, "zone"), draft.spec.reservations[name].zone)
        _used_up(draft, name, demand.get(name, {}))
    return tuple(_plan(draft, name, machine) for name, machine in machines.items() if not is_existing(draft, name))


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
        protect=protected(draft, f"reservations.{key}"),
    )


def _forms(draft: Draft) -> None:
    """What says where in somebody else's reservation to look has no meaning in one that is still to be made."""
    for key, spec in sorted(draft.spec.reservations.items()):
        for field, written in (("project", spec.project), ("block", spec.block), ("subBlock", spec.sub_block)):
            if written and not is_existing(draft, key):
                message = f"'{shown(written)}': the fleet makes this one itself; write existing: true, or leave it out"
                draft.problems.fault("reservation-form", ("reservations", key, field), message)
        if is_existing(draft, key) and not spec.name:
            message = "is missing; write the name by which Google knows the existing reservation"
            draft.problems.fault("missing-key", ("reservations", key, "name"), message)


def _used_up(draft: Draft, name: str, users: Mapping[str, int]) -> None:
    """Pools ask a reservation for no more than it holds; what they leave of it is paid for all the same."""
    asked, held = sum(users.values()), draft.spec.reservations[name].count
    path: Path = ("reservations", name, "count")
    if asked > held:
        named = ", ".join(f"{pool} {count}" for pool, count in users.items())
        message = f"'{held}' machines are reserved, but pools ask for {asked} of them ({named}); reserve {asked}"
        draft.problems.fault("reservation-overused", path, message)
    elif asked < held and not any(section == "pools" for section, _ in draft.set_aside):
        message = f"'{held}' machines are reserved and paid for, and pools ask for {asked} of them"
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
