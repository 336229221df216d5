"""Reservations: every form in which a pool takes machines from one, and what must agree between the two.

From GKE's documentation and its autoscaler.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from msgspec import Struct

from berth import catalog
from berth.catalog import Machine
from berth.diagnostics import Severity
from berth.plan.capacity import reservation_path
from berth.rules.gke.pool_request import GkeViolation, PoolRequest, ReservationRequest, SettingKey, Violations

AFFINITY_KEY = "compute.googleapis.com/reservation-name"
"""The key of the affinity to a reservation by its name."""

MAX_CALENDAR_DAYS = 90
"""The longest window of a calendar reservation (Compute Engine docs: future reservations in calendar mode)."""


class ReservationAffinity(Struct, frozen=True, kw_only=True):
    """The `reservation_affinity` of a node pool: the provider's consume type; key and value of a specific one."""

    type: str
    key: str | None = None
    value: str | None = None


def reservation_affinity(request: PoolRequest) -> ReservationAffinity:
    """What the pool takes from reservations; NO_RESERVATION is said aloud, since absence means any that fits."""
    if request.capacity != "reservation" or request.reservation is None:
        return ReservationAffinity(type="NO_RESERVATION")
    if not request.reservation.is_specific:
        fail_otherwise = request.reservation.form == "any-or-fail"
        return ReservationAffinity(type="ANY_RESERVATION_THEN_FAIL" if fail_otherwise else "ANY_RESERVATION")
    reservation = request.reservation
    path = reservation_path(
        reservation.name or "", project=reservation.project, block=reservation.block, sub_block=reservation.sub_block
    )
    return ReservationAffinity(type="SPECIFIC_RESERVATION", key=AFFINITY_KEY, value=path)


def reservation_labels(request: PoolRequest) -> dict[str, str]:
    """The node labels by which a flavor tells the machines of this reservation; none unless it is taken by name."""
    reservation = request.reservation
    if request.capacity != "reservation" or reservation is None or not reservation.is_specific:
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


def reservation_violations(request: PoolRequest) -> Violations:
    """What is wrong between a pool's capacity and its reservation."""
    reservation = request.reservation
    if reservation is None:
        return
    yield from _check_form(request, reservation)
    yield from _check_delivery(request, reservation)
    yield from _check_kind(request, reservation)


def _check_form(request: PoolRequest, reservation: ReservationRequest) -> Violations:
    if not reservation.is_specific and request.cluster.autopilot:
        yield _violation(
            "autopilot-reservation", "'any' reservation is not taken by Autopilot; write a reservation's name"
        )


def _check_delivery(request: PoolRequest, reservation: ReservationRequest) -> Violations:
    """A reservation that does not exist yet keeps no minimum of nodes."""
    if reservation.begins and request.nodes.min:
        hosts = request.shape.hosts if request.shape else 1
        message = (
            f"'{request.nodes.min // hosts}' {request.size_key} cannot be kept: "
            f"{_display_name(reservation)} gives machines from "
            f"{reservation.begins} to {reservation.ends} alone; write {{min: 0, max: {request.nodes.max // hosts}}}"
        )
        yield GkeViolation(code="reservation-not-active", key=request.size_key, message=message)


def _check_kind(request: PoolRequest, reservation: ReservationRequest) -> Violations:
    provisioning, machine = request.machine.provisioning, request.machine
    if reservation.block and provisioning.reservations != "dense":
        message = f"no source shows reservations of {machine.name} in blocks, and block '{reservation.block}' is named"
        yield _violation(
            "reservation-block", f"{message}; leave the block out if there is none", severity=Severity.WARNING
        )
    if reservation.form == "own" and provisioning.reservations == "aggregate" and not reservation.begins:
        message = (
            f"{_display_name(reservation)} would be made by Berth, but {machine.name} is usually reserved in aggregate,"
        )
        message = f"{message} by Google's sales or a future reservation; name one that exists"
        yield _violation("own-tpu-reservation", message, severity=Severity.WARNING)
    if reservation.project and request.made_by_gke and (request.compact or request.multi_host):
        message = f"{_display_name(reservation)} is shared, and auto-provisioning combines no shared reservation with a"
        yield _violation(
            "shared-placement", f"{message} placement policy; make the pool yourself, or leave placement out"
        )


def _violation(code: str, message: str, *, severity: Severity = Severity.FAULT) -> GkeViolation:
    return GkeViolation(code=code, key="reservation", message=message, severity=severity)


def _display_name(reservation: ReservationRequest) -> str:
    return f"reservation '{reservation.name or reservation.form}'"


# --- a reservation whose contents are known ---------------------------------------------------------------------------


class DeclaredReservation(Struct, frozen=True, kw_only=True):
    """What a declared reservation holds; `count` is machines. `local_ssds` None: as the machine has them."""

    name: str
    machine: Machine
    zone: str
    count: int
    local_ssds: int | None = None


def reservation_mismatches(reservation: DeclaredReservation, request: PoolRequest) -> Iterator[GkeViolation]:
    """Where a pool and the reservation that it names do not hold the same machines, field by field."""
    reserved_machine, requested_machine = reservation.machine, request.machine
    if reserved_machine.name != requested_machine.name:
        yield _mismatch(reservation, "machineType", "machines of type", reserved_machine.name, requested_machine.name)
    else:
        yield from _field_mismatches(reservation, request)
    for zone in request.zones:
        if zone != reservation.zone:
            message = (
                f"reservation '{reservation.name}' stands in {reservation.zone}, "
                f"and this pool in '{zone}'; write {reservation.zone}"
            )
            yield GkeViolation(code="reservation-mismatch", key="zones", message=message)


def _field_mismatches(reservation: DeclaredReservation, request: PoolRequest) -> Iterator[GkeViolation]:
    """What may differ between machines of one type."""
    fields: tuple[tuple[SettingKey, str, str, str], ...] = (
        ("accelerator", "accelerators", _accelerators_text(reservation.machine), _accelerators_text(request.machine)),
        (
            "localSsd",
            "local SSDs",
            _local_ssds_text(reservation.machine, reservation.local_ssds),
            _local_ssds_text(request.machine, request.local_ssds),
        ),
    )
    for key, noun, reserved_value, requested_value in fields:
        if reserved_value != requested_value:
            yield _mismatch(reservation, key, noun, reserved_value, requested_value)


def _mismatch(
    reservation: DeclaredReservation, key: SettingKey, noun: str, reserved_value: str, requested_value: str
) -> GkeViolation:
    message = (
        f"reservation '{reservation.name}' has {noun} '{reserved_value}', and "
        f"this pool '{requested_value}'; write the same on both"
    )
    return GkeViolation(code="reservation-mismatch", key=key, message=message)


def overuse_violation(reservation: DeclaredReservation, pools: Mapping[str, int]) -> GkeViolation | None:
    """The fault of pools (name to machines, at the most) that ask a reservation for more than it holds, if they do."""
    requested = sum(pools.values())
    if requested <= reservation.count:
        return None
    pools_text = ", ".join(f"{pool} {count}" for pool, count in pools.items())
    message = (
        f"'{reservation.count}' machines are reserved, but pools ask for "
        f"{requested} of them ({pools_text}); reserve {requested}"
    )
    return GkeViolation(code="reservation-overused", key="count", message=message)


def _accelerators_text(machine: Machine) -> str:
    return f"{machine.accelerators} {machine.accelerator}"


def _local_ssds_text(machine: Machine, count: int | None) -> str:
    return str(machine.ssd_automatic if count is None else count)


# --- future and calendar reservations ---------------------------------------------------------------------------------


def window_violations(start: datetime, end: datetime, *, calendar: bool) -> Iterator[GkeViolation]:
    """What is wrong with the time of a reservation that begins later, in DWS's calendar or as long as one likes."""
    if end <= start:
        message = f"'{end:{_TIME_FORMAT}}' is not after the start, {start:{_TIME_FORMAT}}; write a later end"
        yield GkeViolation(code="reservation-window", key="end", message=message)
    elif calendar and end - start > timedelta(days=MAX_CALENDAR_DAYS):
        days = (end - start) / timedelta(days=1)
        message = f"'{days:g}' days are more than the {MAX_CALENDAR_DAYS} of a calendar reservation; end it earlier"
        yield GkeViolation(code="reservation-window", key="end", message=message)


_TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"
