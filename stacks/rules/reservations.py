"""Reservations: every form in which a pool takes machines from one, and what must agree between the two (facts 4.5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from stacks import accelerators
from stacks.accelerators import Machine
from stacks.rules.asked import Asked, Found, Key, ReservationAsked, Violation

KEY = "compute.googleapis.com/reservation-name"
"""The key of the affinity to a reservation by its name."""

MOST_CALENDAR_DAYS = 90
"""The longest window of a calendar reservation (facts 4.1)."""

LONGEST_PREFIX = 20
"""Characters of a future reservation's name prefix (facts 5.3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Affinity:
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
    return Affinity(type="SPECIFIC_RESERVATION", key=KEY, value=_address(asked.reservation))


def _address(reservation: ReservationAsked) -> str:
    project = f"projects/{reservation.project}/reservations/" if reservation.project else ""
    block = f"/reservationBlocks/{reservation.block}" if reservation.block else ""
    sub_block = f"/reservationSubBlocks/{reservation.sub_block}" if reservation.sub_block else ""
    return f"{project}{reservation.name}{block}{sub_block}"


def reservation_labels(asked: Asked) -> dict[str, str]:
    """The node labels by which a flavor tells the machines of this reservation; none unless it is taken by name."""
    reservation = asked.reservation
    if asked.capacity != "reservation" or reservation is None or not reservation.specific:
        return {}
    keys = accelerators.labels()
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
        if asked.capacity == "reservation":
            message = "'reservation' capacity says no reservation; write its name, or any"
            yield Violation(code="reservation-missing", key="reservation", message=message)
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
    told = _called(reservation)
    if reservation.specific and not reservation.name:
        yield _bad(
            "reservation-missing", f"'{reservation.form}' takes a reservation by its name, and has none; write it"
        )
    if not reservation.specific and (reservation.name or reservation.project or reservation.block):
        yield _bad("reservation-form", f"'{reservation.form}' takes what fits, and {told} is named; write one of them")
    if reservation.form == "own" and (reservation.project or reservation.block):
        message = f"{told} is made by Berth, in this project and without blocks; leave project and block out"
        yield _bad("reservation-form", message)
    if reservation.sub_block and not reservation.block:
        yield _bad("reservation-form", f"sub-block '{reservation.sub_block}' lies in a block; write the block too")
    if not reservation.specific and asked.cluster.autopilot:
        yield _bad("autopilot-reservation", "'any' reservation is not taken by Autopilot; write a reservation's name")


def _zones(asked: Asked, reservation: ReservationAsked) -> Found:
    """A reservation by its name stands in one zone, which is said (checklist 4)."""
    if reservation.specific and not asked.made_by_gke and len(asked.zones) != 1:
        named = f"{len(asked.zones)} are named ({', '.join(asked.zones)})" if asked.zones else "none is named"
        message = f"{_called(reservation)} stands in one zone, and {named}; write the zone it stands in"
        yield Violation(code="reservation-zones", key="zones", message=message)
    if not reservation.active and asked.nodes.min:
        message = f"'{asked.nodes.min}' nodes cannot be had before {_called(reservation)} begins; until then write 0"
        yield Violation(code="reservation-not-active", key=asked.size, message=message)


def _kind(asked: Asked, reservation: ReservationAsked) -> Found:
    row, machine = asked.machine.provisioning, asked.machine
    if reservation.block and row.reservations != "dense":
        message = f"no source shows reservations of {machine.name} in blocks, and block '{reservation.block}' is named"
        yield _bad("reservation-block", f"{message}; leave the block out if there is none", severity="warning")
    if reservation.form == "own" and row.reservations == "aggregate":
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved:
    """What a declared reservation holds; `count` is machines. None: as Google or the machine has it."""

    name: str
    machine: Machine
    zone: str
    count: int
    local_ssds: int | None = None
    min_cpu_platform: str | None = None
    maintenance_interval: str | None = None


def mismatches(held: Reserved, asked: Asked) -> Iterator[Violation]:
    """Where a pool and the reservation that it names do not hold the same machines, field by field."""
    fields: tuple[tuple[Key, str, object, object], ...] = (
        ("machineType", "machines of type", held.machine.name, asked.machine.name),
        ("machineType", "accelerators", _attached(held.machine), _attached(asked.machine)),
        ("localSsd", "local SSDs", _ssds(held.machine, held.local_ssds), _ssds(asked.machine, asked.local_ssds)),
        ("minCpuPlatform", "CPU platform", held.min_cpu_platform, asked.min_cpu_platform),
        ("maintenanceInterval", "maintenance interval", held.maintenance_interval, asked.maintenance_interval),
    )
    for key, what, there, here in fields:
        if there != here:
            message = f"reservation '{held.name}' has {what} '{there}', and this pool '{here}'; write the same on both"
            yield Violation(code="reservation-mismatch", key=key, message=message)
    for zone in asked.zones:
        if zone != held.zone:
            message = f"reservation '{held.name}' stands in {held.zone}, and this pool in '{zone}'; write {held.zone}"
            yield Violation(code="reservation-mismatch", key="zones", message=message)


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


def _ssds(machine: Machine, chosen: int | None) -> int:
    return machine.ssd_automatic if chosen is None else chosen


# --- future and calendar reservations ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class FutureAsked:
    """A reservation that begins later: a future one, or one of DWS's calendar. Times carry their zone."""

    name_prefix: str
    start: datetime
    end: datetime
    calendar: bool = False

    def active(self, at: datetime) -> bool:
        """Whether its machines can be had at this time; before and after, the pool stays at zero."""
        return self.start <= at < self.end


def future(asked: FutureAsked) -> Iterator[Violation]:
    """What is wrong with the window or the name of a future reservation."""
    if asked.end <= asked.start:
        message = f"'{asked.end.isoformat()}' is not after the start, {asked.start.isoformat()}; write a later end"
        yield Violation(code="reservation-window", key="window", message=message)
    elif asked.calendar and asked.end - asked.start > timedelta(days=MOST_CALENDAR_DAYS):
        days = (asked.end - asked.start) / timedelta(days=1)
        message = f"'{days:g}' days are more than the {MOST_CALENDAR_DAYS} of a calendar reservation; end it earlier"
        yield Violation(code="reservation-window", key="window", message=message)
    if len(asked.name_prefix) > LONGEST_PREFIX:
        message = f"'{asked.name_prefix}' is longer than {LONGEST_PREFIX} characters, a future reservation's prefix"
        yield Violation(code="reservation-name", key="name", message=f"{message}; write a shorter one")
