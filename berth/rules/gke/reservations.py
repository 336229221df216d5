"""Reservations: every form in which a pool takes machines from one, and what must agree between the two.

From GKE's documentation and its autoscaler.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Literal

from msgspec import Struct

from berth import catalog
from berth.catalog import Machine
from berth.plan.capacity import reservation_path
from berth.rules.gke.pool_request import Asked, Found, Key, ReservationAsked, Violation

KEY = "compute.googleapis.com/reservation-name"
"""The key of the affinity to a reservation by its name."""

MOST_CALENDAR_DAYS = 90
"""The longest window of a calendar reservation (Compute Engine docs: future reservations in calendar mode)."""


class Affinity(Struct, frozen=True, kw_only=True):
    """The `reservation_affinity` of a node pool: the provider's consume type; key and value of a specific one."""

    type: str
    key: str | None = None
    value: str | None = None


def affinity(asked: Asked) -> Affinity:
    """What the pool takes from reservations; NO_RESERVATION is said aloud, since absence means any that fits."""
    if asked.capacity != "reservation" or asked.reservation is None:
        return Affinity(type="NO_RESERVATION")
    if not asked.reservation.specific:
        fail = asked.reservation.form == "any-or-fail"
        return Affinity(type="ANY_RESERVATION_THEN_FAIL" if fail else "ANY_RESERVATION")
    named = asked.reservation
    path = reservation_path(named.name or "", project=named.project, block=named.block, sub_block=named.sub_block)
    return Affinity(type="SPECIFIC_RESERVATION", key=KEY, value=path)


def reservation_labels(asked: Asked) -> dict[str, str]:
    """The node labels by which a flavor tells the machines of this reservation; none unless it is taken by name."""
    reservation = asked.reservation
    if asked.capacity != "reservation" or reservation is None or not reservation.specific:
        return {}
    keys = catalog.labels()
    labels = {
        keys.reservation_name: reservation.name,
        keys.reservation_project: reservation.project,
        keys.reservation_blocks: reservation.block,
        keys.reservation_subblocks: reservation.sub_block,
    }
    return {key: value for key, value in labels.items() if value}


# --- rules of a pool --------------------------------------------------------------------------------------------------


def reserved(asked: Asked) -> Found:
    """What is wrong between a pool's capacity and its reservation."""
    reservation = asked.reservation
    if reservation is None:
        return
    if asked.capacity != "reservation" or asked.spot:
        yield _contradiction(asked, reservation)
        return
    yield from _form(asked, reservation)
    yield from _zones(asked, reservation)
    yield from _kind(asked, reservation)


def _contradiction(asked: Asked, reservation: ReservationAsked) -> Violation:
    capacity = asked.capacity if asked.dws or not asked.spot else "spot"
    code = "dws-reservation" if asked.dws else f"{capacity}-reservation"
    message = (
        f"'{capacity}' capacity takes machines from no reservation, and {_called(reservation)} is named; "
        f"leave the reservation out, or write it as the capacity"
    )
    return Violation(code=code, key="reservation", message=message)


def _form(asked: Asked, reservation: ReservationAsked) -> Found:
    if not reservation.specific and asked.cluster.autopilot:
        yield _bad("autopilot-reservation", "'any' reservation is not taken by Autopilot; write a reservation's name")


def _zones(asked: Asked, reservation: ReservationAsked) -> Found:
    """A reservation by its name stands in one zone, which is said."""
    if reservation.specific and not asked.made_by_gke and len(asked.zones) != 1:
        named = f"{len(asked.zones)} are named ({', '.join(asked.zones)})" if asked.zones else "none is named"
        message = f"{_called(reservation)} stands in one zone, and {named}; write the zone it stands in"
        yield Violation(code="reservation-zones", key="zones", message=message)
    if reservation.begins and asked.nodes.min:
        hosts = asked.shape.hosts if asked.shape else 1
        message = (
            f"'{asked.nodes.min // hosts}' {asked.size} cannot be kept: {_called(reservation)} gives machines from "
            f"{reservation.begins} to {reservation.ends} alone; write {{min: 0, max: {asked.nodes.max // hosts}}}"
        )
        yield Violation(code="reservation-not-active", key=asked.size, message=message)


def _kind(asked: Asked, reservation: ReservationAsked) -> Found:
    row, machine = asked.machine.provisioning, asked.machine
    if reservation.block and row.reservations != "dense":
        message = f"no source shows reservations of {machine.name} in blocks, and block '{reservation.block}' is named"
        yield _bad("reservation-block", f"{message}; leave the block out if there is none", severity="warning")
    if reservation.form == "own" and row.reservations == "aggregate" and not reservation.begins:
        message = f"{_called(reservation)} would be made by Berth, but {machine.name} is usually reserved in aggregate,"
        message = f"{message} by Google's sales or a future reservation; name one that exists"
        yield _bad("own-tpu-reservation", message, severity="warning")
    if reservation.project and asked.made_by_gke and (asked.compact or asked.multi_host):
        message = f"{_called(reservation)} is shared, and auto-provisioning combines no shared reservation with a"
        yield _bad("shared-placement", f"{message} placement policy; make the pool yourself, or leave placement out")


def _bad(code: str, message: str, *, severity: Literal["fault", "warning"] = "fault") -> Violation:
    return Violation(code=code, key="reservation", message=message, severity=severity)


def _called(reservation: ReservationAsked) -> str:
    return f"reservation '{reservation.name or reservation.form}'"


# --- a reservation whose contents are known ---------------------------------------------------------------------------


class Reserved(Struct, frozen=True, kw_only=True):
    """What a declared reservation holds; `count` is machines. `local_ssds` None: as the machine has them."""

    name: str
    machine: Machine
    zone: str
    count: int
    local_ssds: int | None = None


def mismatches(held: Reserved, asked: Asked) -> Iterator[Violation]:
    """Where a pool and the reservation that it names do not hold the same machines, field by field."""
    there, here = held.machine, asked.machine
    if there.name != here.name:
        yield _differs(held, "machineType", "machines of type", there.name, here.name)
    else:
        yield from _differ(held, asked)
    for zone in asked.zones:
        if zone != held.zone:
            message = f"reservation '{held.name}' stands in {held.zone}, and this pool in '{zone}'; write {held.zone}"
            yield Violation(code="reservation-mismatch", key="zones", message=message)


def _differ(held: Reserved, asked: Asked) -> Iterator[Violation]:
    """What may differ between machines of one type."""
    fields: tuple[tuple[Key, str, str, str], ...] = (
        ("accelerator", "accelerators", _attached(held.machine), _attached(asked.machine)),
        ("localSsd", "local SSDs", _ssds(held.machine, held.local_ssds), _ssds(asked.machine, asked.local_ssds)),
    )
    for key, what, there, here in fields:
        if there != here:
            yield _differs(held, key, what, there, here)


def _differs(held: Reserved, key: Key, what: str, there: str, here: str) -> Violation:
    message = f"reservation '{held.name}' has {what} '{there}', and this pool '{here}'; write the same on both"
    return Violation(code="reservation-mismatch", key=key, message=message)


def overused(held: Reserved, pools: Mapping[str, int]) -> Violation | None:
    """The fault of pools (name to machines, at the most) that ask a reservation for more than it holds, if they do."""
    asked = sum(pools.values())
    if asked <= held.count:
        return None
    named = ", ".join(f"{pool} {count}" for pool, count in pools.items())
    message = f"'{held.count}' machines are reserved, but pools ask for {asked} of them ({named}); reserve {asked}"
    return Violation(code="reservation-overused", key="count", message=message)


def _attached(machine: Machine) -> str:
    return f"{machine.accelerators} {machine.accelerator}"


def _ssds(machine: Machine, chosen: int | None) -> str:
    return str(machine.ssd_automatic if chosen is None else chosen)


# --- future and calendar reservations ---------------------------------------------------------------------------------


def window(start: datetime, end: datetime, *, calendar: bool) -> Iterator[Violation]:
    """What is wrong with the time of a reservation that begins later, in DWS's calendar or as long as one likes."""
    if end <= start:
        message = f"'{end:{_TIME}}' is not after the start, {start:{_TIME}}; write a later end"
        yield Violation(code="reservation-window", key="end", message=message)
    elif calendar and end - start > timedelta(days=MOST_CALENDAR_DAYS):
        days = (end - start) / timedelta(days=1)
        message = f"'{days:g}' days are more than the {MOST_CALENDAR_DAYS} of a calendar reservation; end it earlier"
        yield Violation(code="reservation-window", key="end", message=message)


_TIME = "%Y-%m-%dT%H:%M:%SZ"
